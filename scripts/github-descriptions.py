#!/usr/bin/env python3
"""Takes what the tests need of GitHub's own descriptions out of Octokit's packages.

    scripts/github-descriptions.py    (needs npm; writes the testdata of internal/webhook
                                       and internal/outside/forge/github)

The packages are MIT-licensed; their versions and licence stand in the README beside the data.
What is kept is as published: only other paths, schemas and examples are left out.
"""
import gzip, io, json, pathlib, subprocess, tarfile, tempfile

OPENAPI, EXAMPLES, SCHEMAS = "@octokit/openapi@23.0.2", "@octokit/webhooks-examples@7.6.1", "@octokit/webhooks-schemas@7.6.1"
ROOT = pathlib.Path(__file__).resolve().parent.parent

SCOPED = ["actions/runners", "actions/runners/downloads", "actions/runners/generate-jitconfig", "actions/runners/{runner_id}", "hooks", "hooks/{hook_id}/deliveries",
          "hooks/{hook_id}/deliveries/{delivery_id}/attempts", "installation"]
PATHS = ["/orgs/{org}/" + p for p in SCOPED] + ["/repos/{owner}/{repo}/" + p for p in SCOPED] + [
    "/orgs/{org}/actions/runner-groups", "/repos/{owner}/{repo}/actions/runs", "/repos/{owner}/{repo}/actions/runs/{run_id}",
    "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs",
    "/repos/{owner}/{repo}/actions/jobs/{job_id}", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs",
    "/repos/{owner}/{repo}/actions/jobs/{job_id}/rerun", "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
    "/app", "/app-manifests/{code}/conversions", "/app/hook/deliveries", "/app/hook/deliveries/{delivery_id}/attempts", "/app/installations/{installation_id}/access_tokens",
    "/users/{username}/installation",
]


def package(name):
    with tempfile.TemporaryDirectory() as tmp:
        file = subprocess.run(["npm", "pack", "--silent", name], cwd=tmp, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(pathlib.Path(tmp) / file) as t:
            return {m.name: t.extractfile(m).read() for m in t if m.isfile() and m.name in WANTED}


WANTED = {"package/generated/api.github.com.json", "package/generated/ghes-3.17.json", "package/api.github.com/index.json", "package/schema.json"}


def references(x):
    if isinstance(x, dict):
        for k, v in x.items():
            if k == "$ref" and isinstance(v, str):
                yield v
            else:
                yield from references(v)
    elif isinstance(x, list):
        for v in x:
            yield from references(v)


def closure(document, start):
    """All that start refers to, directly or not."""
    found, todo = set(), list(references(start))
    while todo:
        ref = todo.pop()
        if ref in found:
            continue
        found.add(ref)
        at = document
        for part in ref.removeprefix("#/").split("/"):
            at = at[part]
        todo += references(at)
    return found


def without_examples(x):
    if isinstance(x, dict):
        return {k: without_examples(v) for k, v in x.items() if k not in ("examples", "example", "x-github", "externalDocs") or k == "properties"}
    if isinstance(x, list):
        return [without_examples(v) for v in x]
    return x


def write(path, data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as z:
        z.write(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())
    (ROOT / path).write_bytes(out.getvalue())
    print(path, len(out.getvalue()), "bytes")


def main():
    descriptions = package(OPENAPI)
    for name in ("api.github.com", "ghes-3.17"):
        api = json.loads(descriptions[f"package/generated/{name}.json"])
        kept = {"openapi": api["openapi"], "info": api["info"], "paths": {p: without_examples(api["paths"][p]) for p in PATHS}, "components": {}}
        for ref in closure(api, kept["paths"]):
            _, kind, part = ref.removeprefix("#/").split("/")
            if kind != "examples":
                kept["components"].setdefault(kind, {})[part] = without_examples(api["components"][kind][part])
        write(f"internal/outside/forge/github/testdata/{name}.json.gz", kept)

    examples = {e["name"]: e["examples"] for e in json.loads(package(EXAMPLES)["package/api.github.com/index.json"])}
    write("internal/webhook/testdata/examples.json.gz", {n: examples[n] for n in ("workflow_job", "workflow_run", "ping", "check_run")})

    schema = json.loads(package(SCHEMAS)["package/schema.json"])
    d = schema["definitions"]
    names = {n for n in d if n.startswith("workflow_job$")} | {"workflow_run$completed", "ping$event"}
    names |= {r.removeprefix("#/definitions/") for r in closure(schema, [d[n] for n in names])}
    write("internal/webhook/testdata/schemas.json.gz", {"$schema": schema["$schema"], "definitions": {n: d[n] for n in names}})


if __name__ == "__main__":
    main()
