"""Keeps an action's token out of the logs that Prefect stores.

Slipway redacts again what it stores itself; this filter is for Prefect's own database and
pages, which Slipway only reads.
"""

from __future__ import annotations

import base64
import functools
import inspect
import logging
import os
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

MASK = "<redacted>"

_PATTERNS = [
    re.compile(r"\bslw_[0-9A-Za-z]{20,}"),
    re.compile(r"(?i)\b(bearer|basic)\s+[0-9A-Za-z._~+/=-]{8,}"),
    re.compile(r"(?<=://)([^/\s:@]{1,256}):([^/\s@]{1,1024})@"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
]


def _forms(value: str) -> list[str]:
    """Write a value in the ways in which it may stand in a log."""
    raw = value.encode()
    forms = {value, urllib.parse.quote(value, safe=""), urllib.parse.quote_plus(value), raw.hex()}
    for lead in range(3):
        # Base64 of text around the value: three alignments, without the edge characters
        # that depend on the neighbours.
        start, end = (lead * 8 + 5) // 6, ((lead + len(raw)) * 8) // 6
        text = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")[start:end]
        forms.update((text, text.replace("+", "-").replace("/", "_")))
    return sorted((form for form in forms if len(form) >= 8), key=len, reverse=True)


def redact(text: str) -> str:
    """Return text with the action's token and common forms of credentials masked."""
    for variable in ("SLIPWAY_TOKEN", "STYRMIN_TOKEN"):
        token = os.environ.get(variable, "")
        if len(token) >= 8:
            for form in _forms(token):
                text = text.replace(form, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(MASK + ("@" if pattern.pattern.startswith("(?<=://)") else ""), text)
    return text


class SecretFilter(logging.Filter):
    """Masks secrets in a record before any handler sees it."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        cover_states()

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record in place; a record is never dropped."""
        try:
            message = record.getMessage()
        except Exception:  # a broken format string is the author's; keep what can be kept
            message = str(record.msg)
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        return True


def _masked(send: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a client's method that sends a state, so that its message is masked first."""

    def mask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for value in (*args, *kwargs.values()):
            message = getattr(value, "message", None)
            if isinstance(message, str) and hasattr(value, "type"):
                value.message = redact(message)

    if inspect.iscoroutinefunction(send):

        @functools.wraps(send)
        async def later(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as what it wraps
            mask(args, kwargs)
            return await send(*args, **kwargs)

        return later

    @functools.wraps(send)
    def now(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as what it wraps
        mask(args, kwargs)
        return send(*args, **kwargs)

    return now


def cover_states() -> None:
    """Mask the messages of states on their way to Prefect.

    The text of an action's exception becomes the message of its state, which no log filter
    sees. This is called where Prefect's logging finds the filter above, so in every action.
    """
    from prefect.client.orchestration._flow_runs import client

    for owner in (client.FlowRunClient, client.FlowRunAsyncClient):
        if not getattr(owner, "_slipway_masks", False):
            owner.set_flow_run_state = _masked(owner.set_flow_run_state)  # type: ignore[method-assign]
            owner._slipway_masks = True  # type: ignore[union-attr]
