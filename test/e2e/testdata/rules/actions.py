"""Actions that play the scene which the application's parameters name. For a test."""

import asyncio
import base64
import os
import signal
import time
from pathlib import Path

from prefect import flow, get_run_logger

from slipway.actions import (
    ActionError,
    GlobalContext,
    execute_commands,
    get_component_images,
    start_components,
    stop_components,
    upgrade_deployment_version,
)
from slipway.client import ApiError, AsyncClient

BUSYBOX = "docker.io/local/busybox:1"
attempts = 0


def note(context: GlobalContext, line: str) -> None:
    """Write a line to the test's own file."""
    with Path(context.parameters["diary"]).open("a") as diary:
        diary.write(line + "\n")


@flow
async def first(context: GlobalContext) -> None:
    """Run a command before anything is installed: the namespace is there, and no workload."""
    await execute_commands(["true"], image=BUSYBOX, context=context, timeout=120)
    try:
        await execute_commands(["true"], image=BUSYBOX, context=context, env_from_component="web")
    except ActionError as err:
        note(context, f"{err.code}: {err}")


@flow(retries=2, retry_delay_seconds=0)
async def before(context: GlobalContext, target_version: str) -> None:
    global attempts
    attempts += 1
    if context.parameters["scene"] == "retries":
        # Two commands fail, and the third attempt's does not.
        await execute_commands(["sh", "-c", f"echo attempt {attempts}; exit {3 - attempts}"], image=BUSYBOX, context=context)
    if context.parameters["scene"] == "overtaken":
        note(context, f"pre of {target_version}")


@flow
async def change(context: GlobalContext, target_version: str) -> None:
    scene = globals().get("scene_" + context.parameters["scene"])
    if scene is not None and await scene(context, target_version):
        return
    await upgrade_deployment_version(target_version=target_version, context=context)


@flow
async def after(context: GlobalContext, target_version: str) -> None:
    if context.parameters["scene"] == "overtaken":
        note(context, f"post of {target_version}, {context.app.version}, {context.app.previous_version}")


async def scene_exit0(context: GlobalContext, target_version: str) -> None:
    """A tool that says that it has failed, and ends well."""
    await execute_commands(
        ["sh", "-c", "seq 1 300; echo FAILED to migrate; seq 1 20; exit 0"],
        image=BUSYBOX,
        context=context,
        fail_if_output_matches=r"(?m)^FAILED\b",
    )


async def scene_twenty(context: GlobalContext, target_version: str) -> None:
    """Twenty commands at once."""
    ends = await asyncio.gather(
        *(execute_commands(["sleep", "12"], image=BUSYBOX, context=context) for _ in range(20)), return_exceptions=True
    )
    for end in ends:
        note(context, f"{end.code}: {end}" if isinstance(end, ActionError) else repr(end))


async def scene_refused(context: GlobalContext, target_version: str) -> None:
    """Call until somebody changes the user."""
    note(context, "calling")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        await get_component_images(component="web", context=context)
        await asyncio.sleep(0.2)


async def scene_client(context: GlobalContext, target_version: str) -> None:
    """Everything by the client, and nothing of it linked."""
    async with AsyncClient() as slipway:
        me = await slipway.whoami()
        application = await slipway.application(context.deployment.id)
        stopped = await slipway.stop_components(application.id, ["worker"])
        await slipway.wait(stopped.task.id, timeout=120)
        state = {c.name: c.stopped for c in (await slipway.application(application.ref)).components}
        started = await slipway.start_components(application.id, ["worker"])
        ended = await slipway.wait(started.task.id, timeout=120)
        names = await slipway.secret_names(f"{application.project}/{application.environment}")
        known = [task.id for task in await slipway.tasks(application.id, open_only=True)]
        note(context, f"{me.user} {me.role} {me.task_id == context.task.id} {state['worker']} {ended.state} {names} {context.task.id in known}")
        try:
            await slipway.stop_components(application.id, ["wrker"])
        except ApiError as err:
            note(context, f"{err.code} {err.status}: {err}")


async def scene_override(context: GlobalContext, target_version: str) -> None:
    """The override and the environment of the new configuration, before it is applied."""
    note(context, " ".join(await get_component_images(component="web", context=context)))
    await execute_commands(
        ["sh", "-c", 'echo "$HOST $ADDRESS $REMOVED $NEW"; exit 1'],
        image=BUSYBOX,
        context=context,
        env_from_component="web",
    )


async def scene_overtaken(context: GlobalContext, target_version: str) -> bool:
    """Wait until a later change was faster."""
    note(context, f"core of {target_version}")
    while not Path(context.parameters["gate"]).exists():
        await asyncio.sleep(0.1)
    try:
        await upgrade_deployment_version(target_version=target_version, context=context)
    except ActionError as err:
        note(context, f"{err.code}: {err}")
    return True  # as an author who goes on all the same


async def scene_crash(context: GlobalContext, target_version: str) -> None:
    """Say the token in an error, and die."""
    token = os.environ["SLIPWAY_TOKEN"]
    encoded = base64.b64encode(b"user:" + token.encode()).decode()
    get_run_logger().error("refused: %s, or %s", token, encoded)
    get_run_logger().error("a second error")
    await asyncio.sleep(1.5)
    os.kill(os.getpid(), signal.SIGKILL)


async def scene_long(context: GlobalContext, target_version: str) -> None:
    """Run a command that does not end by itself."""
    note(context, "running")
    await execute_commands(["sleep", "600"], image=BUSYBOX, context=context)


async def scene_keeps(context: GlobalContext, target_version: str) -> None:
    """Stop, change the version, look, start."""
    await stop_components(components=["worker", "worker"], context=context)
    await stop_components(components=["worker"], context=context)
    await upgrade_deployment_version(target_version=target_version, context=context)
    while not Path(context.parameters["gate"]).exists():
        await asyncio.sleep(0.1)
    await start_components(components=["worker"], context=context)
    await start_components(components=["worker"], context=context)
