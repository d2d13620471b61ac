"""Read action functions with ast: nothing of the bundle is imported or run.

Standard input: [{"file": "actions.py", "function": "upgrade"}, ...], files relative to
the current folder. Standard output: {"functions": [...], "problems": [...]}.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator

LARGEST = 1 << 20  # a megabyte of Python is not an action; the parser needs some 100 times that
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef)
HOW = 'write @flow above it, with "from prefect import flow" at the top'


class Fault(Exception):
    """What is wrong with a file, for its author; line 0 means the whole file."""

    def __init__(self, message: str, at: ast.expr | ast.stmt | ast.arg | None = None) -> None:
        super().__init__(message)
        self.line, self.column = (at.lineno, at.col_offset + 1) if at else (0, 0)


def read(file: str) -> ast.Module:
    """Parse one file of the bundle."""
    path, bundle = os.path.realpath(file), os.path.realpath(".")
    if os.path.commonpath([path, bundle]) != bundle:
        raise Fault(f"{file} is outside the bundle")
    if not os.path.isfile(path):
        raise Fault(f"the bundle has no file {file}")
    if os.path.getsize(path) > LARGEST:
        raise Fault(f"{file} is larger than {LARGEST >> 20} MiB")
    try:
        with open(path, "rb") as f:
            return ast.parse(f.read(), file)
    except SyntaxError as e:
        fault = Fault(e.msg)
        fault.line, fault.column = e.lineno or 0, e.offset or 0
        raise fault from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise Fault(f"cannot be parsed: {e or type(e).__name__}") from None


def flow_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that mean prefect.flow, and those that mean the module prefect."""
    flows: set[str] = set()
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("prefect", "prefect.flows", "prefect.main"):
            flows.update(a.asname or a.name for a in node.names if a.name == "flow")
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name == "prefect":
                    modules.add(a.asname or a.name)
                elif a.name.startswith("prefect.") and not a.asname:
                    modules.add("prefect")
    return flows, modules


def is_flow(decorator: ast.expr, flows: set[str], modules: set[str]) -> bool:
    """Say whether a decorator is Prefect's flow, with or without arguments."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Name):
        return decorator.id in flows
    return (
        isinstance(decorator, ast.Attribute)
        and decorator.attr == "flow"
        and isinstance(decorator.value, ast.Name)
        and decorator.value.id in modules
    )


def find(tree: ast.Module, name: str) -> ast.stmt | None:
    """Return the last top-level definition of the name, as an import would leave it."""
    found: ast.stmt | None = None
    for node in tree.body:
        if isinstance(node, (*DEFINITION, ast.ClassDef)):
            if node.name == name:
                found = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                found = node
    return found


def parameters(args: ast.arguments) -> Iterator[tuple[ast.arg, bool]]:
    """Yield each parameter that can be given by name, and whether it must be."""
    if args.posonlyargs:
        a = args.posonlyargs[0]
        raise Fault(f"parameter {a.arg} can only be given by position, and actions are called by name: remove the /", a)
    required = len(args.args) - len(args.defaults)
    for i, a in enumerate(args.args):
        yield a, i < required
    for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield a, default is None


def inspect(file: str, name: str) -> dict[str, object]:
    """Return the facts of one function."""
    tree = read(file)
    node = find(tree, name)
    if node is None:
        others = ", ".join([n.name for n in tree.body if isinstance(n, DEFINITION)][:10])
        raise Fault(f"there is no function {name}" + (f"; there is {others}" if others else ""))
    if not isinstance(node, DEFINITION):
        raise Fault(f"{name} is not a function: write it as a def with @flow above it", node)
    flows, modules = flow_names(tree)
    if not any(is_flow(d, flows, modules) for d in node.decorator_list):
        raise Fault(f"{name} is not a Prefect flow: {HOW}", node)
    return {
        "file": file,
        "function": name,
        "line": node.lineno,
        "is_async": isinstance(node, ast.AsyncFunctionDef),
        "doc": (ast.get_docstring(node) or "").split("\n\n")[0],
        "parameters": [
            {"name": a.arg, "required": r, "annotation": ast.unparse(a.annotation) if a.annotation else ""}
            for a, r in parameters(node.args)
        ],
        "any_keyword": node.args.kwarg is not None,
    }


def main() -> None:
    """Answer for every location that is asked for."""
    functions: list[dict[str, object]] = []
    problems: list[dict[str, object]] = []
    for at in json.load(sys.stdin):
        try:
            functions.append(inspect(at["file"], at["function"]))
        except Fault as e:
            problems.append({"file": at["file"], "line": e.line, "column": e.column, "message": str(e)})
    json.dump({"functions": functions, "problems": problems}, sys.stdout)


if __name__ == "__main__":
    main()
