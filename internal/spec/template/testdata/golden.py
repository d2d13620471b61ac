"""Render the corpus with real Jinja2, for the Go tests to compare with.

    python3 -m venv /tmp/jinja && /tmp/jinja/bin/pip install jinja2==3.1.6
    /tmp/jinja/bin/python golden.py

Writes golden.json: for each case the output, or the kind of error that Jinja2 raises.
"""

import base64
import json
import pathlib
import tomllib

import jinja2

HERE = pathlib.Path(__file__).parent


def to_json(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
environment.filters.update(
    to_json=to_json,
    to_yaml=to_json,  # the cases with to_yaml are compared as YAML, not as text
    quote=lambda value: json.dumps(str(value), ensure_ascii=False),
    b64encode=lambda value: base64.b64encode(str(value).encode()).decode(),
    b64decode=lambda value: base64.b64decode(value).decode(errors="replace"),
)

context = json.loads((HERE / "context.json").read_text(), object_pairs_hook=lambda pairs: dict(sorted(pairs)))
golden = {"jinja2": jinja2.__version__, "cases": {}}
for case in tomllib.loads((HERE / "corpus.toml").read_text())["case"]:
    name = case["name"]
    assert name not in golden["cases"], name
    try:
        golden["cases"][name] = {"output": environment.from_string(case["template"]).render(context)}
    except Exception as error:  # noqa: BLE001 - every error is a result here
        golden["cases"][name] = {"error": type(error).__name__}
(HERE / "golden.json").write_text(json.dumps(golden, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
print(len(golden["cases"]), "cases")
