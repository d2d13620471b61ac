"""What happens around an install and an upgrade of the guestbook.

What the upgrade promises: until the new version has proven that its migration works,
readers are served by the old one, with the data as it was. So the order is

    stop the worker · migrate with the new image · change the version · start the worker

and not the version first. A migration is one transaction: when it fails it has changed
nothing, the version has not moved, and the pages stay up. Only the worker is stopped, and
stays so until a person starts it: what readers write meanwhile waits in its queue. Between
a migration that worked and the new pods there are a few seconds without pages, because the
old version does not serve the new shape of the data.
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
async def check_input(context: GlobalContext) -> None:
    """Refuse what the parameters' schema cannot see."""
    logger = get_run_logger()
    email = context.parameters["admin_email"]
    domain = email.rpartition("@")[2]
    if "." not in domain:
        raise ValueError(f"admin_email: {domain} is no domain that mail could reach; write it in full")
    logger.info("installing %s %s into %s", context.app.name, context.app.version, context.instance.namespace)


@flow
async def check_release(context: GlobalContext) -> None:
    """Look at the release from outside, as a reader does, and sign the book."""
    images = await get_component_images(component="web", context=context)
    await execute_commands(
        ["guestbook", "check"],
        image=images[0],
        context=context,
        env_from_component="web",
        timeout=240,
    )


@flow
async def backup(context: GlobalContext) -> None:
    """Have the store keep a copy of the book, made by the version that still runs."""
    images = await get_component_images(component="store", context=context)
    await execute_commands(
        ["guestbook", "backup"],
        image=images[0],
        context=context,
        env_from_component="worker",
        timeout=540,
    )


@flow
async def upgrade(context: GlobalContext, target_version: str) -> None:
    """Migrate while nobody writes, and change the version only when that worked."""
    logger = get_run_logger()
    await stop_components(components=["worker"], context=context)

    images = await get_component_images(component="web", context=context)
    # An override of the team names the new version already; the chart's image is still
    # that of the version that runs.
    overridden = context.components["web"].image_override is not None
    image = images[0] if overridden else at_version(images[0], target_version)
    await execute_commands(
        ["guestbook", "migrate"],
        image=image,
        context=context,
        env_from_component="web",
        timeout=900,
    )

    await upgrade_deployment_version(target_version=target_version, context=context)
    await start_components(components=["worker"], context=context)
    logger.info("%s runs version %s", context.app.name, target_version)


def at_version(image: str, version: str) -> str:
    """Return the image at another version: without its digest, and with another tag."""
    name = image.split("@", 1)[0]
    repository, separator, tag = name.rpartition(":")
    # A ":" that a "/" follows is that of a registry's port, and not of a tag.
    base = repository if separator and "/" not in tag else name
    return f"{base}:{version}"
