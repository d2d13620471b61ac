"""What the API answers, as far as programs use it.

The models are frozen, and ignore fields that a newer Slipway adds. ``contract/openapi.yaml``
describes every field; a test holds the names here against it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TaskState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Caller(_Model):
    """Who the server takes us for."""

    user: str
    role: str
    task_id: int | None = None
    """Set for the token of a task's actions."""
    project: str = ""
    """Set when the token sees this project only."""
    environment: str = ""


class Component(_Model):
    """What is recorded of one component of an application."""

    name: str
    stopped: bool = False
    stopped_by_task: int | None = None
    stopped_at: datetime | None = None


class Application(_Model):
    """What a team asked for, in one environment."""

    id: int
    project: str
    environment: str
    name: str
    kind: str
    namespace: str
    state: str
    message: str = ""
    revision: int
    """The newest accepted revision: what the next deploy must expect."""
    applied: int
    """The revision on the cluster; 0 for none yet."""
    app_version: str
    driver_name: str
    driver_version: str
    last_change: int = 0
    components: list[Component] = Field(default_factory=list)
    """Only when one application is asked for."""

    @property
    def ref(self) -> str:
        """The application as people write it: ``shop/production/guestbook``."""
        return f"{self.project}/{self.environment}/{self.name}"


class LinkedTask(_Model):
    """A task that an action started by a primitive."""

    id: int
    type: str
    state: TaskState
    error: str = ""


class ActionRun(_Model):
    """One run of an action, a flow run of Prefect."""

    action: str
    flow_run_id: str = ""
    url: str = ""
    state: str = ""


class StepOutput(_Model):
    """A glance at a step's output: the last lines of what is stored."""

    lines: int
    cut: bool
    tail: list[str] = Field(default_factory=list)


class Step(_Model):
    """One visible part of a task."""

    id: int
    seq: int
    key: str
    name: str
    state: TaskState
    error: str = ""
    output: StepOutput | None = None
    notes: list[str] = Field(default_factory=list)
    tasks: list[LinkedTask] = Field(default_factory=list)
    runs: list[ActionRun] = Field(default_factory=list)


class StartedBy(_Model):
    """The task whose action started another."""

    task_id: int
    type: str


class Task(_Model):
    """The work of a change, as people see it."""

    id: int
    kind: str
    type: str
    title: str
    application_id: int
    application: str
    root_id: int
    state: TaskState
    requested_by: str
    error: str = ""
    hint: str = ""
    change: int | None = None
    started_by: StartedBy | None = None
    result: dict[str, Any] | None = None
    steps: list[Step] = Field(default_factory=list)
    """Only when one task is asked for."""
    version: str = ""

    @property
    def over(self) -> bool:
        """Whether the task has ended."""
        return self.state in ("succeeded", "failed", "cancelled")

    @property
    def succeeded(self) -> bool:
        """Whether the task has ended well."""
        return self.state == "succeeded"


class Output(_Model):
    """What is stored of a step's output."""

    text: str
    cut: bool


class Accepted(_Model):
    """The answer to a change: it is recorded, and its task will carry it out."""

    application_id: int
    application: str
    kind: str
    task: Task
    change: int | None = None
    revision: int | None = None
    warnings: list[str] = Field(default_factory=list)
    repeated: bool = False


class Plan(_Model):
    """What a deploy of a spec would do."""

    application: str
    name: str
    kind: str
    revision: int
    """The revision that is wanted now, and the one to expect."""
    new_revision: int
    version: str
    from_version: str = ""
    summary: str = ""
    restarts: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class Secret(_Model):
    """Everything of a secret but its value, which nothing can read back."""

    name: str
    version: int
    updated_by: str = ""
    used_by: list[str] = Field(default_factory=list)
