"""World: a fake API on loopback. What the primitives send, and how they take bad answers."""

from __future__ import annotations

import inspect
import re

import pytest

import styrmin_backend.actions
from slipway import _calls, actions
from slipway.actions import (
    ActionError,
    GlobalContext,
    execute_commands,
    get_component_images,
    start_components,
    stop_components,
    upgrade_deployment_version,
)

from .conftest import TOKEN, FakeSlipway

DONE = {"id": 5, "state": "succeeded", "result": {}}


async def test_stop_sends_names_once_each_with_step_and_key(api: FakeSlipway, context: GlobalContext) -> None:
    api.answers = [(202, {"id": 5, "state": "running"}), (200, DONE)]
    await stop_components(components=["worker", "web", "worker"], context=context)
    first, second = api.requests
    assert first["path"] == "/api/v1/action-calls"
    assert first["body"] == {"primitive": "stop_components", "arguments": {"components": ["worker", "web"]}}
    assert first["headers"]["Authorization"] == f"Bearer {TOKEN}"
    assert first["headers"]["X-Slipway-Step"] == "9"
    assert first["headers"]["Idempotency-Key"] == "run-1/1/1"
    assert second["path"] == "/api/v1/action-calls/5?wait=25"


async def test_calls_of_one_run_are_numbered(api: FakeSlipway, context: GlobalContext) -> None:
    api.answers = [(200, DONE), (200, DONE), (200, DONE)]
    await start_components(["worker"], context)
    await upgrade_deployment_version("1.1.0", context)
    await execute_commands(["app", "migrate"], image="r/app:1", context=context, env_from_component="web", timeout=5)
    assert [r["headers"]["Idempotency-Key"] for r in api.requests] == ["run-1/1/1", "run-1/1/2", "run-1/1/3"]
    assert api.requests[2]["body"]["arguments"] == {
        "commands": ["app", "migrate"],
        "image": "r/app:1",
        "env_from_component": "web",
        "timeout_seconds": 5.0,
    }


async def test_images_are_returned_in_order(api: FakeSlipway, context: GlobalContext) -> None:
    api.answers = [(200, {"id": 1, "state": "succeeded", "result": {"images": ["a:1", "b:2"]}})]
    assert await get_component_images(component="web", context=context) == ["a:1", "b:2"]


async def test_a_lost_reply_is_asked_again_under_the_same_key(api: FakeSlipway, context: GlobalContext) -> None:
    api.answers = [(0, None), (503, {}), (200, DONE)]
    await stop_components(["worker"], context)
    assert {r["headers"]["Idempotency-Key"] for r in api.requests} == {"run-1/1/1"}
    assert len(api.requests) == 3


async def test_the_next_address_is_tried_when_one_is_gone(
    api: FakeSlipway, context: GlobalContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLIPWAY_URL", f"http://127.0.0.1:9,{api.url}/")
    api.answers = [(200, DONE)]
    await stop_components(["worker"], context)
    assert len(api.requests) == 1


async def test_nobody_answers(context: GlobalContext, api: FakeSlipway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(_calls, "UNREACHABLE_AFTER", 0.3)
    with pytest.raises(ActionError) as caught:
        await stop_components(["worker"], context)
    assert caught.value.code == "api_unreachable"
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "code", "text"),
    [
        (
            401,
            {"detail": "user slipway-actions is deactivated", "hint": "an administrator can activate it under Users"},
            "api_refused",
            "the Slipway API refused the action: user slipway-actions is deactivated "
            "(an administrator can activate it under Users)",
        ),
        (403, {"title": "Forbidden"}, "api_refused", "the Slipway API refused the action: Forbidden"),
        (422, {"detail": "components: empty"}, "invalid_argument", "components: empty"),
        (409, {"detail": "no", "code": "job_running"}, "job_running", "no"),
    ],
)
async def test_a_refusal_keeps_its_words(
    api: FakeSlipway, context: GlobalContext, status: int, body: dict[str, str], code: str, text: str
) -> None:
    api.answers = [(status, body)]
    with pytest.raises(ActionError, match=re.escape(text)) as caught:
        await stop_components(["worker"], context)
    assert caught.value.code == code


async def test_a_failed_call_raises_its_code(api: FakeSlipway, context: GlobalContext) -> None:
    api.answers = [(200, {"id": 1, "state": "failed", "code": "job_failed", "error": "the command failed"})]
    with pytest.raises(ActionError, match="the command failed") as caught:
        await execute_commands(["x"], image="i", context=context)
    assert caught.value.code == "job_failed"


@pytest.mark.parametrize("commands", [[], "app migrate", [["app", "migrate"]], ["app", 1], [""], None])
async def test_commands_is_one_argv(api: FakeSlipway, context: GlobalContext, commands: object) -> None:
    with pytest.raises(ActionError) as caught:
        await execute_commands(commands, image="i", context=context)  # type: ignore[arg-type]
    assert caught.value.code == "invalid_argument"
    assert api.requests == []


@pytest.mark.parametrize("components", [[], "worker", None, [1], [""]])
async def test_components_is_a_list_of_names(api: FakeSlipway, context: GlobalContext, components: object) -> None:
    with pytest.raises(ActionError) as caught:
        await stop_components(components, context)  # type: ignore[arg-type]
    assert caught.value.code == "invalid_argument"


async def test_outside_an_action(context: GlobalContext, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLIPWAY_TOKEN", "STYRMIN_TOKEN", "SLIPWAY_URL", "SLIPWAY_STEP"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ActionError, match="works only inside an action"):
        await stop_components(["worker"], context)


async def test_the_older_variable_serves_too(
    api: FakeSlipway, context: GlobalContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STYRMIN_TOKEN", TOKEN)
    monkeypatch.delenv("SLIPWAY_TOKEN")
    api.answers = [(200, DONE)]
    await stop_components(["worker"], context)
    assert api.requests[0]["headers"]["Authorization"] == f"Bearer {TOKEN}"


def test_the_older_package_is_the_same_functions() -> None:
    for name in actions.__all__:
        assert getattr(styrmin_backend.actions, name) is getattr(actions, name)


def test_the_call_of_the_reference_fits_the_signature() -> None:
    bound = inspect.signature(execute_commands).bind(
        ["infrahub", "db", "migrate"], image="r/i:1", context=None, env_from_component="server"
    )
    assert bound.arguments["commands"] == ["infrahub", "db", "migrate"]
