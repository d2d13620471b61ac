"""World: a fake API on loopback. What the client sends, reads and raises."""

from __future__ import annotations

import inspect
import pickle
import re
import ssl
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel

from slipway import client as client_module
from slipway import models
from slipway.client import ApiError, AsyncClient, Client, TaskFailedError

from .conftest import TOKEN, FakeSlipway

APPLICATION: dict[str, Any] = {
    "id": 7, "project": "shop", "environment": "dev", "name": "guestbook", "kind": "driver", "namespace": "shop-dev",
    "state": "running", "revision": 3, "applied": 3, "app_version": "1.1.0", "driver_name": "guestbook",
    "driver_version": "1.0.0", "last_change": 3, "a_field_of_tomorrow": 1,
    "components": [{"name": "worker", "stopped": True, "stopped_by_task": 41}],
}  # fmt: skip


def task(state: str = "running", **more: Any) -> dict[str, Any]:
    return {
        "id": 42, "kind": "stop-components", "type": "Stop components", "title": "stop worker of guestbook",
        "application_id": 7, "application": "shop/dev/guestbook", "root_id": 41, "state": state,
        "requested_by": "slipway-actions", "version": "v1", **more,
    }  # fmt: skip


@pytest.fixture
def slipway(api: FakeSlipway) -> Client:
    return Client(patience=0.5)


def test_it_is_authenticated_as_the_action_and_links_nothing(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(202, {"application_id": 7, "application": "shop/dev/guestbook", "kind": "stop-components",
                          "task": task("queued")})]  # fmt: skip
    accepted = slipway.stop_components(7, ["worker"])
    assert (accepted.task.id, accepted.task.state, accepted.task.over) == (42, "queued", False)
    (sent,) = api.requests
    assert sent["path"] == "/api/v1/applications/7/components/stop"
    assert sent["body"] == {"components": ["worker"]}
    assert sent["headers"]["Authorization"] == f"Bearer {TOKEN}"
    assert "X-Slipway-Step" not in sent["headers"]
    assert re.fullmatch(r"[0-9a-f-]{36}", sent["headers"]["Idempotency-Key"])


def test_a_lost_answer_is_asked_for_again_under_the_same_key(api: FakeSlipway, slipway: Client) -> None:
    done = {"application_id": 7, "application": "a/b/c", "kind": "start-components", "task": task()}
    api.answers = [(0, None), (503, {}), (202, done)]
    slipway.start_components(7, ["worker"])
    assert len(api.requests) == 3
    assert len({r["headers"]["Idempotency-Key"] for r in api.requests}) == 1


def test_a_key_of_the_callers_is_kept(api: FakeSlipway, slipway: Client) -> None:
    done = {"application_id": 7, "application": "a/b/c", "kind": "upgrade", "change": 4, "revision": 4, "task": task()}
    api.answers = [(202, done)]
    accepted = slipway.deploy("shop/dev", "name = 'x'", expected_revision=3, key="nightly-1")
    assert (accepted.change, accepted.revision) == (4, 4)
    (sent,) = api.requests
    assert sent["path"] == "/api/v1/environments/shop/dev/applications"
    assert sent["body"] == {"spec": "name = 'x'", "expected_revision": 3, "overtake": False}
    assert sent["headers"]["Idempotency-Key"] == "nightly-1"


def test_an_application_is_found_by_its_name(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(200, {"items": [APPLICATION]}), (200, APPLICATION)]
    found = slipway.application("shop/dev/guestbook")
    assert found.ref == "shop/dev/guestbook"
    assert found.components[0].stopped_by_task == 41
    assert api.requests[0]["path"] == "/api/v1/applications?project=shop&environment=dev&name=guestbook&limit=200"
    assert api.requests[1]["path"] == "/api/v1/applications/7"
    api.answers = [(200, {"items": []})]
    with pytest.raises(ApiError, match="there is no application shop/dev/other") as caught:
        slipway.application("shop/dev/other")
    assert caught.value.code == "not_found"
    with pytest.raises(ApiError, match="project/environment/name"):
        slipway.application("guestbook")


def test_listings_are_read_to_their_end_or_their_limit(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(200, {"items": [APPLICATION], "next_cursor": "c1"}), (200, {"items": [APPLICATION]})]
    assert len(slipway.applications()) == 2
    assert api.requests[1]["path"].endswith("cursor=c1")
    api.answers = [
        (200, {"items": [task(), task()], "next_cursor": "c2"}),
        (200, {"items": [task()], "next_cursor": "c3"}),
    ]
    assert len(slipway.tasks(7, open_only=True, limit=3)) == 3
    assert api.requests[2]["path"] == "/api/v1/tasks?application=7&open=true&limit=3"
    assert api.requests[3]["path"] == "/api/v1/tasks?application=7&open=true&limit=1&cursor=c2"


def test_secrets_have_names_and_no_values(api: FakeSlipway, slipway: Client) -> None:
    page = {"items": [{"name": "db", "version": 2, "updated_by": "anna", "used_by": ["guestbook"]}]}
    api.answers = [(200, page)]
    assert slipway.secret_names("shop/dev") == ["db"]
    assert api.requests[0]["path"] == "/api/v1/environments/shop/dev/secrets"
    assert "value" not in models.Secret.model_fields


def test_waiting_asks_for_news_until_the_end(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(200, task()), (200, task(version="v2")), (0, None), (200, task("succeeded"))]
    assert slipway.wait(42).succeeded
    assert [r["path"] for r in api.requests] == [
        "/api/v1/tasks/42",
        "/api/v1/tasks/42?seen=v1&wait=25",
        "/api/v1/tasks/42?seen=v2&wait=25",
        "/api/v1/tasks/42?seen=v2&wait=25",
    ]


def test_a_task_that_failed_is_raised_unless_that_is_fine(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(200, task("failed", error="pods are left")), (200, task("failed", error="pods are left"))]
    with pytest.raises(TaskFailedError, match=r"task 42 \(stop worker of guestbook\) failed: pods are left") as caught:
        slipway.wait(42)
    assert (caught.value.task_id, caught.value.state) == (42, "failed")
    assert slipway.wait(42, check=False).error == "pods are left"


def test_waiting_has_a_limit(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(200, task())]
    with pytest.raises(TimeoutError, match="task 42"):
        slipway.wait(42, timeout=0)


def test_a_refusal_keeps_its_words_and_its_places(api: FakeSlipway, slipway: Client) -> None:
    problem = {
        "kind": "unauthenticated", "detail": "user slipway-actions is deactivated", "status": 401,
        "hint": "an administrator can activate it under Users", "request_id": "r1", "fields": [{"path": "body.x"}],
    }  # fmt: skip
    api.answers = [(401, problem)]
    with pytest.raises(ApiError) as caught:
        slipway.whoami()
    err = caught.value
    assert (err.code, err.status, err.request_id, err.fields) == ("unauthenticated", 401, "r1", [{"path": "body.x"}])
    assert str(err) == "user slipway-actions is deactivated (an administrator can activate it under Users)"
    again = pickle.loads(pickle.dumps(err))
    assert (again.code, again.hint, str(again)) == (err.code, err.hint, str(err))


def test_an_answer_that_is_no_problem_is_named_by_its_status(api: FakeSlipway, slipway: Client) -> None:
    api.answers = [(418, ["tea"])]
    with pytest.raises(ApiError, match="status 418"):
        slipway.whoami()


def test_nobody_answers(api: FakeSlipway) -> None:
    with pytest.raises(ApiError) as caught, Client(url="http://127.0.0.1:9", patience=0.3) as slipway:
        slipway.whoami()
    assert caught.value.code == "unreachable"
    assert TOKEN not in str(caught.value)


def test_the_next_address_is_tried(api: FakeSlipway) -> None:
    api.answers = [(200, {"user": "anna", "role": "read-only"})]
    with Client(url=f"http://127.0.0.1:9, {api.url}/") as slipway:
        assert slipway.whoami().user == "anna"


def test_what_is_not_configured_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLIPWAY_TOKEN", "STYRMIN_TOKEN", "SLIPWAY_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ApiError, match="SLIPWAY_URL"):
        Client(token=TOKEN)
    with pytest.raises(ApiError, match="SLIPWAY_TOKEN"):
        Client(url="http://127.0.0.1:9")
    monkeypatch.setenv("STYRMIN_TOKEN", TOKEN)  # the older name serves too
    assert TOKEN not in repr(Client(url="http://127.0.0.1:9"))


def test_the_authority_is_that_of_the_action(api: FakeSlipway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate\n")
    monkeypatch.setenv("SLIPWAY_CA_FILE", str(tmp_path / "ca.pem"))
    with pytest.raises(ssl.SSLError):
        Client()


async def test_the_other_client_awaits(api: FakeSlipway) -> None:
    api.answers = [
        (200, {"items": [APPLICATION]}),
        (200, APPLICATION),
        (0, None),
        (200, task()),
        (200, task("succeeded")),
    ]
    async with AsyncClient() as slipway:
        assert (await slipway.application("shop/dev/guestbook")).id == 7
        assert (await slipway.wait(42)).succeeded


def test_both_clients_can_do_the_same() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") and name not in ("close", "aclose")
        }

    assert methods(Client) == methods(AsyncClient)
    assert set(client_module.__all__) >= {"Client", "AsyncClient", "ApiError"}


def test_the_models_are_those_of_the_api() -> None:
    contract = yaml.safe_load((Path(__file__).parents[2] / "contract" / "openapi.yaml").read_text())
    schemas = contract["components"]["schemas"]
    names: dict[type[BaseModel], str] = {
        models.Caller: "Whoami",
        models.Application: "Application", models.Component: "ApplicationComponent", models.Task: "Task",
        models.Step: "Step", models.StepOutput: "StepOutput", models.LinkedTask: "LinkedTask",
        models.ActionRun: "ActionRun", models.StartedBy: "StartedBy", models.Output: "Output",
        models.Accepted: "Accepted", models.Plan: "Plan", models.Secret: "Secret",
    }  # fmt: skip
    for model, name in names.items():
        described = set(schemas[name]["properties"])
        assert set(model.model_fields) <= described, name
        required = {f for f, info in model.model_fields.items() if info.is_required()}
        assert required <= set(schemas[name]["required"]), f"{name} may come without a field that we need"
    assert set(get_args(models.TaskState)) == set(schemas["Task"]["properties"]["state"]["enum"])
