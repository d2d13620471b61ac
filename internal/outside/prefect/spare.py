"""A warm spare: one interpreter that has imported Prefect and waits for one flow run.

Slipway starts it with a pipe as standard input and another as descriptor 3. It says
"ready", and reads one line of JSON: {"env": {...}, "dir": "...", "output": "..."}. It
takes over that environment, that folder and that output file, says "taken", and becomes
what `python -m prefect.engine` is. The end of the input without a line is the end of
Slipway: a spare without a run ends with it, one that has a run lives on.

It is used once, so a driver's code shares nothing with another's.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import sys
import warnings
from collections.abc import Mapping
from typing import Any

# Found by comparing sys.modules at the end of a cold run with those of a spare.
WARM = (
    "prefect.main",
    "prefect.flow_engine",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "encodings.idna",
    "prefect._internal.metrics",
    "prefect._internal.observers",
    "prefect.events.clients",
    "prefect.events.worker",
    "prefect.logging.handlers",
    "pydantic.v1",
    "rich._emoji_codes",
    "slipway.actions",
    "styrmin_backend.actions",
)


def warm() -> None:
    """Import what the engine and an action import."""
    for name in WARM:
        # A name that moved costs time, and nothing else.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what Prefect reads its settings from: PREFECT__ names are not settings."""
    return {k: v for k, v in environment.items() if k.startswith("PREFECT_") and not k.startswith("PREFECT__")}


def take_over(job: dict[str, Any]) -> None:
    """Become a process that was started for the job."""
    before = settings_of(os.environ)
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["dir"])
    output = os.open(job["output"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(output)
    os.close(nothing)

    # Prefect read its settings when it was imported: from the environment, and from these
    # files in the current folder. To read them again takes 0.2 s, so only when it matters.
    if settings_of(os.environ) != before or any(map(os.path.exists, (".env", "prefect.toml", "pyproject.toml"))):
        from prefect.context import refresh_global_settings_context
        from prefect.logging.configuration import setup_logging

        refresh_global_settings_context()
        setup_logging(incremental=False)


def main() -> None:
    """Get ready, wait for the run, and become its engine."""
    say = os.fdopen(3, "w")
    os.set_inheritable(3, False)
    warm()
    gc.collect()
    gc.freeze()  # what was imported stays: no later collection needs to look at it
    say.write("ready\n")
    say.flush()

    line = sys.stdin.readline()
    if not line.endswith("\n"):
        return
    take_over(json.loads(line))
    say.write("taken\n")
    say.close()

    # The engine's few lines run once more under the name __main__, as -m would run them.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    sys.argv[:] = ["prefect.engine"]
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
