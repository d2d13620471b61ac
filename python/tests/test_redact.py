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
