"""What happens around a backup and a restore of the notes.

The dump and the copy of the files are Slipway's own work, by the components' strategies.
Actions are for what only the driver knows.
"""

from prefect import flow, get_run_logger
from slipway.actions import GlobalContext, execute_commands, get_component_images

PSQL = """
export PGPASSWORD="$POSTGRES_PASSWORD"
exec psql -X -v ON_ERROR_STOP=1 -h "$1" -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "$2"
"""


async def _query(sql: str, context: GlobalContext) -> None:
    images = await get_component_images(component="database", context=context)
    await execute_commands(
        ["sh", "-c", PSQL, "psql", f"{context.instance.helm_release}-database", sql],
        image=images[0],
        context=context,
        env_from_component="database",
        timeout=240,
    )


@flow
async def checkpoint(context: GlobalContext) -> None:
    """Have the database write down what it holds in memory."""
    if (backup := context.backup) is not None:
        get_run_logger().info("backup %s goes to %s: %s", backup.id, backup.location_ref, backup.path)
    await _query("CHECKPOINT", context)


@flow
async def check_restore(context: GlobalContext) -> None:
    """See that the database answers, before anybody calls the restore a success."""
    await _query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", context)
