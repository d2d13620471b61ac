"""The requests of the client, apart from how they are sent.

Both clients send the same ones: what a request says and how its answer is read stands here
once, and the clients differ in waiting only.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from slipway import models
from slipway.errors import ApiError, TaskFailedError

T = TypeVar("T")
Query = Mapping[str, str | int | bool | None]

LONG_POLL = 25
"""Seconds that one read of a task waits for news; the server allows no more."""

PAGE = 200
"""Items of one page of a listing."""

AWAY = (408, 429, 502, 503, 504)
"""Answers after which the same request is worth sending again."""


@dataclass(frozen=True)
class Place:
    """Where the API is, and as whom we speak."""

    urls: tuple[str, ...]
    token: str = field(repr=False)
    ca_file: str | None = None

    @classmethod
    def find(cls, url: str | None, token: str | None, ca_file: str | None) -> Place:
        """Take what is given, and the rest from the environment that actions have."""
        env = os.environ
        urls = tuple(u.strip().rstrip("/") for u in (url or env.get("SLIPWAY_URL", "")).split(",") if u.strip())
        token = token or env.get("SLIPWAY_TOKEN") or env.get("STYRMIN_TOKEN") or ""
        if not urls:
            raise ApiError("not_configured", "the address of Slipway is not known", "set SLIPWAY_URL, or give url")
        if not token:
            raise ApiError("not_configured", "there is no token to speak with", "set SLIPWAY_TOKEN, or give token")
        return cls(urls, token, ca_file or env.get("SLIPWAY_CA_FILE") or None)


@dataclass(frozen=True)
class Request(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Any], T]
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The key makes a change that is sent twice happen once."""
        return {"Idempotency-Key": self.key} if self.key else {}


def _query(values: Query) -> dict[str, str]:
    out = {}
    for name, value in values.items():
        if value is None or value is False or value == "":
            continue
        out[name] = "true" if value is True else str(value)
    return out


def _get(path: str, read: Callable[[Any], T], **query: str | int | bool | None) -> Request[T]:
    return Request("GET", path, read, _query(query))


def _post(path: str, read: Callable[[Any], T], body: Any, key: str | None = "") -> Request[T]:  # noqa: ANN401 - JSON
    """Make a POST. Without a key of the caller's it gets one, so that it can be sent again."""
    return Request("POST", path, read, body=body, key=str(uuid.uuid4()) if key is None else key)


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a listing."""

    items: list[T]
    next: str


def _page(read: Callable[[Any], T]) -> Callable[[Any], Page[T]]:
    return lambda body: Page([read(item) for item in body["items"]], body.get("next_cursor") or "")


def place_of(environment: str) -> str:
    """Turn ``shop/production`` into its part of a path."""
    project, slash, name = environment.partition("/")
    if not project or not slash or not name or "/" in name:
        raise ApiError("invalid", f"{environment!r} is no environment", "write it as project/environment")
    return f"/environments/{quote(project, safe='')}/{quote(name, safe='')}"


def split_ref(ref: str) -> tuple[str, str, str]:
    """Split ``shop/production/guestbook``."""
    parts = ref.split("/")
    if len(parts) != 3 or not all(parts):
        raise ApiError("invalid", f"{ref!r} is no application", "write it as project/environment/name")
    return parts[0], parts[1], parts[2]


def whoami() -> Request[models.Caller]:
    """See Client.whoami."""
    return _get("/whoami", models.Caller.model_validate)


def applications(
    project: str | None, environment: str | None, name: str | None, cursor: str
) -> Request[Page[models.Application]]:
    """See Client.applications."""
    read = _page(models.Application.model_validate)
    return _get("/applications", read, project=project, environment=environment, name=name, limit=PAGE, cursor=cursor)


def application(number: int) -> Request[models.Application]:
    """See Client.application."""
    return _get(f"/applications/{number:d}", models.Application.model_validate)


def plan(environment: str, spec: str) -> Request[models.Plan]:
    """See Client.plan."""
    return _post(place_of(environment) + "/applications:plan", models.Plan.model_validate, {"spec": spec})


def deploy(
    environment: str, spec: str, expected_revision: int, overtake: bool, key: str | None
) -> Request[models.Accepted]:
    """See Client.deploy."""
    body = {"spec": spec, "expected_revision": expected_revision, "overtake": overtake}
    return _post(place_of(environment) + "/applications", models.Accepted.model_validate, body, key)


def turn(application: int, how: str, components: list[str], key: str | None) -> Request[models.Accepted]:
    """See Client.stop_components and Client.start_components."""
    if isinstance(components, str):
        raise ApiError("invalid", "components is a list of names", f"write [{components!r}]")
    path = f"/applications/{application:d}/components/{how}"
    return _post(path, models.Accepted.model_validate, {"components": list(components)}, key)


def tasks(
    application: int | None, state: models.TaskState | None, open_only: bool, limit: int, cursor: str
) -> Request[Page[models.Task]]:
    """See Client.tasks."""
    read = _page(models.Task.model_validate)
    return _get("/tasks", read, application=application, state=state, open=open_only, limit=limit, cursor=cursor)


def task(number: int, seen: str = "", wait: int = 0) -> Request[models.Task]:
    """See Client.task and Client.wait."""
    return _get(f"/tasks/{number:d}", models.Task.model_validate, seen=seen, wait=wait or None)


def cancel(number: int) -> Request[models.Task]:
    """See Client.cancel."""
    return _post(f"/tasks/{number:d}/cancel", models.Task.model_validate, None, None)


def output(number: int, step: int) -> Request[models.Output]:
    """See Client.output."""
    return _get(f"/tasks/{number:d}/steps/{step:d}/output", models.Output.model_validate)


def secrets(environment: str, cursor: str) -> Request[Page[models.Secret]]:
    """See Client.secrets."""
    return _get(place_of(environment) + "/secrets", _page(models.Secret.model_validate), cursor=cursor)


def judge(response: httpx.Response) -> Any:  # noqa: ANN401 - JSON of the answer
    """Return an answer's body, or raise what it says is wrong."""
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if response.is_success:
        return body
    problem = body if isinstance(body, dict) else {}
    raise ApiError(
        str(problem.get("kind") or "internal"),
        str(problem.get("detail") or problem.get("title") or f"Slipway answered with status {response.status_code}"),
        str(problem.get("hint") or ""),
        response.status_code,
        problem.get("fields") or [],
        str(problem.get("request_id") or ""),
    )


def ended(task: models.Task, check: bool) -> models.Task:
    """Return a task that is over, or raise when it did not end well and that matters."""
    if check and not task.succeeded:
        why = task.error or task.state
        raise TaskFailedError(task.id, task.state, f"task {task.id} ({task.title}) {task.state}: {why}")
    return task
