"""World: pure. The action that the first reference prints, and what it does with an image."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

REFERENCE = Path(__file__).parents[2] / "examples" / "drivers" / "reference" / "actions.py"


@pytest.fixture(scope="module")
def actions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_actions", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("now", "base"),
    [
        ("reg:5000/a/b", "reg:5000/a/b"),
        ("reg:5000/a/b:1", "reg:5000/a/b"),
        ("a/b@sha256:9f86d081", "a/b"),
        ("a/b:1@sha256:9f86d081", "a/b"),
        ("b", "b"),
        ("b:1", "b"),
    ],
)
async def test_its_image_has_another_version(
    actions: ModuleType, monkeypatch: pytest.MonkeyPatch, now: str, base: str
) -> None:
    called: list[str] = []

    async def images(component: str, context: object) -> list[str]:
        return [now, "sidecar:1"]

    async def execute(commands: list[str], *, image: str, context: object, env_from_component: str) -> None:
        called.append(image)

    async def nothing(**_: object) -> None:
        called.append("")

    class Log:
        def info(self, *_: object) -> None:
            pass

    monkeypatch.setattr(actions, "get_run_logger", Log)
    monkeypatch.setattr(actions, "get_component_images", images)
    monkeypatch.setattr(actions, "execute_commands", execute)
    for name in ("stop_components", "start_components", "upgrade_deployment_version"):
        monkeypatch.setattr(actions, name, nothing)
    await actions.upgrade.fn(context=None, target_version="1.6.0")
    assert called == ["", "", f"{base}:1.6.0", ""]


def test_it_is_the_references_own_text(actions: ModuleType) -> None:
    source = inspect.getsource(actions.upgrade.fn)
    assert 'name = images[0].split("@", 1)[0]' in source
    assert "from styrmin_backend.actions import (" in REFERENCE.read_text()
