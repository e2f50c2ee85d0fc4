"""The recipes of a comparison, each with its changes, all resolved before anything trains.

A comparison is a list of entries, each a recipe and its changes, from the words of a command line
or from a TOML file such as those in `comparisons/`. Common changes apply first, an entry's changes
after them. A sweep takes every entry with each combination of values: `curta compare addition
model.width=16,32` has one entry.
"""

import dataclasses
import hashlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from annotated_types import MaxLen, MinLen

from curta.config import files, limits, typed
from curta.config.errors import UserError, unknown
from curta.config.recipe import Recipe, as_table, lookup, parse_value, shipped_names, tables
from curta.model import recipes
from curta.programs.user import registry
from curta.runs import folders

SEEDS = 3
"""Members of every run of a comparison that does not say how many."""

SHIPPED = resources.files("curta.config") / "comparisons"

LONGEST = 60
"""Most characters of a folder's name that is made from the names of its entries."""

Changes = dict[str, Any]
"""`{"section.field": value}`."""

_List = Annotated[list[Any], MinLen(1), MaxLen(limits.ENTRIES)]
Values = dict[str, _List | dict[str, _List]]
"""`{"section.field": [value, ...]}`, or the same in tables."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A recipe, by name or path, with its name in the comparison, and its changes."""

    recipe: str
    name: str = ""
    changes: Changes = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Draft:
    """A comparison as its file states it, or the words of a command line."""

    title: Annotated[str, MaxLen(limits.LETTERS)]
    entries: Annotated[tuple[Entry, ...], MinLen(1), MaxLen(limits.ENTRIES)]
    summary: Annotated[str, MaxLen(limits.LETTERS)] = ""
    seeds: limits.Seeds = SEEDS
    common: Changes = dataclasses.field(default_factory=dict)
    sweep: Values = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Row:
    """One run of a comparison, in its `folder` within the comparison's.

    `entry` is the name of the entry that is swept, where there are several.
    """

    name: str
    source: str
    changes: Changes
    recipe: Recipe
    entry: str = ""

    @property
    def folder(self) -> str:
        return slug(self.name)


@dataclasses.dataclass(frozen=True)
class ComparisonSpec:
    """A comparison whose recipes have all been read and checked.

    `base` is the name of its folder unless the user names it.
    """

    title: str
    summary: str
    seeds: list[int]
    rows: tuple[Row, ...]
    swept: tuple[str, ...]
    base: str


def names() -> list[str]:
    """Return the names of the comparisons that come with the program."""
    stems = (path.name for path in SHIPPED.iterdir() if path.name.endswith(".toml"))
    return sorted(name.removesuffix(".toml") for name in stems)


def plan(
    words: Sequence[str],
    settings: Mapping[str, Any] = MappingProxyType({}),
    seeds: int | Sequence[int] | None = None,
) -> ComparisonSpec:
    """Read and check every recipe of a comparison; UserError for the first thing that is wrong.

    A single word may be the name or path of a comparison; otherwise words are entries. `settings`
    hold for all entries that do not say otherwise. One with several values is swept: if it takes a
    single one in the first entry's recipe, or if each of them is a list: `{"model.width": [16,
    32]}`, `{"task.digits": [[1, 5], [1, 10]]}`.
    """
    is_named = len(words) == 1 and _is_comparison(words[0])
    if is_named:
        draft = read(words[0])
    else:
        limits.check_entries(len(words))
        entries = tuple(map(entry, words))
        draft = Draft(", ".join(map(_label, entries)), entries)
    sources = list(dict.fromkeys(entry.recipe for entry in draft.entries))
    fields = [recipes.read(source) for source in sources]  # a mistyped name is reported first
    table = as_table(recipes.parse_fields(fields[0], sources[0]))
    common, swept, swept_here = _flat(draft.common), _flat(draft.sweep), []
    for path, value in settings.items():
        is_list_field = isinstance(lookup(table, path), list | dict)
        is_list = isinstance(value, list | tuple) and bool(value)
        if is_list and (not is_list_field or all(isinstance(item, list | tuple) for item in value)):
            swept[path] = list(value)
            swept_here.append(path)
        else:
            common[path] = value
    several = len(draft.entries) > 1
    if not several and not swept:
        raise UserError(
            f"{sources[0]!r} is one recipe: name several, or give a field several values, such as"
            " model.width=32,64,128"
        )
    limits.check_entries(len(draft.entries) * math.prod(map(len, swept.values())))
    rows: dict[str, Row] = {}
    points = [dict(zip(swept, point, strict=True)) for point in itertools.product(*swept.values())]
    for item, point in itertools.product(draft.entries, points):
        # Entry `all` swept over `model.width` 16 and 32 becomes `all width=16` and `all width=32`.
        name, changes = _label(item), _flat(item.changes) | point
        if point:
            name = _name(name if several or item.name or item.changes else "", point)
        limits.check_path(name)
        recipe = recipes.resolve(item.recipe, changes, f"entry {name!r}", common)
        row = Row(name, item.recipe, changes, recipe, _label(item) if point and several else "")
        if row.folder.lower() in rows:
            raise UserError(
                f"two entries are called {name!r}: call one of them otherwise,"
                f" 'NAME: {row.source} ...'"
            )
        rows[row.folder.lower()] = row
    recipes.check_common(common, [row.recipe for row in rows.values()])
    title, base = draft.title, [Path(words[0]).stem] if is_named else list(map(_label, entries))
    if swept_here:
        axes = " × ".join(path.removesuffix(".name") for path in swept_here)
        title = f"{title if several else Path(sources[0]).stem}: {axes}"
    if swept:
        base += ["by", *(path.removesuffix(".name").rpartition(".")[2] for path in swept)]
    chosen = folders.seeds_of(draft.seeds if seeds is None else seeds)
    return ComparisonSpec(
        title, draft.summary, chosen, tuple(rows.values()), tuple(swept), of_all(base)
    )


def _is_comparison(word: str) -> bool:
    """Whether a word names a comparison, not a recipe; UserError for an unknown name."""
    if word in names():
        return True
    if word.endswith(".toml") and " " not in word:
        fields = tables(files.read_text(Path(word), f"comparison {word!r}"), f"comparison {word!r}")
        return "entries" in fields or not set(fields) & {"program", "layout", "task", "training"}
    source = entry(word).recipe
    is_file = source.endswith(".py")
    if not is_file and source not in shipped_names() and not registry.find_programs(source):
        raise unknown("comparison or recipe", source, [*names(), *shipped_names()], "curta show")
    return False


def entry(text: str) -> Entry:
    """Parse `RECIPE [field=value ...]`, with `NAME: ` before it for another name."""
    head, colon, tail = text.partition(": ")
    name, words = (head.strip(), tail) if colon and "=" not in head else ("", text)
    source, *settings = [word for word in cut(words, " ") if word] or [""]
    changes = {}
    for word in settings:
        path, equals, value = word.partition("=")
        if not (path and equals and value):
            raise UserError(f"{word!r} in {text!r}: write field=value, such as model.width=64")
        changes[path] = parse_value(value)
    return Entry(source, name, changes)


def _label(entry: Entry) -> str:
    return entry.name or _name(Path(entry.recipe).stem, _flat(entry.changes))


def _name(stem: str, changes: Changes) -> str:
    """Name an entry by its changes: `addition rope width=64`."""
    words = [stem] if stem else []
    for path, value in changes.items():
        field = path.rpartition(".")[2]
        words.append(f"{value}" if field in ("name", "layout") else f"{field}={value}")
    return " ".join(words)


def read(name: str) -> Draft:
    """Read a comparison's file; recipes that it names by path are looked for beside it."""
    path = Path(name)
    if path.suffix == ".toml":
        text = files.read_text(path, f"comparison {str(path)!r}")
    elif name in names():
        text = (SHIPPED / f"{name}.toml").read_text("utf-8")
    else:
        raise unknown("comparison", name, names())
    where = f"comparison {name!r}"
    draft = typed.parse_fields(Draft, tables(text, where), where)
    entries = tuple(
        dataclasses.replace(entry, recipe=str(path.parent / entry.recipe))
        if path.suffix == Path(entry.recipe).suffix == ".toml"
        else entry
        for entry in draft.entries
    )
    return dataclasses.replace(draft, entries=entries)


def of_all(names: Sequence[str]) -> str:
    """Return the name of a folder for several runs; a long one is cut, and ends with a hash."""
    whole = slug("-".join(filter(None, names)))
    if len(whole) <= LONGEST:
        return whole
    return f"{whole[:LONGEST].rstrip('-.')}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def cut(text: str, separator: str) -> list[str]:
    """Cut a text at the separators that stand outside of brackets and quotes."""
    pieces: list[str] = []
    for piece in text.split(separator):
        last = pieces[-1] if pieces else ""
        opened, closed = (sum(map(last.count, brackets)) for brackets in ("[{", "]}"))
        if opened > closed or last.count('"') % 2 == 1:
            pieces[-1] += separator + piece
        else:
            pieces.append(piece)
    return pieces


def slug(name: str) -> str:
    """Return a name as that of a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "entry"


def _flat(changes: Changes) -> Changes:
    """Return `{"section": {"field": value}}` as paths; a deeper table is a value."""
    flat: Changes = {}
    for section, value in changes.items():
        inner = value.items() if isinstance(value, dict) and "." not in section else None
        flat |= {section: value} if inner is None else {f"{section}.{k}": v for k, v in inner}
    return flat
