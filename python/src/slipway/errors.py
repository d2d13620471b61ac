"""What a primitive raises."""

from __future__ import annotations


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
