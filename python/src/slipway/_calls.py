"""How a primitive reaches Slipway: one call, repeated until it has an answer.

A call is made once under a key and then read until it is over. The key holds the flow
run, its run count and the number of the call, so a request that is sent again after a
lost answer, or after Slipway was restarted, is the same call and does nothing twice.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from slipway.errors import ActionError

UNREACHABLE_AFTER = 120.0
"""Seconds of failed requests in a row after which a call gives up."""

LONG_POLL = 25
"""Seconds that one read waits for the call to end; the server allows no more."""


@dataclass(frozen=True)
class _Place:
    """Where Slipway listens, and as whom we speak."""

    urls: list[str]
    token: str
    step: str
    flow_run: str

    @classmethod
    def from_environment(cls) -> _Place:
        env = os.environ
        token = env.get("SLIPWAY_TOKEN") or env.get("STYRMIN_TOKEN") or ""
        urls = [u.strip().rstrip("/") for u in env.get("SLIPWAY_URL", "").split(",") if u.strip()]
        step = env.get("SLIPWAY_STEP", "")
        if not token or not urls or not step:
            raise ActionError("not_in_action", "this function works only inside an action that Slipway runs")
        return cls(urls, token, step, env.get("PREFECT__FLOW_RUN_ID") or "no-flow-run")


@dataclass
class _Counter:
    """Numbers the calls of one run of the flow; a retry by Prefect counts afresh."""

    run: str = ""
    number: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def next(self, run: str) -> int:
        if run != self.run:
            self.run, self.number = run, 0
        self.number += 1
        return self.number


_counter = _Counter()


def _run_count() -> int:
    try:
        from prefect.runtime import flow_run

        return int(flow_run.get_run_count() or 1)
    except Exception:  # outside a flow run there is nothing to count
        return 1


def _verify() -> ssl.SSLContext | bool:
    ca = os.environ.get("SLIPWAY_CA_FILE")
    return ssl.create_default_context(cafile=ca) if ca else True


async def call(primitive: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON of the primitive
    """Ask Slipway for one primitive and wait for its end.

    Returns the primitive's JSON result. Raises ActionError with the code that Slipway
    gave, ``api_refused`` when it does not let us, and ``api_unreachable`` after two
    minutes without an answer.
    """
    place = _Place.from_environment()
    run = f"{place.flow_run}/{_run_count()}"
    key = f"{run}/{_counter.next(run)}"
    headers = {
        "Authorization": f"Bearer {place.token}",
        "X-Slipway-Step": place.step,
        "Idempotency-Key": key,
    }
    timeout = httpx.Timeout(10.0, read=LONG_POLL + 15.0)
    async with httpx.AsyncClient(headers=headers, timeout=timeout, verify=_verify(), trust_env=False) as http:
        body = {"primitive": primitive, "arguments": arguments}
        answer = await _request(http, place, "POST", "/api/v1/action-calls", json=body)
        while answer.get("state") == "running":
            path = f"/api/v1/action-calls/{answer['id']}?wait={LONG_POLL}"
            answer = await _request(http, place, "GET", path)
    if answer.get("state") == "succeeded":
        return answer.get("result")
    raise ActionError(answer.get("code") or "internal", answer.get("error") or "Slipway gave no reason")


async def _request(
    http: httpx.AsyncClient,
    place: _Place,
    method: str,
    path: str,
    json: Any = None,  # noqa: ANN401 - what httpx takes
) -> dict[str, Any]:
    """Send one request until somebody answers; every address in turn, then again."""
    deadline = time.monotonic() + UNREACHABLE_AFTER
    pause = 0.2
    last = ""
    while True:
        for url in place.urls:
            try:
                response = await http.request(method, url + path, json=json)
            except httpx.TransportError as err:
                last = f"{type(err).__name__} at {url}"
                continue
            if response.status_code in (408, 429, 500, 502, 503, 504):
                last = f"status {response.status_code} at {url}"
                continue
            return _read(response)
        if time.monotonic() >= deadline:
            raise ActionError(
                "api_unreachable",
                f"Slipway did not answer for {UNREACHABLE_AFTER:.0f} s ({last}): "
                "see that its server runs, then request the change again",
            )
        await asyncio.sleep(pause)
        pause = min(pause * 2, 5.0)


def _read(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    if response.is_success:
        return body
    detail = str(body.get("detail") or body.get("title") or f"status {response.status_code}")
    if hint := body.get("hint"):
        detail += f" ({hint})"
    if response.status_code in (401, 403):
        raise ActionError("api_refused", f"the Slipway API refused the action: {detail}")
    code = str(body.get("code") or ("invalid_argument" if response.status_code in (400, 422) else "internal"))
    raise ActionError(code, detail)
