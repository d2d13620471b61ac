"""Runs actions one after another for a test: imports Prefect once, and forks for each.

Slipway starts it with a pipe as standard input and another as descriptor 3. It says
"ready", then reads jobs, each a line of JSON as a warm spare gets it. For each it forks;
the child becomes the engine of that one run, so no action shares anything with another.
It says the child's process id and, when it has ended, its exit code (of a signal: its
number below zero), as lines of JSON.
"""

import contextlib
import gc
import json
import os
import runpy
import sys
import warnings

spare = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spare.py"), run_name="spare")


def without_events() -> None:
    """Send no events and no heartbeats: nobody reads them, and each ends a second late."""
    with contextlib.suppress(ImportError):
        from prefect.events import utilities

        utilities.should_emit_events = lambda: False
    with contextlib.suppress(ImportError, AttributeError):
        from prefect.flow_engine import BaseFlowRunEngine

        BaseFlowRunEngine.heartbeat_seconds = None


def engine() -> None:
    """Be what `python -m prefect.engine` is."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    sys.argv[:] = ["prefect.engine"]
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)


def main() -> None:
    """Serve until the input ends."""
    say = os.fdopen(3, "w", buffering=1)
    os.set_inheritable(3, False)
    spare["warm"]()
    without_events()
    gc.collect()
    gc.freeze()
    say.write("ready\n")
    while line := sys.stdin.readline():
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.setsid()  # so that it is ended with its children
            say.close()
            spare["take_over"](job)
            engine()
            return
        say.write(json.dumps({"pid": pid}) + "\n")
        _, status = os.waitpid(pid, 0)
        say.write(json.dumps({"exit": os.waitstatus_to_exitcode(status)}) + "\n")


if __name__ == "__main__":
    main()
