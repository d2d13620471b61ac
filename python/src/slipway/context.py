"""The context of an action: what it may know of the application that it works on.

Slipway builds the context once for each change and freezes it: a later change does not
alter what a running action sees. It never holds the value of a secret, only its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = 1
"""The newest schema that this package reads."""

CONTEXT_FILE_VARIABLE = "SLIPWAY_CONTEXT_FILE"


class _Part(BaseModel):
    """A frozen part of the context; fields that a newer Slipway adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Task(_Part):
    """The task whose hook runs the action."""

    id: int
    kind: str
    """``install``, ``upgrade``, ``backup`` or ``restore``."""
    hook: str = ""
    """``setup``, ``upgrade``, ``backup`` or ``restore``."""
    mode: str = ""
    """``pre``, ``core`` or ``post``."""
    action: str = ""
    step_id: int = 0
    attempt: int = 1
    change: int = 0
    """The change's number, counted per application."""


class Capabilities(_Part):
    """What charts commonly ask of a cluster; None where the installation says nothing."""

    storage_class: str | None = None
    ingress_class: str | None = None
    fqdn_suffix: str | None = None


class Cluster(_Part):
    """The cluster that the application runs on."""

    id: str = ""
    name: str = ""
    capabilities: Capabilities = Capabilities()


class Environment(_Part):
    """The environment that holds the application."""

    id: int = 0
    project: str = ""
    name: str = ""
    settings: dict[str, str] = Field(default_factory=dict)


class Deployment(_Part):
    """The application as a team asked for it."""

    id: int
    name: str
    display_name: str = ""
    desired_phase: str = "running"


class Instance(_Part):
    """One configuration of the application, and where it runs."""

    id: int = 0
    """The number of the revision."""
    namespace: str
    helm_release: str
    config: dict[str, Any] = Field(default_factory=dict)
    """The environment's settings, then the parameters that are no secrets."""


class Driver(_Part):
    """The driver whose action this is."""

    name: str
    version: str
    digest: str = ""
    previous_version: str | None = None


class Chart(_Part):
    """The chart that the driver installs."""

    ref: str = ""
    version: str = ""
    digest: str | None = None


class App(_Part):
    """The version that the change leads to, and what it comes from."""

    name: str = ""
    version: str
    """The target version of an upgrade."""
    previous_version: str | None = None
    driver: Driver
    chart: Chart = Chart()


class SecretRef(_Part):
    """Where a secret's value stands: a key of a Kubernetes Secret in the namespace."""

    name: str
    key: str


class EnvValue(_Part):
    """An environment variable that the team set: a text, or a secret."""

    value: str | None = None
    secret_ref: SecretRef | None = None


class Component(_Part):
    """A component as the new configuration has it."""

    selector: dict[str, str] = Field(default_factory=dict)
    kinds: list[str] = Field(default_factory=list)
    container: str | None = None
    image_override: str | None = None
    """The text of the override, with its template; see ``get_component_images``."""
    env: dict[str, EnvValue] = Field(default_factory=dict)
    replicas: int | None = None
    stopped: bool = False


class Service(_Part):
    """An endpoint that the application offers."""

    component: str = ""
    kind: str = ""
    port: int = 0
    scope: str = ""
    path: str = ""


class Backup(_Part):
    """The backup that the hooks ``backup`` and ``restore`` are about, without credentials."""

    id: int
    location_ref: str
    path: str
    app_version: str = ""


class GlobalContext(_Part):
    """Everything that an action may know, frozen for its change.

    In a flow run's parameters stands a reference only, ``{"schema": 1, "ref": …,
    "digest": "sha256:…"}``; the document itself is read from the file that
    ``SLIPWAY_CONTEXT_FILE`` names, and its digest is checked. A full document is
    accepted too, which is what tests give.

    Raises:
        ValueError: the schema is newer than this package, the file is missing, or it is
            not the one that the reference means.

    """

    schema_version: int = SCHEMA_VERSION
    task: Task
    cluster: Cluster = Cluster()
    environment: Environment = Environment()
    deployment: Deployment
    instance: Instance
    app: App
    components: dict[str, Component] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    services: dict[str, Service] = Field(default_factory=dict)
    backup: Backup | None = None

    @model_validator(mode="before")
    @classmethod
    def _load_reference(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic gives whatever the caller gave
        if isinstance(data, dict) and "ref" in data:
            data = _read_document(data)
        if isinstance(data, dict):
            version = data.get("schema_version", SCHEMA_VERSION)
            if not isinstance(version, int) or version > SCHEMA_VERSION:
                raise ValueError(
                    f"the context has schema {version!r}, this package reads up to {SCHEMA_VERSION}: "
                    "install the slipway package that came with this Slipway"
                )
        return data


def _read_document(reference: dict[str, Any]) -> Any:  # noqa: ANN401 - checked by the model
    path = os.environ.get(CONTEXT_FILE_VARIABLE)
    if not path:
        raise ValueError(
            f"the context is a reference, but {CONTEXT_FILE_VARIABLE} is not set: "
            "an action runs only when Slipway starts it"
        )
    raw = Path(path).read_bytes()
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    if digest != reference.get("digest"):
        raise ValueError(f"the context file has digest {digest}, but the flow run means {reference.get('digest')}")
    return json.loads(raw)
