"""How many faults does the suite catch? Plants some in a copy of the source, and runs its tests.

    python -m tests.plant_faults --faults 60 --seed 0 --out faults.json

A fault is a small change of one expression or statement of src/curta, of the kinds in `KINDS`,
each as often as the others. The quick suite runs once without faults, and the tests that reach a
planted statement are noted; then each fault meets the test files that reach it, the nearest first.
It is caught if a test fails that passes without it, or if the tests do not end. Faults that the
quick tests miss meet the slow ones in the same way, unless `--quick` is given. With `--out FILE`, a
later call continues where this one stopped.
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
NO_NUMBERS = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr, ast.Dict)
SKIPPED = ("annotation", "returns", "decorator_list", "format_spec")
"""Fields of nodes in which no code runs, or runs once."""


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
    source = path.read_bytes()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node in running(ast.parse(source)):
        for kind, instead in changes(node):
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[node.end_lineno - 1] + node.end_col_offset
            after = "pass" if instead is None else ast.unparse(instead)
            if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.Call):
                after = f"({after})"
            name, before = path.relative_to(ROOT).as_posix(), source[start:end].decode()
            yield Fault(kind, name, node.lineno, start, end, before, after)


def running(tree: ast.AST) -> Iterator[Any]:
    """Yield all nodes but annotations, decorators and the insides of texts."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name not in SKIPPED and not isinstance(tree, ast.JoinedStr):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from running(child)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the kind of each fault of a node, and what stands in the node's place."""
    match node:
        case ast.Raise() | ast.Assert():
            yield "check", None
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "sign", operand
        case ast.UnaryOp(ast.Not(), operand):
            yield "comparison", operand
        case ast.BinOp(left, operation, right) if type(operation) in OPERATIONS:
            sides = left, right
            texts = any(isinstance(getattr(side, "value", None), str) for side in sides)
            if not texts and not any(isinstance(side, NO_NUMBERS) for side in sides):
                yield "sign", ast.BinOp(left, OPERATIONS[type(operation)](), right)
        case ast.Compare(left, [operation], right):
            yield "comparison", ast.Compare(left, [COMPARISONS[type(operation)]()], right)
        case ast.BoolOp(operation, values):
            other = ast.Or() if isinstance(operation, ast.And) else ast.And()
            yield "comparison", ast.BoolOp(other, values)
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield "off by one", ast.Constant(value + 1)
            yield "off by one", ast.Constant(value - 1)
        case ast.Constant(float(value)):
            yield "constant", ast.Constant(value * 2 or 0.5)
        case ast.Call(args=arguments, keywords=keywords):
            for number, keyword in enumerate(keywords):
                match keyword:
                    case ast.keyword("axis", ast.Constant(int(axis))):
                        changed = copy.deepcopy(node)
                        changed.keywords[number].value = ast.Constant(axis - 1 if axis else 1)
                        yield "axis", changed
            match arguments:
                case [ast.Starred(), _, *_] | [_, ast.Starred(), *_]:
                    pass
                case [first, second, *others] if ast.dump(first) != ast.dump(second):
                    yield "arguments", ast.Call(node.func, [second, first, *others], keywords)


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


NOTE = """
import os
SEEN = set()
def note(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if (number, test) not in SEEN:
        SEEN.add((number, test))
        with open(os.path.join({folder!r}, str(number)), "a") as file:
            file.write(test + "\\n")
"""
"""A module of the marked copy. Processes that a test starts inherit its name."""


def mark(tree: Path, faults: dict[int, Fault]) -> None:
    """Let the statement of every fault note the test that runs it, in a file by its number."""
    reached = tree / "reached"
    shutil.rmtree(reached, ignore_errors=True)
    reached.mkdir()
    (tree / "src/curta/_noted.py").write_text(NOTE.format(folder=str(reached)))
    for file in {fault.file for fault in faults.values()}:
        module = ast.parse((ROOT / file).read_bytes())
        lines = {number: fault.line for number, fault in faults.items() if fault.file == file}
        places = {number: innermost(module, line)[0] for number, line in lines.items()}
        for number, (statements, statement) in places.items():
            call = f'__import__("curta._noted", fromlist=["note"]).note({number})'
            index = next(n for n, other in enumerate(statements) if other is statement)
            statements.insert(index, ast.parse(call).body[0])
        (tree / file).write_text(ast.unparse(ast.fix_missing_locations(module)))


def innermost(module: ast.Module, line: int) -> tuple[tuple[list[Any], ast.stmt], bool]:
    """Return the innermost statement at a line with its list, and whether a function has it."""
    place, within = None, False
    nodes: list[tuple[ast.AST, bool]] = [(module, False)]
    while nodes:
        node, inside = nodes.pop()
        for _, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                last = getattr(child, "end_lineno", None) or 0
                if isinstance(child, ast.stmt) and child.lineno <= line <= last:
                    place, within = (value, child), inside
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                    nodes.append((child, inside or function))
    assert place is not None
    return place, within


def tests_of(tree: Path, faults: dict[int, Fault]) -> dict[int, list[str]]:
    """Return the files of tests that reach each fault, or all for one that importing runs."""
    files = sorted((tree / "tests").rglob("test_*.py"))
    texts = {str(path.relative_to(tree)): path.read_text("utf-8") for path in files}
    tests = {}
    for number, fault in faults.items():
        module = fault.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        package, _, name = module.rpartition(".")
        folder = str(Path("tests", Path(fault.file).relative_to("src/curta").parent)) + "/"
        ranks = {
            path: (
                module not in text and not (f"from {package} import" in text and name in text),
                not path.startswith(folder) or folder == "tests/",
                path.count("/") > 1,
            )
            for path, text in texts.items()
        }
        _, within = innermost(ast.parse((ROOT / fault.file).read_bytes()), fault.line)
        notes = tree / "reached" / str(number)
        reached = set(notes.read_text().split("\n")) if notes.exists() else set()
        paths = [path for path in ranks if path in reached or not within]
        tests[number] = sorted(paths, key=ranks.__getitem__)
    return tests


def run_tests(tree: Path, tests: list[str], marks: str, *options: str, limit: float) -> str:
    """Return the first test that fails, "too long", or nothing."""
    cache = tree / ".cache"
    for entry in cache.iterdir() if cache.exists() else ():
        if entry.name != "compiled":  # what a fault has written there is not for other faults
            shutil.rmtree(entry)
    paths = os.pathsep.join(map(str, (tree / "src", tree)))
    command = [sys.executable, "-m", "pytest", *tests, "-m", marks, "--tb=no", *options]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"],
            cwd=tree, env=os.environ | {"PYTHONPATH": paths, "CURTA_CACHE": str(cache)},
            capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "too long"
    if done.returncode in (0, 5):  # all pass, or there is none
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else "pytest itself"


def plant(tree: Path, fault: Fault, tests: list[str], marks: str, limit: float) -> dict[str, Any]:
    """Try one fault in the copy, and take it back."""
    path, source, begun = tree / fault.file, (ROOT / fault.file).read_bytes(), time.monotonic()
    failed, broken = "", list[str]()
    while tests:
        path.write_bytes(source[: fault.start] + fault.after.encode() + source[fault.end :])
        first = ("-x", "-p", "no:xdist")
        others = (f"--deselect={test}" for test in broken)
        failed = run_tests(tree, tests, marks, *first, *others, limit=limit)
        path.write_bytes(source)
        os.utime(path, (time.time() + 5,) * 2)  # or Python takes what it compiled of the fault
        test = failed.partition(" ")[2]
        is_named = failed.startswith(("FAILED", "ERROR"))
        if not is_named or not run_tests(tree, [test], marks, *first, limit=limit):
            break
        print(f"    {test} fails without a fault, too", flush=True)
        broken.append(test)
    seconds = round(time.monotonic() - begun)
    return asdict(fault) | {
        "caught by": failed, "broken": broken, "files": len(tests), "seconds": seconds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="without the slow tests")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for tests of a fault")
    options = parser.parse_args()
    faults = draw(options.faults, options.seed)
    results: dict[str, dict[str, Any]] = {"not slow": {}, "slow": {}}
    reaching: dict[str, dict[str, list[str]]] = {}
    if options.out and options.out.exists():
        kept = json.loads(options.out.read_text())
        results, reaching = kept["suites"], kept["reaching"]
    caught = lambda: {n for rows in results.values() for n, row in rows.items() if row["caught by"]}
    list_files = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.check_output(list_files, cwd=ROOT, text=True).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in filter(os.path.isfile, (str(ROOT / name) for name in names)):
            copied = tree / Path(name).relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(name, copied)
        commit = ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "copy"]
        for words in (["init", "-q"], ["add", "-A"], commit):  # pages of tests name a commit
            subprocess.run(["git", *words], cwd=tree, check=True)
        for marks in ("not slow",) if options.quick else ("not slow", "slow"):
            done = caught() | results[marks].keys()
            missing = {n: fault for n, fault in enumerate(faults) if str(n) not in done}
            if missing and not missing.keys() <= {int(n) for n in reaching.get(marks, ())}:
                mark(tree, missing)
                run_tests(tree, ["tests"], marks, "-n", "2", "--dist", "worksteal", limit=7200)
                for fault in missing.values():
                    (tree / fault.file).write_bytes((ROOT / fault.file).read_bytes())
                reaching[marks] = {str(n): tests for n, tests in tests_of(tree, missing).items()}
            for number, fault in missing.items():
                print(f"{fault.file}:{fault.line}: {fault.before!r} -> {fault.after!r}", flush=True)
                row = plant(tree, fault, reaching[marks][str(number)], marks, options.limit)
                results[marks][str(number)] = row
                print(f"    {row['caught by'] or f'MISSED BY {marks} TESTS'}", flush=True)
                if options.out:
                    report = {"seed": options.seed, "caught": len(caught()), "suites": results}
                    content = report | {"reaching": reaching}
                    options.out.write_text(json.dumps(content, indent=1) + "\n")
    print(f"{len(caught())} of {len(faults)} faults were caught")


if __name__ == "__main__":
    main()
