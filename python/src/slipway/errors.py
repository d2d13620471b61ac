"""What a primitive raises, and what a client of the API does."""

from __future__ import annotations

from typing import Any


class ActionError(Exception):
    """A primitive could not do what was asked.

    ``code`` is stable and for programs; ``message`` is one sentence that says what to do.
    The codes: ``unknown_component``, ``no_workload``, ``ambiguous_workload``,
    ``job_running``, ``job_failed``, ``job_timeout``, ``task_failed``, ``api_refused``,
    ``api_unreachable``, ``invalid_argument``, ``version_not_supported``, ``not_in_action``
    and ``internal``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[ActionError], tuple[str, str]]:
        # Prefect pickles exceptions between processes; the default would lose the code.
        return (type(self), (self.code, self.message))


class ApiError(Exception):
    """The API refused a request, or could not be reached.

    ``code`` is stable and for programs: ``invalid``, ``unauthenticated``, ``forbidden``,
    ``not_found``, ``conflict``, ``too_large``, ``throttled``, ``unavailable``, ``internal``
    as the API has them, ``unreachable`` when nobody answered, and ``not_configured`` when
    the client was not told where the API is or as whom it speaks. ``message`` is one
    sentence, ``hint`` what to do next, ``fields`` every fault of the input with its place.
    ``status`` is 0 when there was no answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        status: int = 0,
        fields: list[dict[str, Any]] | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        self.fields = fields or []
        self.request_id = request_id

    def __reduce__(self) -> tuple[type[ApiError], tuple[Any, ...]]:
        # As above: an action may raise it.
        return (type(self), (self.code, self.message, self.hint, self.status, self.fields, self.request_id))


class TaskFailedError(Exception):
    """A task that was waited for did not end well. ``task_id`` and ``state`` say which and how."""

    def __init__(self, task_id: int, state: str, message: str) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.state = state

    def __reduce__(self) -> tuple[type[TaskFailedError], tuple[int, str, str]]:
        # As above.
        return (type(self), (self.task_id, self.state, str(self)))
