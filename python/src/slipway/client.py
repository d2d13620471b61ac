"""A client of Slipway's API, for actions and for programs of your own.

In an action nothing needs to be configured: the client takes ``SLIPWAY_URL``,
``SLIPWAY_TOKEN`` and ``SLIPWAY_CA_FILE`` from the action's environment, and is let in as
the user ``slipway-actions``, for as long as the action's task runs::

    from slipway.client import AsyncClient

    async with AsyncClient() as slipway:
        application = await slipway.application(context.deployment.id)

Slipway links the tasks that the primitives of ``slipway.actions`` start to the hook's step.
A task that is started through this client is not linked: it stands for itself, and is no
part of the upgrade's result. A stop or a start of the action's own application is let in
under the lock that the running task holds, and is cancelled if it still goes on when that
task ends, so :meth:`Client.wait` for it. A deploy of it overtakes the running change.

:class:`Client` and :class:`AsyncClient` are the same but for ``await``. Requests are sent
again while nobody answers; a change carries a key, so that it happens once.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TypeVar

import httpx

from slipway import _requests, models
from slipway.errors import ApiError, TaskFailedError

__all__ = ["ApiError", "AsyncClient", "Client", "TaskFailedError"]

PREFIX = "/api/v1"

PATIENCE = 120.0
"""Seconds without an answer after which a request fails."""

T = TypeVar("T")

_TIMEOUT = httpx.Timeout(10.0, read=_requests.LONG_POLL + 15.0)


def _verify(place: _requests.Place) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cafile=place.ca_file) if place.ca_file else True


class _Attempt:
    """Counts the time without an answer of one request."""

    def __init__(self, place: _requests.Place, patience: float) -> None:
        self._patience = patience
        self._until = time.monotonic() + patience
        self._pause = 0.2
        self._last = ""

    def lost(self, err: httpx.TransportError, url: str) -> None:
        self._last = f"{type(err).__name__} at {url}"

    def away(self, response: httpx.Response, url: str) -> bool:
        """Tell whether the answer means that nobody can answer now."""
        if response.status_code not in _requests.AWAY or time.monotonic() >= self._until:
            return False  # a refusal that stays is told in the server's own words
        self._last = f"status {response.status_code} at {url}"
        return True

    def pause(self) -> float:
        if time.monotonic() >= self._until:
            message = f"Slipway did not answer for {self._patience:.0f} s ({self._last})"
            raise ApiError("unreachable", message, "see that its server runs and that SLIPWAY_URL is right")
        now = self._pause
        self._pause = min(2 * now, 5.0)
        return now


class _Base:
    """What both clients know."""

    def __init__(self, url: str | None, token: str | None, ca_file: str | None, patience: float) -> None:
        self._place = _requests.Place.find(url, token, ca_file)
        self._patience = patience
        self._headers = {"Authorization": f"Bearer {self._place.token}", "Accept": "application/json"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._place.urls)})"


class Client(_Base):
    """The API, for code that does not await."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(url, token, ca_file, patience)
        self._http = httpx.Client(headers=self._headers, timeout=_TIMEOUT, verify=_verify(self._place), trust_env=False)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, request: _requests.Request[T]) -> T:
        """Send a request until somebody answers: to every address in turn, and again."""
        attempt = _Attempt(self._place, self._patience)
        while True:
            for url in self._place.urls:
                try:
                    response = self._http.request(
                        request.method,
                        url + PREFIX + request.path,
                        params=request.query,
                        json=request.body,
                        headers=request.headers,
                    )
                except httpx.TransportError as err:
                    attempt.lost(err, url)
                    continue
                if attempt.away(response, url):
                    continue
                return request.read(_requests.judge(response))
            time.sleep(attempt.pause())

    def whoami(self) -> models.Caller:
        """Say who the server takes us for."""
        return self._send(_requests.whoami())

    def applications(
        self, project: str | None = None, environment: str | None = None, name: str | None = None
    ) -> list[models.Application]:
        """List the applications that we see, of a project, an environment or a name."""
        found: list[models.Application] = []
        cursor = ""
        while True:
            page = self._send(_requests.applications(project, environment, name, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                return found

    def application(self, which: int | str) -> models.Application:
        """Show one application, by its ID or as ``shop/production/guestbook``."""
        if isinstance(which, str):
            project, environment, name = _requests.split_ref(which)
            found = self.applications(project, environment, name)
            if not found:
                raise ApiError("not_found", f"there is no application {which}", "see Client.applications", 404)
            which = found[0].id
        return self._send(_requests.application(which))

    def plan(self, environment: str, spec: str) -> models.Plan:
        """Say what a deploy of a spec, the text of an application.toml, would do."""
        return self._send(_requests.plan(environment, spec))

    def deploy(
        self,
        environment: str,
        spec: str,
        *,
        expected_revision: int,
        overtake: bool = False,
        key: str | None = None,
    ) -> models.Accepted:
        """Ask for a spec to be made true.

        ``expected_revision`` is the one that the caller has seen, as :meth:`plan` names it; 0
        for a new application. ``overtake`` does not wait for the changes before this one.
        The same ``key`` is the same request: give one of your own when your program may be
        started again.
        """
        return self._send(_requests.deploy(environment, spec, expected_revision, overtake, key))

    def stop_components(self, application: int, components: list[str], *, key: str | None = None) -> models.Accepted:
        """Ask for components to be stopped. They stay so until they are started."""
        return self._send(_requests.turn(application, "stop", components, key))

    def start_components(self, application: int, components: list[str], *, key: str | None = None) -> models.Accepted:
        """Ask for components to be started, as the current configuration says."""
        return self._send(_requests.turn(application, "start", components, key))

    def tasks(
        self,
        application: int | None = None,
        *,
        state: models.TaskState | None = None,
        open_only: bool = False,
        limit: int = 50,
    ) -> list[models.Task]:
        """List tasks, the newest first, without their steps."""
        found: list[models.Task] = []
        cursor = ""
        while len(found) < limit:
            size = min(limit - len(found), _requests.PAGE)
            page = self._send(_requests.tasks(application, state, open_only, size, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                break
        return found[:limit]

    def task(self, number: int) -> models.Task:
        """Show a task with its steps."""
        return self._send(_requests.task(number))

    def wait(self, number: int, *, timeout: float | None = None, check: bool = True) -> models.Task:
        """Wait until a task is over, through restarts of the server too.

        Raises TaskFailedError when it did not end well, unless ``check`` is False, and
        TimeoutError after ``timeout`` seconds. The task goes on then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        task = self.task(number)
        while not task.over:
            left = _requests.LONG_POLL if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"task {number} ({task.title}) is still {task.state} after {timeout} s")
            wait = max(1, min(_requests.LONG_POLL, int(left)))
            task = self._send(_requests.task(number, task.version, wait))
        return _requests.ended(task, check)

    def cancel(self, number: int) -> models.Task:
        """Ask for a task's end."""
        return self._send(_requests.cancel(number))

    def output(self, number: int, step: int) -> models.Output:
        """Show what is stored of a step's output."""
        return self._send(_requests.output(number, step))

    def secrets(self, environment: str) -> list[models.Secret]:
        """List the secrets of an environment. There is no way to read a value."""
        found: list[models.Secret] = []
        cursor = ""
        while True:
            page = self._send(_requests.secrets(environment, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                return found

    def secret_names(self, environment: str) -> list[str]:
        """List the names of an environment's secrets."""
        return [secret.name for secret in self.secrets(environment)]


class AsyncClient(_Base):
    """The API, for code that awaits: as :class:`Client`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(url, token, ca_file, patience)
        self._http = httpx.AsyncClient(
            headers=self._headers, timeout=_TIMEOUT, verify=_verify(self._place), trust_env=False
        )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, request: _requests.Request[T]) -> T:
        """Send a request until somebody answers: to every address in turn, and again."""
        attempt = _Attempt(self._place, self._patience)
        while True:
            for url in self._place.urls:
                try:
                    response = await self._http.request(
                        request.method,
                        url + PREFIX + request.path,
                        params=request.query,
                        json=request.body,
                        headers=request.headers,
                    )
                except httpx.TransportError as err:
                    attempt.lost(err, url)
                    continue
                if attempt.away(response, url):
                    continue
                return request.read(_requests.judge(response))
            await asyncio.sleep(attempt.pause())

    async def whoami(self) -> models.Caller:
        """Say who the server takes us for."""
        return await self._send(_requests.whoami())

    async def applications(
        self, project: str | None = None, environment: str | None = None, name: str | None = None
    ) -> list[models.Application]:
        """List the applications that we see, of a project, an environment or a name."""
        found: list[models.Application] = []
        cursor = ""
        while True:
            page = await self._send(_requests.applications(project, environment, name, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                return found

    async def application(self, which: int | str) -> models.Application:
        """Show one application, by its ID or as ``shop/production/guestbook``."""
        if isinstance(which, str):
            project, environment, name = _requests.split_ref(which)
            found = await self.applications(project, environment, name)
            if not found:
                raise ApiError("not_found", f"there is no application {which}", "see Client.applications", 404)
            which = found[0].id
        return await self._send(_requests.application(which))

    async def plan(self, environment: str, spec: str) -> models.Plan:
        """Say what a deploy of a spec, the text of an application.toml, would do."""
        return await self._send(_requests.plan(environment, spec))

    async def deploy(
        self,
        environment: str,
        spec: str,
        *,
        expected_revision: int,
        overtake: bool = False,
        key: str | None = None,
    ) -> models.Accepted:
        """Ask for a spec to be made true.

        ``expected_revision`` is the one that the caller has seen, as :meth:`plan` names it; 0
        for a new application. ``overtake`` does not wait for the changes before this one.
        The same ``key`` is the same request: give one of your own when your program may be
        started again.
        """
        return await self._send(_requests.deploy(environment, spec, expected_revision, overtake, key))

    async def stop_components(
        self, application: int, components: list[str], *, key: str | None = None
    ) -> models.Accepted:
        """Ask for components to be stopped. They stay so until they are started."""
        return await self._send(_requests.turn(application, "stop", components, key))

    async def start_components(
        self, application: int, components: list[str], *, key: str | None = None
    ) -> models.Accepted:
        """Ask for components to be started, as the current configuration says."""
        return await self._send(_requests.turn(application, "start", components, key))

    async def tasks(
        self,
        application: int | None = None,
        *,
        state: models.TaskState | None = None,
        open_only: bool = False,
        limit: int = 50,
    ) -> list[models.Task]:
        """List tasks, the newest first, without their steps."""
        found: list[models.Task] = []
        cursor = ""
        while len(found) < limit:
            size = min(limit - len(found), _requests.PAGE)
            page = await self._send(_requests.tasks(application, state, open_only, size, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                break
        return found[:limit]

    async def task(self, number: int) -> models.Task:
        """Show a task with its steps."""
        return await self._send(_requests.task(number))

    async def wait(self, number: int, *, timeout: float | None = None, check: bool = True) -> models.Task:  # noqa: ASYNC109 - a limit of the waiting, not of the task
        """Wait until a task is over, through restarts of the server too.

        Raises TaskFailedError when it did not end well, unless ``check`` is False, and
        TimeoutError after ``timeout`` seconds. The task goes on then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        task = await self.task(number)
        while not task.over:
            left = _requests.LONG_POLL if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"task {number} ({task.title}) is still {task.state} after {timeout} s")
            wait = max(1, min(_requests.LONG_POLL, int(left)))
            task = await self._send(_requests.task(number, task.version, wait))
        return _requests.ended(task, check)

    async def cancel(self, number: int) -> models.Task:
        """Ask for a task's end."""
        return await self._send(_requests.cancel(number))

    async def output(self, number: int, step: int) -> models.Output:
        """Show what is stored of a step's output."""
        return await self._send(_requests.output(number, step))

    async def secrets(self, environment: str) -> list[models.Secret]:
        """List the secrets of an environment. There is no way to read a value."""
        found: list[models.Secret] = []
        cursor = ""
        while True:
            page = await self._send(_requests.secrets(environment, cursor))
            found += page.items
            cursor = page.next
            if not cursor:
                return found

    async def secret_names(self, environment: str) -> list[str]:
        """List the names of an environment's secrets."""
        return [secret.name for secret in await self.secrets(environment)]
