"""How many faults does the suite catch? Plants some in a copy of the source, and runs the tests.

    python -m tests.plant_faults --faults 60 --seed 0 --tests tests -m 'not slow'

A fault is a small change of one expression or statement of src/curta, of the kinds in `KINDS`,
each as often as the others. It is killed if a test fails, or if they take five times as long as
they should. Prints JSON; with --out FILE a later call goes on where this one stopped. What
follows --tests is given to pytest; the files that name the changed module run first.
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
                if not any(isinstance(side, texts) or is_text(side) for side in sides):
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
                    value = getattr(keyword.value, "value", None)
                    if keyword.arg == "axis" and isinstance(value, int):
                        changed.keywords[number].value = ast.Constant(
                            1 if value == 0 else value - 1
                        )
                        yield node, "axis", changed
                first, second, *_ = [*node.args, None, None]
                if first and second and ast.dump(first) != ast.dump(second):
                    changed = copy.deepcopy(node)
                    changed.args[:2] = second, first
                    if not any(isinstance(each, ast.Starred) for each in node.args[:2]):
                        yield node, "arguments", changed


def is_text(node: ast.AST) -> bool:
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


def drawn(count: int, seed: int) -> list[Fault]:
    """Return so many faults, of each kind in turn."""
    rng = random.Random(seed)
    by_kind: dict[str, list[Fault]] = {kind: [] for kind in KINDS}
    for path in sorted((ROOT / "src" / "curta").rglob("*.py")):
        for fault in faults_of(path):
            by_kind[fault.kind].append(fault)
    for faults in by_kind.values():
        rng.shuffle(faults)
    return [by_kind[KINDS[number % len(KINDS)]][number // len(KINDS)] for number in range(count)]


def copied(place: Path) -> None:
    """Copy the working tree, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def run_tests(place: Path, tests: list[str], limit: float | None, module: str) -> dict[str, Any]:
    """Run the tests in the copy; those files first that name the module."""
    files = [Path(word) for word in tests if word.endswith(".py")]
    rest = [word for word in tests if not word.endswith(".py")]
    files.sort(key=lambda file: not (module and module in (place / file).read_text("utf-8")))
    words = [*map(str, files), *rest, "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    paths = os.pathsep.join(map(str, (place / "src", place)))
    # The first run writes compiled modules; later ones compile what is changed, and keep nothing.
    kept = "" if limit is None else "1"
    variables = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": kept}
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=place, env=variables, capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
        killed, lines = done.returncode != 0, done.stdout.splitlines()
        by = next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "")
        by = by or (lines[-1] if killed and lines else "")
    except subprocess.TimeoutExpired:
        killed, by = True, "too long"
    return {"killed": killed, "by": by[:200], "seconds": round(time.monotonic() - begun, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true", help="show the faults and test nothing")
    parser.add_argument("--tests", nargs=argparse.REMAINDER, default=["tests"])
    given = parser.parse_args()
    faults = drawn(given.faults, given.seed)
    if given.list:
        for fault in faults:
            print(f"{fault.kind:10} {fault.file}:{fault.line}: {fault.before!r} -> {fault.after!r}")
        return 0
    known = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    results = known.get("faults", [])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copied(place)
        sound = run_tests(place, given.tests, None, "")
        if sound["killed"]:
            sys.exit(f"the tests fail without any fault: {sound['by']}")
        for fault in faults[len(results) :]:
            path, source = place / fault.file, (ROOT / fault.file).read_bytes()
            path.write_bytes(source[: fault.start] + fault.after.encode() + source[fault.end :])
            module = fault.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
            found = run_tests(place, given.tests, 60 + 5 * sound["seconds"], module)
            path.write_bytes(source)
            results.append(asdict(fault) | found)
            state = "killed" if found["killed"] else "SURVIVED"
            print(f"{state} {fault.kind} {fault.file}:{fault.line}", file=sys.stderr, flush=True)
            killed = sum(result["killed"] for result in results)
            report = {"seed": given.seed, "tests": given.tests, "killed": killed}
            report |= {"survived": len(results) - killed, "faults": results}
            if given.out:
                given.out.write_text(json.dumps(report, indent=1))
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
