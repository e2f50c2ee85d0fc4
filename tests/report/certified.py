"""A plausible certificate, calculated from windows that are recorded, without training anything."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from curta.config.recipe import dump
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.problems.sizes import Sizes
from curta.programs.machine import drawing, store
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.sampling import drawn

from . import sample

Planted = Sequence[tuple[int, int]]
"""Members, and the numbers of windows that they get wrong."""


@lru_cache
def layout_named(name: str) -> ProgramLayout:
    found = layout_of(recipes.load(name))
    assert isinstance(found, ProgramLayout)
    return found


def write_certified(
    folder: Path, name: str, members: int = 1, problems: int = 300, wrong: Planted = (),
    **changes: Any,
) -> dict[str, Any]:  # fmt: skip
    """A run of a program with its certificate; `changes` go into certificate.json."""
    sample.write_run(folder, members, name=name, recipe=name, operators=[])
    layout = layout_named(name)
    (folder / "recipe.toml").write_text(dump(recipes.load(name)), encoding="utf-8")
    sample.write_json(folder / "machine.json", store.dump(layout.machine, layout.windows))
    content, arrays = certificate(layout, members, problems, wrong)
    content |= changes
    sample.write_json(folder / "certificate.json", content)
    (folder / "windows.safetensors").write_bytes(safetensors.numpy.save(arrays))
    return content


def certificate(
    layout: ProgramLayout, members: int, problems: int, wrong: Planted
) -> tuple[dict[str, Any], dict[str, Any]]:
    """All windows of some problems; the first half was shown; the planted ones are wrong."""
    texts, named, (operator,) = [], [], layout.operators
    assert layout.recorder is not None
    operands = drawn(layout.recorder.programs[operator], SIZES[operator], "sample", 0.3)
    for _ in range(problems):
        values = next(operands)
        named.append(operator.join(map(str, values)))
        texts.append(layout.recorder.record(operator, values))
    found = recorded_windows(layout.machine, Recording.of(texts), layout.windows)
    table = WindowTable(found.rows.shape[1])
    table.add(found)
    arrays = _arrays(table, members, wrong)
    bad = [_wrong(layout, table, arrays, member, number, named, texts) for member, number in wrong]
    return _content(layout, arrays, members) | {"wrong": bad}, arrays


SIZES = {"+": Sizes((1, 20), (1, 20), (2, 2)), "*": Sizes((1, 6), (1, 6), (2, 2))}


def _arrays(table: WindowTable, members: int, wrong: Planted) -> dict[str, Any]:
    count, rng = len(table), np.random.default_rng(0)
    token = np.repeat(table.targets[None], members, axis=0).astype(np.int32)
    margin = rng.gamma(8, 1.0, (members, count)).astype(np.float32) + 0.5
    for member, number in wrong:
        token[member, number] = table.targets[(number + 1) % count]
        margin[member, number] = -0.25
    shown = np.repeat(np.arange(count)[None] < count // 2, members, axis=0).astype(np.uint8)
    rows, targets = table.rows.astype(np.int32), table.targets.astype(np.int32)
    return {"rows": rows, "targets": targets, "token": token, "margin": margin, "shown": shown}


def _content(layout: ProgramLayout, arrays: dict[str, Any], members: int) -> dict[str, Any]:
    count, machine = len(arrays["targets"]), layout.machine
    roles = machine.role[arrays["rows"][:, 0]]
    return {
        "format": 3,
        "grade": "closed",
        "windows": count,
        "conflicts": 0,
        "unwritable": [],
        "listing": {
            "problems": 20_000, "tokens": 2_250_000, "sizes": {layout.operators[0]: "1..40 digits"},
            "once": 0, "bound": 1.2e-4, "good_turing": 0.0, "confidence": 0.99,
            "growth": [[round(2_250_000 * t), round(count * t**0.08)]
                       for t in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)],
        },
        "closure": {"closed": True, "open": 0, "reason": ""},
        "operators": {},
        "rounding": {"bound": 1e-5, "how": "interval arithmetic over all weights"},
        "roles": [
            {"role": role.name, "windows": int(np.sum(roles == number)),
             "sees": [drawing.neighbour_name(machine.axes, n) for n in layout.windows[role.name]]}
            for number, role in enumerate(machine.roles) if role.name in layout.windows
        ],
        "members": [_member(arrays, member) for member in range(members)],
    }  # fmt: skip


def _member(arrays: dict[str, Any], member: int) -> dict[str, Any]:
    correct, shown = arrays["margin"][member] > 0, arrays["shown"][member] > 0
    return {
        "member": member,
        "seed": member,
        "shown": int(shown.sum()),
        "correct": int(correct.sum()),
        "wrong": int((~correct).sum()),
        "held_out": int((~shown).sum()),
        "held_out_correct": int((correct & ~shown).sum()),
        "margin": float(arrays["margin"][member].min()),
        "below_bound": 0,
    }


def _wrong(
    layout: ProgramLayout, table: WindowTable, arrays: dict[str, Any], member: int, number: int,
    problems: Sequence[str], texts: Sequence[tuple[list[int], int]],
) -> dict[str, Any]:  # fmt: skip
    """As certificate.json has it, with the first problem in which the window occurs."""
    machine, text = layout.machine, texts[table.example[number]]
    rows = recorded_windows(machine, Recording.of([text]), layout.windows).rows
    at = int(np.flatnonzero((rows == table.rows[number]).all(1))[0]) + text[1] - 1
    own = machine.tokens[table.rows[number, 0]]
    near = layout.windows[own.role]
    cells = [
        machine.tokens[t].symbol if t < len(machine.tokens) else "none"
        for t in table.rows[number, 1:].tolist()
    ]
    names = [drawing.neighbour_name(machine.axes, one) for one in near]
    written = machine.tokens[arrays["token"][member, number]].text
    return {
        "member": member,
        "role": own.role,
        "window": [own.text, *(f"{n}: {c}" for n, c in zip(names, cells, strict=False))],
        "expected": machine.tokens[table.targets[number]].text,
        "written": written,
        "margin": float(arrays["margin"][member, number]),
        "shown": bool(arrays["shown"][member, number]),
        "problem": problems[table.example[number]],
        "at": at,
    }
