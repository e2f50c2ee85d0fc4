"""How many faults does the suite catch? Plants some in a copy of the source, and runs its tests.

    python -m tests.plant_faults --faults 60 --seed 0 --out faults.json

A fault is a small change of one expression or statement of src/curta, of the kinds in `KINDS`,
each as often as the others. It is caught if a test fails that passes without it, or if the tests
do not end. Quick tests that name the changed module or lie in its folder run; with `--all` all
others follow, beginning with those at the top of tests; with `--slow` the slow ones run instead.
With `--out FILE` a later call goes on where this one stopped; `--only FILE` tries what survived
there.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip
KINDS = ("off by one", "sign", "comparison", "axis", "constant", "check", "arguments")


@dataclass(frozen=True)
class Fault:
    """A piece of a file, and what stands there instead."""

    kind: str
    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


def faults_of(path: Path) -> Iterator[Fault]:
    """Yield every fault that can be planted in a file."""
    source = path.read_text("utf-8")
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node, kind, instead in _changes(ast.parse(source)):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        after = "pass" if instead is None else ast.unparse(instead)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.Call):
            after = f"({after})"
        yield Fault(kind, path.relative_to(ROOT).as_posix(), node.lineno, start, end, before, after)


def _changes(tree: ast.AST) -> Iterator[tuple[Any, str, ast.AST | None]]:
    """Yield nodes of code that runs, the kind of a fault, and what stands in the node's place."""
    for node in _running(tree):
        changed = copy.deepcopy(node)
        match node, changed:
            case ast.Raise() | ast.Assert(), _:
                yield node, "check", None
            case ast.UnaryOp(op=ast.USub()), _ if not isinstance(node.operand, ast.Constant):
                yield node, "sign", node.operand
            case ast.UnaryOp(op=ast.Not()), _:
                yield node, "comparison", node.operand
            case ast.BinOp(), ast.BinOp() if type(node.op) in OPERATIONS:
                texts = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr, ast.Dict)
                sides = node.left, node.right
                if not any(isinstance(side, texts) or _is_text(side) for side in sides):
                    changed.op = OPERATIONS[type(node.op)]()
                    yield node, "sign", changed
            case ast.Compare(ops=[operation]), ast.Compare():
                changed.ops = [COMPARISONS[type(operation)]()]
                yield node, "comparison", changed
            case ast.BoolOp(), ast.BoolOp():
                changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield node, "comparison", changed
            case ast.Constant(value=bool(value)), ast.Constant():
                changed.value = not value
                yield node, "constant", changed
            case ast.Constant(value=int(value)), ast.Constant():
                for kind, other in (("off by one", value + 1), ("off by one", value - 1)):
                    changed = ast.Constant(other)
                    yield node, kind, changed
            case ast.Constant(value=float(value)), ast.Constant():
                changed.value = value * 2 or 0.5
                yield node, "constant", changed
            case ast.Call(), ast.Call():
                for number, keyword in enumerate(node.keywords):
                    axis = getattr(keyword.value, "value", None)
                    if keyword.arg == "axis" and isinstance(axis, int):
                        changed.keywords[number].value = ast.Constant(axis - 1 if axis else 1)
                        yield node, "axis", changed
                first, second, *_ = [*node.args, None, None]
                if first and second and ast.dump(first) != ast.dump(second):
                    changed = copy.deepcopy(node)
                    changed.args[:2] = second, first
                    if not any(isinstance(each, ast.Starred) for each in node.args[:2]):
                        yield node, "arguments", changed


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but annotations, decorators and the insides of texts."""
    yield tree
    for name, value in ast.iter_fields(tree):
        skipped = ("annotation", "returns", "decorator_list", "format_spec")
        if name in skipped or isinstance(tree, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _running(child)


def draw(count: int, seed: int) -> list[Fault]:
    """Return so many faults, of each kind in turn."""
    rng = random.Random(seed)
    by_kind: dict[str, list[Fault]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "src" / "curta").rglob("*.py")):
        for fault in faults_of(path):
            by_kind[fault.kind].append(fault)
    for faults in by_kind.values():
        rng.shuffle(faults)
    return [by_kind[KINDS[number % len(KINDS)]][number // len(KINDS)] for number in range(count)]


def tests_of(tree: Path, fault: Fault, everything: bool) -> list[str]:
    """Return the files of tests for a fault, those that name its module first."""
    module = fault.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
    folder = tree / "tests" / Path(fault.file).relative_to("src/curta").parent
    ranks = {}
    for path in sorted((tree / "tests").rglob("test_*.py")):
        package, _, name = module.rpartition(".")
        text = path.read_text("utf-8")
        names = module in text or (f"from {package} import" in text and name in text)
        near = folder in path.parents and folder != tree / "tests"
        if names or near or everything:
            ranks[path] = (not names, not near, path.parent != tree / "tests")
    return [str(path.relative_to(tree)) for path in sorted(ranks, key=ranks.__getitem__)]


def run_tests(tree: Path, tests: list[str], mark: str, limit: float) -> str:
    """Return the first test that fails, "too long", or nothing."""
    cache = tree / ".cache"
    for entry in cache.iterdir() if cache.exists() else ():
        if entry.name != "compiled":  # what a fault has written there is not for other faults
            shutil.rmtree(entry)
    paths = os.pathsep.join(map(str, (tree / "src", tree)))
    command = [sys.executable, "-m", "pytest", *tests, "-m", mark, "-x", "--tb=no"]
    try:
        done = subprocess.run(
            [*command, "-p", "no:xdist", "-p", "no:cacheprovider"],
            cwd=tree, env=os.environ | {"PYTHONPATH": paths, "CURTA_CACHE": str(cache)},
            capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "too long"
    if done.returncode in (0, 5):  # all pass, or there is none
        return ""
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else "pytest itself"


def plant(tree: Path, fault: Fault, mark: str, everything: bool, limit: float) -> dict[str, Any]:
    """Try one fault in the copy, and take it back."""
    path, source, begun = tree / fault.file, (ROOT / fault.file).read_bytes(), time.monotonic()
    path.write_bytes(source[: fault.start] + fault.after.encode() + source[fault.end :])
    failed = run_tests(tree, tests_of(tree, fault, everything), mark, limit)
    path.write_bytes(source)
    os.utime(path, (time.time() + 5,) * 2)  # or Python takes what it compiled of the fault
    if failed.startswith(("FAILED", "ERROR")):
        test = failed.partition(" ")[2]
        assert not run_tests(tree, [test], mark, limit), f"{test} fails without a fault"
    seconds = round(time.monotonic() - begun)
    return asdict(fault) | {"caught": bool(failed), "by": failed, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", type=Path, help="faults that survived in this file")
    parser.add_argument("--all", action="store_true", help="all tests, not the nearest alone")
    parser.add_argument("--slow", action="store_true", help="slow tests instead of quick ones")
    parser.add_argument(
        "--limit", type=float, default=1200, help="seconds for the tests of a fault"
    )
    parser.add_argument("--list", action="store_true", help="show the faults and test nothing")
    options = parser.parse_args()
    faults = draw(options.faults, options.seed)
    if options.only:
        survivors = [
            row for row in json.loads(options.only.read_text())["faults"] if not row["caught"]
        ]
        faults = [
            fault
            for fault in faults
            if any(asdict(fault).items() <= row.items() for row in survivors)
        ]
    results = []
    if options.out and options.out.exists():
        results = json.loads(options.out.read_text())["faults"]
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in listed.stdout.decode().splitlines():
            if (ROOT / name).is_file() and not options.list:
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, Path(folder) / name)
        for fault in faults[len(results) :]:
            print(f"{fault.file}:{fault.line}: {fault.before!r} -> {fault.after!r}", flush=True)
            if options.list:
                continue
            mark = "slow" if options.slow else "not slow"
            results.append(plant(Path(folder), fault, mark, options.all, options.limit))
            print(f"    {results[-1]['by'] or 'SURVIVED'}", flush=True)
            report = {"seed": options.seed, "caught": sum(row["caught"] for row in results)}
            if options.out:
                options.out.write_text(json.dumps(report | {"faults": results}, indent=1))
    print(f"{sum(row['caught'] for row in results)} of {len(results)} faults were caught")


if __name__ == "__main__":
    main()
