"""A provider of language models on 127.0.0.1, that answers by scripts and keeps the times of the requests.

The steps of a script are separated by spaces; the last one repeats. A step is a status with headers (``503``,
``429;retry-after=1``), or one of

``reset``: the connection is reset before the answer. ``quota``: a 429 whose body says that the quota is spent.
``stream``: three tokens. ``early``: reset before the first token. ``late``: reset after it. ``overloaded``: a stream
whose first event is an error. ``stall=S``: the answer comes after S seconds.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """The steps of a provider, and when each request came, with its headers."""

    steps: list[str]
    times: list[float] = field(default_factory=list)
    headers: list[Any] = field(default_factory=list)


class Provider(ThreadingHTTPServer):
    """Several providers, each with a name, in threads of their own."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts: dict[str, Script] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def script(self, name: str, steps: str) -> Script:
        self.scripts[name] = Script(steps.split())
        return self.scripts[name]

    def url(self, name: str) -> str:
        """The base URL of a provider."""
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients close connections as they like."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        script = self.server.scripts[self.path.split("/")[1]]
        script.times.append(time.monotonic())
        script.headers.append(self.headers)
        step, *given = script.steps[min(len(script.times), len(script.steps)) - 1].split(";")
        word, _, seconds = step.partition("=")
        is_openai = self.path.endswith("chat/completions")
        if word == "reset":
            return self.reset()
        if word == "stall":
            time.sleep(float(seconds))
            word = "200"
        if word == "200" and asked.get("stream"):
            word = "stream"
        if word in ("stream", "early", "late", "overloaded"):
            return self.stream(word, is_openai)
        status = 429 if word == "quota" else int(word)
        code = "insufficient_quota" if word == "quota" else f"status_{word}"
        body: Any = {"type": "error", "error": {"type": code, "code": code, "message": f"status {status}"}}
        if status < 400:
            body = completion("message", "hi") if is_openai else message([{"type": "text", "text": "hi"}])
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in [each.split("=") for each in given]:
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        return None

    def stream(self, word: str, is_openai: bool) -> None:
        preface, tokens, ends = chat_events() if is_openai else message_events()
        if word == "overloaded":
            tokens, ends = [{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}], []
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for index, event in enumerate([*preface, *tokens, *ends]):
            if index == {"early": len(preface), "late": len(preface) + 1}.get(word):
                time.sleep(0.05)
                return self.reset()
            data = event if isinstance(event, str) else json.dumps(event)
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            self.chunk(f"{name}data: {data}\n\n".encode())
        self.chunk(b"")
        return None

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.connection.close()


def completion(part: str, text: str) -> dict[str, Any]:
    choice = {"index": 0, part: {"role": "assistant", "content": text}, "finish_reason": None}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    kind = "chat.completion.chunk" if part == "delta" else "chat.completion"
    return {"id": "c", "object": kind, "created": 1, "model": "m", "choices": [choice], "usage": usage}


def message(content: list[Any]) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    shared = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": usage}
    return {**shared, "content": content, "stop_reason": "end_turn" if content else None}


def chat_events() -> tuple[list[Any], list[Any], list[Any]]:
    tokens = [completion("delta", word) for word in ("one ", "two ", "three")]
    return [{**completion("delta", ""), "choices": []}, completion("delta", "")], tokens, ["[DONE]"]


def message_events() -> tuple[list[Any], list[Any], list[Any]]:
    preface = [
        {"type": "message_start", "message": message([])},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
    ]
    tokens = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in ("one ", "two ", "three")
    ]
    return preface, tokens, [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
