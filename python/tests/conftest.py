"""A small Slipway API on loopback: enough to see what the primitives send, and to misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from slipway import _calls
from slipway.actions import GlobalContext

TOKEN = "slw_test0123456789abcdefghij"


class FakeSlipway:
    """Remembers requests; ``answers`` are (status, body) pairs, given in turn."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[tuple[int, Any] | Callable[[], tuple[int, Any]]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def _handler(fake) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                fake.requests.append(
                    {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body}
                )
                answer = fake.answers.pop(0)
                status, reply = answer() if callable(answer) else answer
                if status == 0:  # lose the reply
                    self.connection.close()
                    return
                raw = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = _serve

            def log_message(self, *args: object) -> None:
                pass

        return Handler


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlipway]:
    fake = FakeSlipway()
    monkeypatch.setenv("SLIPWAY_URL", fake.url)
    monkeypatch.setenv("SLIPWAY_TOKEN", TOKEN)
    monkeypatch.setenv("SLIPWAY_STEP", "9")
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", "run-1")
    monkeypatch.setattr(_calls, "_counter", _calls._Counter())
    monkeypatch.setattr(_calls, "_run_count", lambda: 1)
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "task": {"id": 41, "kind": "upgrade", "hook": "upgrade", "mode": "core", "change": 3},
        "deployment": {"id": 7, "name": "guestbook"},
        "instance": {"namespace": "demo-dev", "helm_release": "guestbook"},
        "app": {"version": "1.1.0", "previous_version": "1.0.0", "driver": {"name": "guestbook", "version": "1.0.0"}},
        "components": {
            "web": {
                "env": {
                    "LOG_LEVEL": {"value": "debug"},
                    "URL": {"secret_ref": {"name": "guestbook-slipway", "key": "db"}},
                }
            }
        },
        "a_field_of_tomorrow": True,
    }


@pytest.fixture
def context(document: dict[str, Any]) -> GlobalContext:
    return GlobalContext.model_validate(document)
