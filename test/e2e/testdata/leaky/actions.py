"""An action that says aloud whatever it can lay its hands on. For a test."""

import os
import sys
from pathlib import Path

from prefect import flow, get_run_logger

from slipway.actions import ActionError, GlobalContext, execute_commands, get_component_images


@flow(log_prints=True)
async def leak(context: GlobalContext) -> None:
    token = os.environ["SLIPWAY_TOKEN"]
    # The one place where the token is meant to be found: the test's own file.
    Path(context.parameters["token_file"]).write_text(token)
    logger = get_run_logger()
    logger.info("the token is %s", token)
    logger.error("and once more: %s", token)
    print("printed", token)
    sys.stderr.write(f"on standard error {token}\n")
    images = await get_component_images(component="web", context=context)
    try:
        # Kubernetes puts the password in the place of $(DATABASE_PASSWORD), and the program
        # complains of the flag that it does not know.
        await execute_commands(
            ["guestbook", "check", "--$(DATABASE_PASSWORD)"], image=images[0], context=context, env_from_component="web"
        )
    except ActionError as err:
        raise RuntimeError(f"with the token {token}: {err}") from err
