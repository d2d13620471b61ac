"""An action that notes when its first line runs. For measuring."""

import time
from pathlib import Path

from prefect import flow

from slipway.actions import GlobalContext


@flow
async def note(context: GlobalContext) -> None:
    now = time.time_ns()
    Path(context.parameters["clock_file"]).write_text(str(now))
