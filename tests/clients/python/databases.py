"""A PostgreSQL and a Redis of this run, relays before them, and how their clients make each situation's error."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import redis
import sqlalchemy
from redis.backoff import NoBackoff
from redis.retry import Retry

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "engines/tests"))
import servers  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

SHORT = 0.1
"""Seconds that a client of Redis waits."""
NO_RETRIES = Retry(NoBackoff(), 0)
"""The client of Redis leaves the retries to holdoff."""


class Postgres(servers.Postgres):
    """A PostgreSQL that asks one of its users for a password."""

    def prepare(self) -> None:
        super().prepare()
        rules = self.folder / "data/pg_hba.conf"
        rules.write_text(f"host all guest {servers.HOST}/32 scram-sha-256\n{rules.read_text()}")


class Relay:
    """A TCP proxy before a server: `say` switches its faults."""

    def __init__(self, binary: str, to: int) -> None:
        self._process = subprocess.Popen(
            [binary, "proxy", "--to", str(to)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port: int = self._answer()["port"]

    def say(self, line: str) -> None:
        """Switches a fault; it holds when this returns."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._answer() == {"mode": line}

    def close(self) -> None:
        """Ends it."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


class Databases:
    """Both servers, each with a relay before it."""

    def __init__(self, binary: str) -> None:
        self.postgres = Postgres()
        self.redis = servers.Redis()
        self._binary = binary

    def __enter__(self) -> Self:
        self.postgres.start()
        self.redis.start()
        self.before_postgres = Relay(self._binary, self.postgres.port)
        self.before_redis = Relay(self._binary, self.redis.port)
        with psycopg.connect(self.postgres.url, autocommit=True) as link:
            link.execute("create table things (id int primary key, size int)")
            link.execute("insert into things values (1, 0)")
            link.execute("create role guest login password 'right'")
        with closing(redis.Redis(port=self.redis.port)) as link:
            link.set("text", "x")
        return self

    def __exit__(self, *_: object) -> None:
        self.before_postgres.close()
        self.before_redis.close()
        self.postgres.close()
        self.redis.close()


@contextmanager
def once(waits: Callable[[], bool], do: Callable[[], object]) -> Iterator[None]:
    """Does something from a thread as soon as the body waits for its server."""
    ended = threading.Event()

    def watch() -> None:
        while not (waits() or ended.is_set()):
            pass
        do()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _waits(link: Any, process: int) -> bool:
    """True if that session of PostgreSQL waits in its statement."""
    query = "select wait_event_type in ('Lock', 'Timeout') from pg_stat_activity where pid = %s and state = 'active'"
    found = link.execute(query, (process,)).fetchone()
    return found is not None and found[0] is True


@contextmanager
def by_psycopg(port: int) -> Iterator[Callable[[str], Any]]:
    """A session by psycopg: a function for its statements."""
    with psycopg.connect(host=servers.HOST, port=port, user="postgres", autocommit=True) as link:
        yield link.execute


@contextmanager
def by_sqlalchemy(port: int) -> Iterator[Callable[[str], Any]]:
    """A session by SQLAlchemy."""
    engine = sqlalchemy.create_engine(
        f"postgresql+psycopg://postgres@{servers.HOST}:{port}/postgres",
        isolation_level="AUTOCOMMIT",
        poolclass=sqlalchemy.NullPool,
    )
    with engine.connect() as link:
        yield link.exec_driver_sql


def _lost(running: Databases, session: Any) -> None:
    with (
        session(running.before_postgres.port) as execute,
        psycopg.connect(running.postgres.url, autocommit=True) as watcher,
    ):
        process = execute("select pg_backend_pid()").fetchone()[0]
        cut = partial(running.before_postgres.say, "cut")
        with once(lambda: _waits(watcher, process), cut):
            execute("select pg_sleep(600)")


def _serialization(running: Databases, session: Any) -> None:
    with session(running.postgres.port) as execute, psycopg.connect(running.postgres.url, autocommit=True) as other:
        execute("begin isolation level repeatable read")
        execute("select * from things")
        other.execute("update things set size = size + 1")
        execute("update things set size = size + 1")


def _deadlock(running: Databases, session: Any) -> None:
    connect = partial(psycopg.connect, running.postgres.url, autocommit=True)
    with connect() as watcher, connect() as other:
        other.execute("set deadlock_timeout = '1h'")
        other.execute("select pg_advisory_lock(2)")
        with session(running.postgres.port) as execute:
            execute("set deadlock_timeout = '1ms'")
            execute("select pg_advisory_lock(1)")
            thread = threading.Thread(target=other.execute, args=("select pg_advisory_lock(1)",))
            thread.start()
            while thread.is_alive() and not _waits(watcher, other.info.backend_pid):
                pass
            try:
                execute("select pg_advisory_lock(2)")
            finally:
                execute("select pg_advisory_unlock(1)")
                thread.join()


def _locked(running: Databases, session: Any) -> None:
    with psycopg.connect(running.postgres.url) as other:
        other.execute("lock table things")
        _statements("set lock_timeout = '1ms'", "select * from things")(running, session)


def _statements(*statements: str) -> Callable[[Databases, Any], None]:
    def run(running: Databases, session: Any) -> None:
        with session(running.postgres.port) as execute:
            for statement in statements:
                execute(statement)

    return run


POSTGRES: dict[str, Callable[[Databases, Any], None]] = {
    "db-lost": _lost,
    "db-shutdown": _statements("select pg_terminate_backend(pg_backend_pid())"),
    "db-statement-timeout": _statements("set statement_timeout = '1ms'", "select pg_sleep(600)"),
    "db-lock-timeout": _locked,
    "db-serialization": _serialization,
    "db-deadlock": _deadlock,
    "db-syntax": _statements("selec 1"),
    "db-data": _statements("select 1 / 0"),
    "db-constraint": _statements("insert into things values (1, 1)"),
    "db-unsupported": _statements("select * from another.public.things"),
}
"""The errors of PostgreSQL by their situations."""


def _login_by_psycopg(running: Databases) -> None:
    psycopg.connect(host=servers.HOST, port=running.postgres.port, user="guest", password="wrong", dbname="postgres")


def _login_by_sqlalchemy(running: Databases) -> None:
    url = f"postgresql+psycopg://guest:wrong@{servers.HOST}:{running.postgres.port}/postgres"
    sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool).connect()


def _not_found(running: Databases) -> None:
    with by_sqlalchemy(running.postgres.port) as execute:
        execute("select * from things where id = 2").one()


@contextmanager
def _redis(port: int) -> Iterator[Any]:
    with closing(redis.Redis(port=port, retry=NO_RETRIES, socket_timeout=SHORT)) as link:
        link.ping()
        yield link


def _redis_lost(running: Databases) -> None:
    with (
        closing(redis.Redis(port=running.redis.port)) as watcher,
        closing(redis.Redis(port=running.before_redis.port, retry=NO_RETRIES)) as link,
    ):
        cut = partial(running.before_redis.say, "cut")
        with once(lambda: watcher.info("clients")["blocked_clients"] > 0, cut):
            link.blpop(["nothing"], 0)


def _redis_stall(running: Databases) -> None:
    with _redis(running.before_redis.port) as link:
        running.before_redis.say("stall")
        try:
            link.get("text")
        finally:
            running.before_redis.say("cut")
            running.before_redis.say("pass")


def _redis_loading(running: Databases) -> None:
    with _redis(running.redis.port) as link:
        link.eval("return redis.error_reply('LOADING Redis is loading the dataset in memory')", 0)


def _redis_replica(running: Databases) -> None:
    with _redis(running.redis.port) as link:
        link.replicaof(servers.HOST, servers.free_port())
        try:
            link.set("text", "y")
        finally:
            link.replicaof("NO", "ONE")


def _redis_wrong_type(running: Databases) -> None:
    with _redis(running.redis.port) as link:
        link.lpush("text", "y")


def _of(session: Any) -> dict[str, Callable[[Databases], None]]:
    def of(make: Any) -> Callable[[Databases], None]:
        return lambda running: make(running, session)

    return {situation: of(make) for situation, make in POSTGRES.items()}


FAILS: dict[str, dict[str, Callable[[Databases], None]]] = {
    "psycopg": {**_of(by_psycopg), "db-login": _login_by_psycopg},
    "SQLAlchemy": {**_of(by_sqlalchemy), "db-login": _login_by_sqlalchemy, "not-found": _not_found},
    "redis": {
        "redis-lost": _redis_lost,
        "redis-stall": _redis_stall,
        "redis-loading": _redis_loading,
        "redis-replica": _redis_replica,
        "redis-wrong-type": _redis_wrong_type,
    },
}
"""How a client of a real server makes the errors of its situations."""
