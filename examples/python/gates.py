"""Hosts that failed are left alone for a while, each for itself."""

from holdoff.machines import GateConfig, Keyed

SECOND = 1_000_000_000

gates = Keyed(GateConfig(initial="1s", factor=2, max="1m", forgives="all"), most=1000, idle="1h")

now = 0
for _ in range(3):
    wait = gates.failure("a.example", now)
    print(f"{now / SECOND:4.0f} s  a.example failed, closed for {wait / SECOND:.0f} s")
    now += wait
assert gates.is_open("a.example", now)
assert gates.is_open("b.example", now)
gates.success("a.example", now)
assert gates.failure("a.example", now) == SECOND
