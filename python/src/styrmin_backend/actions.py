"""An older name of ``slipway.actions``, so that existing drivers run unchanged."""

from slipway.actions import (
    ActionError,
    GlobalContext,
    execute_commands,
    get_component_images,
    start_components,
    stop_components,
    upgrade_deployment_version,
)

__all__ = [
    "ActionError",
    "GlobalContext",
    "execute_commands",
    "get_component_images",
    "start_components",
    "stop_components",
    "upgrade_deployment_version",
]
