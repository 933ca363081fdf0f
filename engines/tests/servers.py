"""Real servers for a test: PostgreSQL, Redis and RabbitMQ in a temporary folder, on 127.0.0.1 and a free port.

`with Postgres() as server:` starts one, `server.url` says where it is, `server.stop()` and `server.start()` take it
away and bring it back with the same data on the same port. Nothing of it is left behind: a server and its folder go
when the context ends, when the interpreter exits, and also when the interpreter is killed, since a keeper that sees
its end cleans up in its place.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Self

HOST = "127.0.0.1"

# Below the ports that systems hand out by themselves: while a server is down, a client that keeps trying must not be
# given the server's own port to call from.
PORTS = range(20_000, 32_000)


class ServerError(Exception):
    """A server that cannot be started, with the last lines of what it wrote."""


class Server:
    """What the three have in common: a folder, a port, processes, and a keeper that outlives them."""

    # How to end it well, and how to end it at once without leaving anything behind.
    ending = signal.SIGTERM
    killing = signal.SIGKILL
    patience = 60.0

    def __init__(self, *, durable: bool = False, within: str | os.PathLike[str] | None = None) -> None:
        """A server that is not running yet.

        `durable`: what it has confirmed is still there after it was killed; slower. `within`: the folder in which
        its own is made, the system's temporary one unless given.
        """
        self.durable = durable
        self.port = 0
        self.folder = Path()
        self._within = within
        self._keeper: _Keeper | None = None
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """What a client connects to."""
        raise NotImplementedError

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended since."""
        return bool(self._processes) and self._processes[-1].poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts it and returns when it answers; again with the same data and on the same port."""
        if self.is_running:
            return
        if self._keeper is not None:
            self._start_once()
            return
        self._keeper = _Keeper()
        self._owner = os.getpid()
        atexit.register(self._leave)
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=f"holdoff-{type(self).__name__.lower()}-", dir=self._within))
            self._keeper.tell(f"folder {self.folder}")
            give(self.folder)
            self.port = free_port()
            self.prepare()
            for more in (True, True, False):
                try:
                    self._start_once()
                    return
                except ServerError:
                    # Somebody else may have taken the port since it was looked at.
                    if not more:
                        raise
                    self.port = free_port()
        except BaseException:
            self.close()
            raise

    def stop(self, *, hard: bool = False) -> None:
        """Stops it, and keeps its data for the next `start`; `hard`: as a power cut does."""
        for process in reversed(self._processes):
            self._end(process, self.killing if hard else self.ending)
        self._processes.clear()

    def close(self) -> None:
        """Stops it and removes its folder; it cannot be started again."""
        atexit.unregister(self._leave)
        self.stop(hard=True)
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def _leave(self) -> None:
        # A process that was forked from this one leaves without the server.
        if os.getpid() == self._owner:
            self.close()

    def prepare(self) -> None:
        """Makes what is there before the first start."""

    def launch(self) -> None:
        """Starts the processes, the server itself last."""
        raise NotImplementedError

    def answers(self, link: socket.socket) -> bool:
        """Whether who listens there is ready."""
        raise NotImplementedError

    def spawn(self, command: Sequence[str | os.PathLike[str]], environment: Mapping[str, str] | None = None) -> None:
        """Starts a process of this server in a group of its own."""
        assert self._keeper is not None
        with (self.folder / "log").open("ab") as log:
            process = _popen(command, log, self.folder, environment)
        self._processes.append(process)
        self._keeper.tell(f"watch {process.pid} {int(self.killing)}")

    def run(self, command: Sequence[str | os.PathLike[str]]) -> None:
        """Runs a command of this server to its end."""
        with (self.folder / "log").open("ab") as log:
            process = _popen(command, log, self.folder, None)
        if process.wait(self.patience) != 0:
            raise ServerError(f"{command[0]} failed\n{self._last_words()}")

    def _start_once(self) -> None:
        self.launch()
        until = time.monotonic() + self.patience
        while not self._ready():
            ended = any(process.poll() is not None for process in self._processes)
            if ended or time.monotonic() > until:
                words = self._last_words()
                self.stop(hard=True)
                raise ServerError(f"{type(self).__name__} {'ended' if ended else 'does not answer'}\n{words}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as link:
                return self.answers(link)
        except OSError:
            return False

    def _end(self, process: subprocess.Popen[bytes], how: signal.Signals) -> None:
        if process.poll() is None:
            _signal(process.pid, how, group=how == signal.SIGKILL)
            try:
                process.wait(self.patience)
            except subprocess.TimeoutExpired:
                _signal(process.pid, signal.SIGKILL, group=True)
                process.wait()
        # Its children are in its group, and may be slower.
        _signal(process.pid, signal.SIGKILL, group=True)
        if self._keeper is not None:
            self._keeper.tell(f"forget {process.pid}")

    def _last_words(self) -> str:
        try:
            return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-20:])
        except OSError:
            return ""


class Postgres(Server):
    """A PostgreSQL; without `durable` it does not wait for the disk."""

    # Fast shutdown ends the sessions in good order; immediate shutdown is its own kill, which takes its children along.
    ending = signal.SIGINT
    killing = signal.SIGQUIT

    def __init__(
        self,
        *,
        durable: bool = False,
        within: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`settings`: lines of postgresql.conf."""
        super().__init__(durable=durable, within=within)
        self._settings = dict(settings or {})

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{HOST}:{self.port}/postgres"

    def prepare(self) -> None:
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
        self.run([postgres_programs() / "initdb", *options, "--no-sync", f"--pgdata={self.folder}/data"])

    def launch(self) -> None:
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": "",
            "shared_buffers": "32MB",
            **({} if self.durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.spawn([postgres_programs() / "postgres", "-D", str(self.folder / "data"), *options])

    def answers(self, link: socket.socket) -> bool:
        body = (3 << 16).to_bytes(4, "big") + b"user\0postgres\0database\0postgres\0\0"
        link.sendall((len(body) + 4).to_bytes(4, "big") + body)
        ready = link.recv(1) == b"R"
        link.sendall(b"X\0\0\0\4")
        return ready


class Redis(Server):
    """A Redis that keeps everything in memory; with `durable`, each change is on disk before it is confirmed."""

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def launch(self) -> None:
        append = ["--appendonly", "yes", "--appendfsync", "always"] if self.durable else ["--appendonly", "no"]
        place = ["--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]
        self.spawn([_program("redis-server"), *place, "--save", "", *append])

    def answers(self, link: socket.socket) -> bool:
        link.sendall(b"PING\r\n")
        return link.recv(7) == b"+PONG\r\n"


class Rabbit(Server):
    """A RabbitMQ node of its own name, with its own name server; what queues keep is what AMQP calls persistent."""

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{HOST}:{self.port}//"

    def prepare(self) -> None:
        self._names, self._nodes = free_port(), free_port()
        for name, text in {"plugins": "[].\n", "environment": "", "advanced.config": "[].\n"}.items():
            (self.folder / name).write_text(text)

    def launch(self) -> None:
        lines = [f"listeners.tcp.default = {HOST}:{self.port}", "disk_free_limit.absolute = 1MB", "log.console = true"]
        (self.folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
        names = {"ERL_EPMD_PORT": str(self._names), "ERL_EPMD_ADDRESS": HOST}
        here = str(self.folder)
        environment = {
            **names,
            "HOME": here,
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"holdoff-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._nodes),
            "RABBITMQ_CONF_ENV_FILE": f"{here}/environment",
            "RABBITMQ_CONFIG_FILE": f"{here}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{here}/advanced.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{here}/plugins",
            "RABBITMQ_MNESIA_BASE": f"{here}/data",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{here}/generated",
            "RABBITMQ_LOG_BASE": f"{here}/logs",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": f"{here}/pid",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false",
        }
        self.spawn([_program("epmd"), "-address", HOST, "-port", str(self._names)], names)
        self._await_names()
        # Debian's program of this name insists on its own user; what it starts does not.
        script = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
        self.spawn([script if script.is_file() else _program("rabbitmq-server")], environment)

    def answers(self, link: socket.socket) -> bool:
        link.sendall(b"AMQP\0\0\x09\1")
        return link.recv(1) == b"\1"

    def _await_names(self) -> None:
        until = time.monotonic() + self.patience
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection((HOST, self._names), timeout=1):
                return
            time.sleep(0.01)


class _Keeper:
    """A process that waits for the end of this one, and then removes what this one could not."""

    def __init__(self) -> None:
        command = [sys.executable, "-S", "-E", __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def tell(self, what: str) -> None:
        assert self._process.stdin is not None
        # A keeper that was killed keeps nothing, and the tests go on.
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{what}\n".encode())
            self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


def keep(lines: IO[str]) -> None:
    """What a keeper does: it reads what there is, and at the end of the input nothing of it shall be left."""
    processes: dict[int, int] = {}
    folders: list[str] = []
    for line in lines:
        what, _, rest = line.rstrip("\n").partition(" ")
        if what == "watch":
            process, how = rest.split()
            processes[int(process)] = int(how)
        elif what == "forget":
            processes.pop(int(rest), None)
        else:
            folders.append(rest)
    for number, how_it_ends in processes.items():
        _signal(number, signal.Signals(how_it_ends), group=False)
    until = time.monotonic() + 5
    while time.monotonic() < until and any(map(_is_there, processes)):
        time.sleep(0.05)
    for number in processes:
        _signal(number, signal.SIGKILL, group=True)
    for folder in folders:
        _remove(folder)


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    for port in random.SystemRandom().sample(PORTS, 200):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise ServerError("no port is free")


def postgres_programs() -> Path:
    """The folder of PostgreSQL's programs: that of the one in PATH, else the newest that Debian keeps out of it."""
    found = shutil.which("postgres")
    if found is not None:
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if not folders:
        raise ServerError("PostgreSQL is not installed: cargo xtask setup")
    return max(folders, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])


def _program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/usr/lib/rabbitmq/bin")
    if found is None:
        raise ServerError(f"{name} is not installed: cargo xtask setup")
    return found


def _nobody() -> pwd.struct_passwd | None:
    """Who the servers run as: PostgreSQL refuses root, and the others do not need it."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def give(folder: Path) -> None:
    """Lets the servers have a folder."""
    user = _nobody()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)


def _popen(
    command: Sequence[str | os.PathLike[str]], log: IO[bytes], folder: Path, environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    user = _nobody()
    return subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": str(folder), **(environment or {})},
        start_new_session=True,
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
    )


def _signal(process: int, how: signal.Signals, *, group: bool) -> None:
    send: Callable[[int, int], None] = os.killpg if group else os.kill
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(process, how)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _remove(folder: str) -> None:
    # Who is ending may still write a last file.
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.05)


if __name__ == "__main__":
    keep(sys.stdin)
