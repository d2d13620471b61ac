"""Actions that end in every way an action can end."""

import logging
import os
import signal
import subprocess
import sys
import time

from prefect import flow, get_run_logger, suspend_flow_run, task
from prefect.settings import PREFECT_API_URL, PREFECT_HOME


@flow
async def succeed(context: dict, target_version: str = "") -> None:
    get_run_logger().info("done by %d", os.getpid())


@flow
def report(context: dict) -> None:
    """Say what this process sees of its environment."""
    import prefect.settings

    settings = prefect.settings.get_current_settings()
    get_run_logger().info(
        "api=%s home=%s auth=%s token=%s legacy=%s cwd=%s batch=%s inherited=%s sid=%s",
        PREFECT_API_URL.value(),
        PREFECT_HOME.value(),
        bool(settings.api.auth_string),
        # Its length only: the token itself must not reach a log.
        len(os.environ.get("SLIPWAY_TOKEN", "")),
        len(os.environ.get("STYRMIN_TOKEN", "")),
        os.getcwd(),
        settings.logging.to_api.batch_interval,
        sorted(k for k in os.environ if k.startswith("SECRET_OF")),
        os.getsid(0) == os.getpid(),
    )


@flow
def fail(context: dict) -> None:
    raise ValueError("the migration table is locked")


@flow
def quit(context: dict) -> None:
    sys.exit(3)


@flow
def kill(context: dict) -> None:
    get_run_logger().info("about to be killed")
    os.kill(os.getpid(), signal.SIGKILL)


@flow
def kill_after_error(context: dict) -> None:
    get_run_logger().error("the disk is full")
    time.sleep(1.5)  # longer than the log's batch interval
    os.kill(os.getpid(), signal.SIGKILL)


@flow
def typed(context: dict, replicas: int) -> None:
    pass


@flow(timeout_seconds=1)
def slow_by_itself(context: dict) -> None:
    time.sleep(30)


@flow
def sleep(context: dict, seconds: float = 600) -> None:
    get_run_logger().info("sleeping")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)


@flow
def wait_for_file(context: dict, path: str) -> None:
    get_run_logger().info("waiting")
    while not os.path.exists(path):
        time.sleep(0.1)


@flow
def stubborn(context: dict) -> None:
    """Ignore SIGTERM, and leave a child that does as well."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
    get_run_logger().info("child %d", child.pid)
    time.sleep(600)


@flow
def leave_a_child(context: dict) -> None:
    child = subprocess.Popen(["sleep", "600"])
    get_run_logger().info("child %d", child.pid)


attempts = 0


@flow(retries=2, retry_delay_seconds=1)
def succeed_at_last(context: dict) -> None:
    global attempts
    attempts += 1
    if attempts < 3:
        raise RuntimeError(f"attempt {attempts}")


@task
def step(n: int) -> int:
    return n + 1


@flow
def with_tasks(context: dict) -> None:
    assert step(step(1)) == 3


@flow
def shout(context: dict) -> None:
    for i in range(20000):
        print(f"line {i:08d} " + "x" * 80)


@flow
def leak(context: dict) -> None:
    """Do with the token what it is for, and nothing else."""
    assert os.environ["SLIPWAY_TOKEN"]
    raise RuntimeError("the request was refused")


@flow
async def first_line(context: dict) -> None:
    print(f"FIRST {time.time():.6f} {time.process_time():.6f}")


@flow
def log_the_token(context: dict) -> None:
    logger = get_run_logger()
    token = os.environ["SLIPWAY_TOKEN"]
    logger.info("logged %s", token)
    logging.getLogger("a.library").warning("warned with %s", token)
    try:
        raise ValueError(f"refused {token}")
    except ValueError:
        logger.exception("error with %s", token)
    time.sleep(1.5)
    os.kill(os.getpid(), signal.SIGKILL)


@flow(persist_result=True)
def suspend(context: dict) -> None:
    suspend_flow_run(timeout=600)
