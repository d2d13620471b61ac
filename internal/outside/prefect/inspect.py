"""Read action functions with ast: nothing of the bundle is imported or run.

Standard input: [{"file": "actions.py", "function": "upgrade"}, ...], files relative to
the current folder. Standard output: {"functions": [...], "problems": [...]}.
"""

import ast
import json
import os
import sys

LARGEST = 1 << 20  # a megabyte of Python is not an action; the parser needs some 100 times that


class Fault(Exception):
    def __init__(self, message, line=0, column=0):
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def read(file):
    path = os.path.realpath(file)
    if os.path.commonpath([path, os.path.realpath(".")]) != os.path.realpath("."):
        raise Fault(f"{file} is outside the bundle")
    if not os.path.isfile(path):
        raise Fault(f"the bundle has no file {file}")
    if os.path.getsize(path) > LARGEST:
        raise Fault(f"{file} is larger than {LARGEST >> 20} MiB")
    try:
        with open(path, "rb") as f:
            return ast.parse(f.read(), file)
    except SyntaxError as e:
        raise Fault(f"{e.msg}", e.lineno or 0, e.offset or 0) from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise Fault(f"cannot be parsed: {e or type(e).__name__}") from None


def flow_names(tree):
    """The names that mean prefect.flow, and those that mean the module prefect."""
    flows, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "") in ("prefect", "prefect.flows", "prefect.main"):
            flows.update(a.asname or a.name for a in node.names if a.name == "flow")
        elif isinstance(node, ast.Import):
            modules.update(a.asname or "prefect" for a in node.names if a.name == "prefect" or (a.name.startswith("prefect.") and not a.asname))
    return flows, modules


def is_flow(decorator, flows, modules):
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


def find(tree, name):
    """The last top-level definition of the name, as an import would leave it."""
    found = None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            found = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                found = node
    return found


def parameters(args):
    for a in args.posonlyargs:
        raise Fault(f"parameter {a.arg} can only be given by position, and actions are called by name: remove the /", a.lineno, a.col_offset + 1)
    positional = args.args
    required = len(positional) - len(args.defaults)
    for i, a in enumerate(positional):
        yield a, i < required
    for a, default in zip(args.kwonlyargs, args.kw_defaults):
        yield a, default is None


def inspect(location):
    file, name = location["file"], location["function"]
    tree = read(file)
    node = find(tree, name)
    if node is None:
        names = [n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        raise Fault(f"there is no function {name}" + (f"; there is {', '.join(names[:10])}" if names else ""))
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise Fault(f"{name} is not a function: write it as a def with @flow above it", node.lineno, node.col_offset + 1)
    flows, modules = flow_names(tree)
    if not any(is_flow(d, flows, modules) for d in node.decorator_list):
        raise Fault(f"{name} is not a Prefect flow: write @flow above it, with \"from prefect import flow\" at the top", node.lineno, node.col_offset + 1)
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


answer = {"functions": [], "problems": []}
for location in json.load(sys.stdin):
    try:
        answer["functions"].append(inspect(location))
    except Fault as e:
        answer["problems"].append({"file": location["file"], "line": e.line, "column": e.column, "message": e.message})
json.dump(answer, sys.stdout)
