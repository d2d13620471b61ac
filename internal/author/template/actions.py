"""What happens around an install and an upgrade of __name__.

Each action is a Prefect flow. The functions of slipway.actions do the work on the
cluster; each may be called again without harm, and an action that fails leaves what it
has stopped as it is, for a person to look at.

Try them without a cluster:  slipway driver test
"""

from prefect import flow, get_run_logger
from slipway.actions import (
    GlobalContext,
    execute_commands,
    get_component_images,
    start_components,
    stop_components,
    upgrade_deployment_version,
)


@flow
async def upgrade(context: GlobalContext, target_version: str) -> None:
    """Migrate while nobody works, and change the version only when that went well."""
    logger = get_run_logger()
    await stop_components(components=["worker"], context=context)

    images = await get_component_images(component="worker", context=context)
    # A team's own image names the new version already; the chart's is still the old one.
    overridden = context.components["worker"].image_override is not None
    image = images[0] if overridden else at_version(images[0], target_version)
    # Put your application's migration here. It runs with the worker's environment.
    await execute_commands(
        ["sh", "-c", "echo migrating $APP_NAME"],
        image=image,
        context=context,
        env_from_component="worker",
        timeout=600,
    )

    await upgrade_deployment_version(target_version=target_version, context=context)
    await start_components(components=["worker"], context=context)
    logger.info("%s runs version %s", context.app.name, target_version)


@flow
async def check(context: GlobalContext) -> None:
    """Look at the page as a reader does."""
    images = await get_component_images(component="web", context=context)
    await execute_commands(
        ["sh", "-c", "wget -q -O - $WEB_URL"],
        image=images[0],
        context=context,
        env_from_component="worker",
        timeout=120,
    )


def at_version(image: str, version: str) -> str:
    """Return the image at another version: without its digest, and with another tag."""
    name = image.split("@", 1)[0]
    repository, separator, tag = name.rpartition(":")
    # A ":" that a "/" follows is that of a registry's port, and not of a tag.
    base = repository if separator and "/" not in tag else name
    return f"{base}:{version}"
