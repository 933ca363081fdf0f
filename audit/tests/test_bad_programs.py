"""Programs that do not end, fail, make no request, or make it in a way that the audit does not see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Result, run, run_text


def test_a_program_that_never_ends_is_ended(tmp_path: Path) -> None:
    ended = run_text(tmp_path, "import httpx\nhttpx.get('http://a.example')\nwhile True: pass\n", "--limit", "2")
    assert ended.code == 2
    assert "the program did not end within 2 s (--limit)" in ended.notes
    assert ended.report["requests"] == 1


def test_a_program_that_waits_for_ever_is_ended(tmp_path: Path) -> None:
    ended = run_text(tmp_path, "import threading\nthreading.Event().wait()\n", "--limit", "1")
    assert ended.code == 2
    assert "did not end within 1 s" in ended.notes


def test_a_retry_without_end_is_stopped(tmp_path: Path) -> None:
    text = "import urllib.request, tenacity\ntenacity.retry(urllib.request.urlopen)('http://a.example')\n"
    ended = run_text(tmp_path, text)
    assert ended.code == 1
    assert ended.report["largest"] == 2000
    assert "stopped after 2000 requests" in ended.notes


GET = "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://a.example')\nexcept OSError: pass\n"


@pytest.mark.parametrize(
    ("last", "err", "note"),
    [
        ("sys.exit(3)", "", "exit code 3"),
        ("sys.exit('that is all')", "that is all\n", "exit code 1"),
        ("sys.exit()", "", ""),
        ("os._exit(4)", "", "os._exit(4)"),
    ],
)
def test_exits_are_the_programs_own(tmp_path: Path, last: str, err: str, note: str) -> None:
    ended = run_text(tmp_path, f"import sys, os\n{GET}\n{last}\n")
    assert (ended.code, ended.err) == (0, err)
    assert note in ended.notes


@pytest.mark.parametrize(
    "text",
    [
        "def fail():\n    raise ValueError('no')\nfail()\n",
        "try:\n    {}['a']\nexcept KeyError as error:\n    raise RuntimeError('b') from error\n",
        "this is no Python\n",
        "import no_such_module\n",
        "import sys\nsys.excepthook = lambda *error: print('mine', error[0], file=sys.stderr)\n1 / 0\n",
    ],
)
def test_a_programs_error_is_shown_as_python_shows_it(tmp_path: Path, text: str) -> None:
    ended = run_text(tmp_path, text)
    plain = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    # Python names the main program by its full path, or as it was given.
    assert ended.err.replace(f"{tmp_path}/", "") == plain.stderr.replace(f"{tmp_path}/", "")
    assert ended.code == 2
    assert ended.report["requests"] == 0


def test_a_program_without_requests_passes_no_audit(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('hello')\n")
    ended = run("--most", "3", "program.py", folder=tmp_path)
    assert ended.code == 2
    assert ended.out == "hello\nholdoff audit: the program made no HTTP request that the audit could see\n"


def test_arguments_and_streams_are_the_programs(tmp_path: Path) -> None:
    text = f"import sys\n{GET}\nprint(sys.argv, __name__, sys.path[0])\n"
    (tmp_path / "program.py").write_text(text)
    ended = run("--json", "program.py", "--json", "x", folder=tmp_path)
    assert ended.err == f"['program.py', '--json', 'x'] __main__ {tmp_path}\n"
    assert ended.report["requests"] == 1
    ended = run("-m", "program", "x", folder=tmp_path)
    assert ended.out.startswith(f"['{tmp_path}/program.py', 'x'] __main__ {tmp_path}\n1 call of at most 1 request\n")


def test_threads_and_exit_handlers_end_before_the_report(tmp_path: Path) -> None:
    text = f"""
import atexit, threading
from time import sleep
def get(name):
    try: urllib.request.urlopen('http://a.example/' + name)
    except OSError: pass
{GET}
atexit.register(get, 'at-exit')
threading.Thread(target=lambda: (sleep(1000), get('in-thread'))).start()
"""
    assert [call["url"] for call in run_text(tmp_path, text).report["calls"]] == [
        "http://a.example/",
        "http://a.example/in-thread",
        "http://a.example/at-exit",
    ]


def test_other_processes_are_named(tmp_path: Path) -> None:
    text = f"import subprocess, sys, os\n{GET}\nsubprocess.run([sys.executable, '-c', ''])\nos.system('true')\n"
    text += "if os.fork() == 0:\n    os._exit(0)\nos.wait()\n"
    assert "started other processes (python, true, a copy of itself): their requests are " in (
        run_text(tmp_path, text).notes.replace(Path(sys.executable).name, "python")
    )


def test_http_2_is_offered_as_http_1_or_refused(tmp_path: Path) -> None:
    text = """
import httpx
print(httpx.Client(http2=True).get('https://a.example/both').http_version)
try: httpx.Client(http1=False, http2=True).get('http://a.example/only-2')
except httpx.HTTPError as error: print(type(error).__name__)
"""
    ended = run_text(tmp_path, text)
    assert ended.err.startswith("HTTP/1.1\n")
    assert "a.example:80 was asked in HTTP/2 without HTTP/1.1, which the audit does not read" in ended.notes
    assert ended.report["requests"] == 2


SOCKETS = {
    "around the module": "import _socket\n_socket.socket().connect(('192.0.2.1', 80))",
    "a name": "import _socket\n_socket.getaddrinfo('a.example', 80)",
    "a packet": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
}


@pytest.mark.parametrize("name", SOCKETS)
def test_what_goes_around_the_sockets_of_python_is_refused(tmp_path: Path, name: str) -> None:
    text = f"{GET}\ntry:\n    exec({SOCKETS[name]!r})\nexcept OSError as error:\n    print(type(error).__name__)\n"
    ended = run_text(tmp_path, text)
    assert "refused" in ended.notes
    assert ended.err.strip() in ("ConnectionRefusedError", "gaierror", "OSError")


def test_a_program_may_replace_the_socket_class(tmp_path: Path) -> None:
    text = f"""
import socket
class Logged(socket.socket):
    def connect(self, address):
        print('connects')
        super().connect(address)
socket.socket = Logged
{GET}
"""
    ended = run_text(tmp_path, text)
    assert (ended.err, ended.report["requests"]) == ("connects\n", 1)


def test_servers_that_speak_first_are_no_http(tmp_path: Path) -> None:
    text = f"import smtplib\n{GET}\ntry: smtplib.SMTP('mail.example')\nexcept OSError: print('no')\n"
    ended = run_text(tmp_path, text)
    assert (ended.code, ended.err) == (0, "no\n")
    assert "mail.example:25 should speak first, so it is no HTTP server" in ended.notes


def test_a_request_without_a_timeout_is_told(tmp_path: Path) -> None:
    ended = run_text(tmp_path, GET, "--fail", "timeout")
    assert "a request to a.example:80 has no timeout: it would wait for ever" in ended.notes
    text = """
import asyncio, aiohttp
async def main():
    timeout = aiohttp.ClientTimeout(None)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        await session.post('https://b.example', data=b'x')
asyncio.run(main())
"""
    ended = run_text(tmp_path, text, "--fail", "timeout")
    assert "a request to b.example:443 has no timeout" in ended.notes


def test_proxies_and_tunnels_are_read(tmp_path: Path) -> None:
    text = "import requests\nfor url in ('http://a.example/1', 'https://b.example/2'): requests.get(url, timeout=9)\n"
    (tmp_path / "program.py").write_text(text)
    proxy = "http://proxy.example:3128"
    ended = run("--json", "program.py", folder=tmp_path, http_proxy=proxy, https_proxy=proxy)
    assert [call["url"] for call in ended.report["calls"]] == ["http://a.example/1", "https://b.example/2"]


def test_an_allowed_server_is_reached(tmp_path: Path) -> None:
    text = """
import sys, threading, http.server, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(204); self.end_headers()
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f'http://127.0.0.1:{sys.argv[1]}').status)
urllib.request.urlopen('http://a.example')
"""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "program.py").write_text(text)
    ended = run("--json", "--allow", f"127.0.0.1:{port}", "program.py", port, folder=tmp_path)
    assert ended.err.startswith("204\n")
    assert ended.report["requests"] == 1


WRONG = {
    "--fail=resett": "'resett' is no answer (did you mean reset?); allowed: a status from 200 to 599",
    "--fail=99": "status 99 is out of range",
    "--fail=": "an answer is empty",
    "--fail=429 retry-after": "'retry-after' in '429 retry-after' is no header",
    "--most=0": "--most must be 1 or more, not 0",
    "--limit=0": "--limit must be more than 0, not 0",
    "--limit=nan": "--limit must be more than 0, not nan",
    "--allow=db": "'db' is no address; write host:port",
    "--wrong": "unrecognized arguments: --wrong",
}


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_arguments_are_explained(tmp_path: Path, argument: str) -> None:
    (tmp_path / "program.py").write_text(GET)
    ended = run(argument, "program.py", folder=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert WRONG[argument] in " ".join(ended.err.split())


def test_a_missing_program_is_told() -> None:
    ended: Result = run("missing.py")
    assert ended.code == 2
    assert "cannot open 'missing.py': there is no such file" in ended.err


def test_headers_of_an_answer_are_sent(tmp_path: Path) -> None:
    text = "import httpx\nprint(httpx.head('https://a.example').headers['retry-after'])\n"
    ended = run_text(tmp_path, text, "--fail", "429 retry-after 1; x-should-retry false")
    assert ended.err == "1\n"
