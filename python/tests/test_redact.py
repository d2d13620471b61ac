"""World: pure. What the log filter masks, and what it leaves."""

from __future__ import annotations

import base64
import io
import logging
import urllib.parse

import pytest

from slipway._redact import MASK, SecretFilter, redact

TOKEN = "slw_Planted+Secret/Value=0123456789"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_TOKEN", TOKEN)


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"token={TOKEN}&x=1",
        urllib.parse.quote(TOKEN, safe=""),
        TOKEN.encode().hex(),
        base64.b64encode(TOKEN.encode()).decode(),
        base64.b64encode(b"a" + TOKEN.encode() + b"z").decode(),
        base64.b64encode(b"ab" + TOKEN.encode() + b"yz").decode(),
        "Authorization: Bearer abcdefgh12345678",
        "postgres://app:hunter22secret@db:5432/x",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    ],
)
def test_masks(text: str) -> None:
    masked = redact(text)
    assert MASK in masked
    for piece in (TOKEN[4:20], "hunter22secret", "MIIE", "abcdefgh12345678"):
        assert piece not in masked


@pytest.mark.parametrize("text", ["Upgrade complete", "http://127.0.0.1:4200/api", "a basic test of version 1.2.3"])
def test_leaves_ordinary_text(text: str) -> None:
    assert redact(text) == text


def test_the_filter_masks_arguments_and_tracebacks() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(SecretFilter())
    log = logging.Logger("test")
    log.addHandler(handler)
    try:
        raise ValueError(f"bad {TOKEN}")
    except ValueError:
        log.exception("with %s", TOKEN)
    assert TOKEN not in out.getvalue()
    assert out.getvalue().count(MASK) >= 2


@pytest.mark.parametrize("owner", ["FlowRunClient", "FlowRunAsyncClient"])
async def test_the_message_of_a_state_is_masked_on_its_way(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.client.orchestration._flow_runs import client
    from prefect.client.schemas.objects import State
    from prefect.states import Failed

    from slipway import _redact

    sent: list[State[object]] = []
    kind = getattr(client, owner)

    def send(self: object, flow_run_id: str, state: State[object], force: bool = False) -> None:
        sent.append(state)

    async def send_later(self: object, flow_run_id: str, state: State[object], force: bool = False) -> None:
        sent.append(state)

    monkeypatch.setattr(kind, "set_flow_run_state", send_later if "Async" in owner else send)
    monkeypatch.setattr(kind, "_slipway_masks", False, raising=False)
    SecretFilter()
    answer = kind.set_flow_run_state(None, "run", Failed(message=f"ValueError: {TOKEN}"), force=False)
    if answer is not None:
        await answer
    assert sent[0].message == f"ValueError: {MASK}"
    assert _redact.MASK in sent[0].message
