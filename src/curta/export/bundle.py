"""One file of Python that needs no Curta, put together from Curta's own source.

What travels with an exported model is therefore written once. Annotations are not evaluated in such
a file, and may name types that it does not define.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign

Imports = dict[str, tuple[str, str | None]]
"""The module that each imported name is from, and its name there; None for a module."""

REGISTERED = (
    "sys.modules.setdefault(__name__, types.ModuleType(__name__))  # dataclasses ask for it"
)


def bundled(module: str, *roots: str, constants: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the source of these functions of a module, and of all that they need of Curta.

    `constants` are the values of some names, as source.
    """
    needed: dict[tuple[str, str], Definition] = {}
    external = {"import sys", "import types"}
    queue = [(module, root) for root in roots]
    for place, name in queue:
        _, definitions, imports = _source(place)
        if name in definitions:
            node = needed[place, name] = definitions[name]
            names = {each.id for each in _nodes(node) if isinstance(each, ast.Name)}
            queue += sorted({(place, name) for name in names - constants.keys()} - {*queue})
        elif name in imports:
            origin, original = imports[name]
            if origin.startswith("curta.") and original:
                queue += [(origin, original)]
            elif original:
                external.add(f"from {origin} import {original}")
            else:
                external.add(f"import {origin}" + f" as {name}" * (name != origin))
    assert len({name for _, name in needed}) == len(needed), "two definitions of one name"
    docstring = ast.get_docstring(ast.parse(_source(module)[0]), clean=False)
    blocks = [f'"""{docstring}"""', "from __future__ import annotations"]
    blocks += ["\n".join(sorted(external, key=lambda line: (line.startswith("from"), line)))]
    blocks += [REGISTERED, "\n".join(f"{name} = {value}" for name, value in constants.items())]
    for place in reversed(dict.fromkeys(place for place, _ in needed)):
        lines, of_place = _source(place)[0].splitlines(), set[tuple[int, int]]()
        for (at, _), node in needed.items():
            decorators = [each.lineno for each in getattr(node, "decorator_list", ())]
            if at == place:
                of_place.add((min([node.lineno, *decorators]), node.end_lineno or 0))
        blocks += ["\n".join(lines[first - 1 : last]) for first, last in sorted(of_place)]
    text = "\n\n\n".join(filter(None, blocks)) + "\n"
    assert not re.search(r"^ *(from|import) curta\b", text, re.MULTILINE), "a late import"
    return text


@cache
def _source(module: str) -> tuple[str, dict[str, Definition], Imports]:
    """Return the text of a module, and what its names stand for."""
    spec = importlib.util.find_spec(module)
    assert spec
    assert spec.origin
    text = Path(spec.origin).read_text("utf-8")
    definitions, imports = dict[str, Definition](), Imports()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            definitions.update(dict.fromkeys(names, node))
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports.update({a.asname or a.name: (node.module, a.name) for a in node.names})
        elif isinstance(node, ast.Import):
            imports.update({a.asname or a.name: (a.name, None) for a in node.names})
    return text, definitions, imports


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all in it, except annotations."""
    yield node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                yield from _nodes(child)
