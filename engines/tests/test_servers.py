"""The servers that other tests start: they answer, keep to this machine, come back with their data, and go."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from servers import HOST, Postgres, Rabbit, Redis, Server, ServerError, postgres_programs


def ask(server: Postgres, query: str) -> str:
    options = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", query]
    command = [str(postgres_programs() / "psql"), server.url, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def say(server: Redis, words: str) -> bytes:
    with socket.create_connection((HOST, server.port), timeout=5) as link:
        link.sendall(f"{words}\r\n".encode())
        return link.recv(1000)


def is_open(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def assert_keeps_to_itself(server: Server) -> None:
    assert server.is_running
    assert str(server.port) in server.url
    # Who listens everywhere listens on every address of the loopback network.
    assert (is_open(HOST, server.port), is_open("127.0.0.2", server.port)) == (True, False)


def test_a_postgres_answers_on_this_machine_only(postgres: Postgres) -> None:
    assert_keeps_to_itself(postgres)
    assert ask(postgres, "select 6 * 7") == "42"


def test_a_redis_answers_on_this_machine_only(redis: Redis) -> None:
    assert_keeps_to_itself(redis)
    assert say(redis, "ECHO hello") == b"$5\r\nhello\r\n"


def test_a_rabbit_answers_on_this_machine_only(rabbit: Rabbit) -> None:
    assert_keeps_to_itself(rabbit)


def test_a_server_comes_back_with_its_data_on_its_port() -> None:
    with Redis(durable=True) as redis:
        port, folder = redis.port, redis.folder
        assert say(redis, "SET kept yes") == b"+OK\r\n"
        redis.stop(hard=True)
        assert (redis.is_running, is_open(HOST, port)) == (False, False)
        redis.start()
        assert (redis.port, say(redis, "GET kept")) == (port, b"$3\r\nyes\r\n")
    assert not folder.exists()


@pytest.mark.parametrize("hard", [False, True])
def test_a_postgres_that_was_stopped_keeps_what_it_confirmed(hard: bool) -> None:
    with Postgres(durable=True) as postgres:
        ask(postgres, "create table kept as select 7 as number")
        postgres.stop(hard=hard)
        with pytest.raises(subprocess.CalledProcessError):
            ask(postgres, "select 1")
        postgres.start()
        assert ask(postgres, "select number from kept") == "7"


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerError, match="unrecognized configuration parameter"):
        Postgres(settings={"no_such_setting": "1"}).start()


def test_nothing_is_left_of_a_test_that_is_killed() -> None:
    script = """from servers import Redis
server = Redis()
server.start()
print(server.folder, server.port, flush=True)
input()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    folder, port = child.stdout.readline().split()
    assert is_open(HOST, int(port))
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    until = time.monotonic() + 20
    while (is_open(HOST, int(port)) or Path(folder).exists()) and time.monotonic() < until:
        time.sleep(0.02)
    assert (is_open(HOST, int(port)), Path(folder).exists()) == (False, False)
