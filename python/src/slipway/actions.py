"""The context and the primitives of actions.

An action is a Prefect flow that a driver declares. It calls the primitives, each of which
is idempotent and the same for every driver::

    from prefect import flow
    from slipway.actions import GlobalContext, start_components, stop_components

    @flow
    async def upgrade(context: GlobalContext, target_version: str) -> None:
        await stop_components(components=["worker"], context=context)
        ...
        await start_components(components=["worker"], context=context)
"""

from __future__ import annotations

from slipway._calls import call
from slipway.context import GlobalContext
from slipway.errors import ActionError

__all__ = [
    "ActionError",
    "GlobalContext",
    "execute_commands",
    "get_component_images",
    "start_components",
    "stop_components",
    "upgrade_deployment_version",
]


async def stop_components(components: list[str], context: GlobalContext) -> None:
    """Stop components and wait until none of their pods is left.

    They stay stopped, also through a Helm upgrade that follows and after a failure, until
    ``start_components``. Components that are stopped already are left alone; when all
    are, no task is started.

    Raises:
        ActionError: ``unknown_component``, ``invalid_argument`` for an empty list, or
            ``task_failed`` with what the task said.

    """
    await call("stop_components", {"components": _names("components", components)})


async def start_components(components: list[str], context: GlobalContext) -> None:
    """Start stopped components with the current configuration and wait until they are ready.

    Raises:
        ActionError: as :func:`stop_components`.

    """
    await call("start_components", {"components": _names("components", components)})


async def upgrade_deployment_version(target_version: str, context: GlobalContext) -> None:
    """Move the application to ``target_version`` and wait until it is ready.

    When it has that version already, nothing happens. No hooks run.

    Raises:
        ActionError: ``version_not_supported`` when this is not the version of the running
            upgrade, or a later change has set another; ``task_failed``.

    """
    await call("upgrade_deployment_version", {"target_version": _text("target_version", target_version)})


async def get_component_images(component: str, context: GlobalContext) -> list[str]:
    """Return the images of a component's regular containers.

    The declared container's image stands first, and is the team's override where there is
    one, with ``{{ app.version }}`` set to the target version; the others follow in the
    order of the pod. Init containers are left out.

    Raises:
        ActionError: ``unknown_component``, ``no_workload``, ``ambiguous_workload``.

    """
    result = await call("get_component_images", {"component": _text("component", component)})
    return [str(image) for image in result["images"]]


async def execute_commands(
    commands: list[str],
    *,
    image: str,
    context: GlobalContext,
    env_from_component: str | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the Job's own limit, kept by Slipway
    fail_if_output_matches: str | None = None,
) -> None:
    """Run one command, given as its arguments, in a Job with ``image``, and wait for its end.

    With ``env_from_component`` the Job gets the environment of that component's container,
    and the variables of the new configuration on top. ``timeout`` is in seconds.
    ``fail_if_output_matches`` is a regular expression (RE2) that makes a command fail that
    exits with 0. When the Job fails, the end of its output is kept on the step.

    Raises:
        ActionError: ``job_failed``, ``job_timeout``, ``job_running`` when another action's
            Job still runs, ``unknown_component``, ``no_workload``, ``invalid_argument``.

    """
    if isinstance(commands, str) or not isinstance(commands, (list, tuple)) or not commands:
        raise ActionError(
            "invalid_argument", 'commands is one command as a list of its arguments: ["app", "db", "migrate"]'
        )
    if any(isinstance(item, (list, tuple)) for item in commands):
        raise ActionError("invalid_argument", "pass one command; call execute_commands once per command")
    arguments: dict[str, object] = {
        "commands": [_text("commands", item) for item in commands],
        "image": _text("image", image),
    }
    if env_from_component is not None:
        arguments["env_from_component"] = _text("env_from_component", env_from_component)
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
            raise ActionError("invalid_argument", "timeout is a number of seconds greater than 0")
        arguments["timeout_seconds"] = float(timeout)
    if fail_if_output_matches is not None:
        arguments["fail_if_output_matches"] = _text("fail_if_output_matches", fail_if_output_matches)
    await call("execute_commands", arguments)


def _names(argument: str, value: list[str]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ActionError("invalid_argument", f'{argument} is a list of component names: ["worker"]')
    names = [_text(argument, item) for item in value]
    if not names:
        raise ActionError("invalid_argument", f"{argument} is empty: name at least one component")
    return list(dict.fromkeys(names))


def _text(argument: str, value: object) -> str:
    if not isinstance(value, str) or value == "":
        raise ActionError("invalid_argument", f"{argument} must be text that is not empty, not {value!r}")
    return value
