"""World: pure. How the context is read, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from slipway.actions import GlobalContext


def test_a_reference_loads_the_file_it_means(
    tmp_path: Path, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = json.dumps(document).encode()
    (tmp_path / "context.json").write_bytes(raw)
    monkeypatch.setenv("SLIPWAY_CONTEXT_FILE", str(tmp_path / "context.json"))
    digest = "sha256:" + hashlib.sha256(raw).hexdigest()
    context = GlobalContext.model_validate({"schema": 1, "ref": "ctx_1", "digest": digest})
    assert context.app.version == "1.1.0"
    secret = context.components["web"].env["URL"].secret_ref
    assert secret is not None
    assert secret.key == "db"


def test_another_file_than_the_one_meant_is_refused(
    tmp_path: Path, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "context.json").write_text(json.dumps(document))
    monkeypatch.setenv("SLIPWAY_CONTEXT_FILE", str(tmp_path / "context.json"))
    with pytest.raises(ValidationError, match="has digest"):
        GlobalContext.model_validate({"schema": 1, "ref": "ctx_1", "digest": "sha256:00"})


def test_a_newer_schema_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="reads up to 1"):
        GlobalContext.model_validate({**document, "schema_version": 2})


def test_it_is_frozen_and_survives_a_round_trip(context: GlobalContext) -> None:
    with pytest.raises(ValidationError):
        context.app.version = "2.0.0"
    assert GlobalContext.model_validate_json(context.model_dump_json()) == context


def test_a_reference_outside_an_action_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPWAY_CONTEXT_FILE", raising=False)
    with pytest.raises(ValidationError, match="SLIPWAY_CONTEXT_FILE is not set"):
        GlobalContext.model_validate({"schema": 1, "ref": "ctx_1", "digest": "sha256:00"})
