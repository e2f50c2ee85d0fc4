"""What is compared: recipes with changes of their own, all resolved before anything trains.

A comparison is a list of entries, each a recipe and what is changed in it, from the words of a
command line or from a TOML file such as those in `comparisons/`. What every entry shares is
laid on first, what an entry says itself on top of it. A sweep takes every entry with each
combination of values: `curta compare addition model.width=16,32` has one entry.
"""

import dataclasses
import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MaxLen, MinLen

from curta.config import files, limits, typed
from curta.config.errors import UserError, unknown
from curta.config.recipe import (
    Recipe,
    as_json,
    as_table,
    lookup,
    parse_value,
    shipped_names,
    tables,
)
from curta.model import recipes, unread
from curta.programs.user import registry
from curta.runs import folders

SEEDS = 3
"""Members of every run of a comparison that does not say how many."""

LONGEST = 60
"""Letters of a folder's name that is made from those of its entries."""

Changes = dict[str, Any]
"""`{"section.field": value}`."""

_List = Annotated[list[Any], MinLen(1), MaxLen(limits.ENTRIES)]
Values = dict[str, _List | dict[str, _List]]
"""`{"section.field": [value, ...]}`, or the same in tables."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A recipe, by name or path, what it is called here, and what is changed in it."""

    recipe: limits.PathName
    name: limits.Name = ""
    changes: Changes = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Draft:
    """A comparison as it is written down, in the form of its files."""

    title: Annotated[str, MaxLen(limits.LETTERS)]
    entries: Annotated[tuple[Entry, ...], MinLen(1), MaxLen(limits.ENTRIES)]
    summary: Annotated[str, MaxLen(limits.LETTERS)] = ""
    seeds: limits.Seeds = SEEDS
    common: Changes = dataclasses.field(default_factory=dict)
    sweep: Values = dataclasses.field(default_factory=dict)

    @property
    def swept(self) -> dict[str, list[Any]]:
        """The values of each field that is swept."""
        return _flat(self.sweep)


@dataclasses.dataclass(frozen=True)
class Row:
    """One run of a comparison; `folder` is where it lies within the comparison's own.

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
    """A comparison of which every recipe has been read and checked."""

    title: str
    summary: str
    seeds: list[int]
    rows: tuple[Row, ...]
    swept: tuple[str, ...] = ()


def names() -> list[str]:
    """Names of the comparisons that come with the program."""
    files = [path.name for path in _folder().iterdir()]
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def draft(words: Sequence[str]) -> Draft:
    """A comparison by its name or path, if that is the only word; else words are entries."""
    if len(words) == 1 and _is_comparison(words[0]):
        return read(words[0])
    limits.check_entries(len(words))
    entries = tuple(map(entry, words))
    return Draft(", ".join(entry.name for entry in entries), entries)


def _is_comparison(word: str) -> bool:
    """Whether a word names a comparison, not a recipe; UserError for an unknown name."""
    if word in names():
        return True
    path = Path(word)
    if path.suffix == ".toml" and " " not in word:
        fields = tables(files.read_text(path, f"comparison {word!r}"), f"comparison {word!r}")
        return "entries" in fields or not set(fields) & {"program", "layout", "task", "training"}
    source = entry(word).recipe
    if source not in shipped_names() and path.suffix != ".py" and not registry.known(source):
        raise unknown("comparison or recipe", source, [*names(), *shipped_names()], "curta show")
    return False


def with_settings(draft: Draft, settings: Mapping[str, Any]) -> tuple[Draft, Changes]:
    """The draft with the fields swept that have several values, and the other settings.

    A field has several values if it takes a single one in the first entry's recipe, or if each
    of them is a list: `{"model.width": [16, 32]}`, `{"task.digits": [[1, 5], [1, 10]]}`.
    Raises UserError for a single recipe of which nothing is swept.
    """
    first = recipes.parse_fields(recipes.read(draft.entries[0].recipe), draft.entries[0].recipe)
    table, swept = as_table(first), {}
    for path, value in settings.items():
        holds_list = isinstance(lookup(table, path), list | dict)
        each_is_list = isinstance(value, list | tuple) and all(
            isinstance(one, list | tuple) for one in value
        )
        if isinstance(value, list | tuple) and value and (each_is_list or not holds_list):
            swept[path] = list(value)
    if len(draft.entries) == 1 and not (swept or draft.swept):
        raise UserError(
            f"{draft.entries[0].recipe!r} is one recipe: name several, or give a field several"
            " values, such as model.width=32,64,128"
        )
    common = {path: value for path, value in settings.items() if path not in swept}
    if not swept:
        return draft, common
    stem = Path(draft.entries[0].recipe).stem if len(draft.entries) == 1 else draft.title
    title = f"{stem}: {' × '.join(swept)}"
    entries = draft.entries
    if len(entries) == 1 and not entries[0].changes:
        entries = (dataclasses.replace(entries[0], name=""),)
    sweep: Values = {**draft.swept, **swept}
    draft = dataclasses.replace(draft, title=title, entries=entries, sweep=sweep)
    return draft, common


def entry(text: str) -> Entry:
    """`RECIPE [field=value ...]`, with `NAME: ` before it if it is to be called so."""
    head, colon, tail = text.partition(": ")
    name, rest = (head.strip(), tail) if colon and "=" not in head else ("", text)
    source, *settings = [word for word in cut(rest, " ") if word] or [""]
    changes = dict(_setting(word, text) for word in settings)
    return Entry(source, name or _name(source, changes), changes)


def read(name: str) -> Draft:
    """A comparison's file; recipes that it names by path are looked for beside it."""
    path = Path(name)
    if path.suffix != ".toml":
        if name not in names():
            raise unknown("comparison", name, names())
        text = (_folder() / f"{name}.toml").read_text("utf-8")
        return _parsed(text, f"comparison {name!r}")
    text = files.read_text(path, f"comparison {str(path)!r}")
    found = _parsed(text, f"comparison {name!r}")
    return dataclasses.replace(found, entries=tuple(_beside(path, e) for e in found.entries))


def resolve(
    draft: Draft,
    common: Mapping[str, Any],
    seeds: int | Sequence[int] | None = None,
) -> ComparisonSpec:
    """Every recipe, read and checked; UserError for the first thing that is wrong."""
    for source in dict.fromkeys(entry.recipe for entry in draft.entries):
        recipes.read(source)  # a mistyped name is told before what fits is looked at, by JAX
    shared = _flat(draft.common) | dict(common)
    rows = tuple(_row(*one, shared) for one in _points(draft))
    unread.check_common(shared, [row.recipe for row in rows])
    taken: dict[str, str] = {}
    for row in rows:
        if row.folder.lower() in taken:
            raise UserError(
                f"two entries are called {row.name!r}: call one of them otherwise,"
                f" 'NAME: {row.source} ...'"
            )
        taken[row.folder.lower()] = row.name
    limits.check_seeds(draft.seeds if seeds is None else seeds)
    chosen = folders.seeds_of(draft.seeds if seeds is None else seeds)
    return ComparisonSpec(draft.title, draft.summary, chosen, rows, tuple(draft.swept))


def base(words: Sequence[str], swept: Iterable[str] = ()) -> str:
    """What the folder of such a comparison is called unless it is named."""
    by = ["by", *(path.rpartition(".")[2] for path in swept)] if swept else []
    if len(words) == 1:
        name = Path(words[0]).stem if " " not in words[0] else entry(words[0]).name
        is_file = words[0] in names() or words[0].endswith(".toml")
        return slug("-".join([name, *([] if is_file else by)]))
    return "-".join([*(slug(entry(word).name) for word in words), *by])[:LONGEST].rstrip("-.")


def of_all(names: Sequence[str]) -> str:
    """What a folder for several runs is called; where that is too long, by the start and a hash."""
    whole = slug("-".join(filter(None, names)))
    if len(whole) <= LONGEST:
        return whole
    return f"{whole[:LONGEST].rstrip('-.')}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def cut(text: str, separator: str) -> list[str]:
    """The text cut at the separators that stand outside of brackets and quotes."""
    found: list[str] = []
    for piece in text.split(separator):
        if found and _open(found[-1]):
            found[-1] += separator + piece
        else:
            found.append(piece)
    return found


def slug(name: str) -> str:
    """A name as that of a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "entry"


def _open(text: str) -> bool:
    opened, closed = (sum(map(text.count, brackets)) for brackets in ("[{", "]}"))
    return opened > closed or text.count('"') % 2 == 1


def _setting(word: str, text: str) -> tuple[str, Any]:
    path, equals, text_of = word.partition("=")
    if not (path and equals and text_of):
        raise UserError(f"{word!r} in {text!r}: write field=value, such as model.width=64")
    return path, parse_value(text_of)


def _name(recipe: str, changes: Changes) -> str:
    return " ".join([Path(recipe).stem, *_named(changes)])


def _named(changes: Changes) -> list[str]:
    """Changes in a few words: `rope width=64`."""
    fields = [(path.rpartition(".")[2], value) for path, value in changes.items()]
    return [
        f"{value}" if field in ("name", "layout") else f"{field}={value}" for field, value in fields
    ]


def _points(draft: Draft) -> list[tuple[Entry, str]]:
    """Every entry with each point of the sweep in its changes, and the name of what is swept.

    Entry `all` swept over `model.width` 16 and 32 becomes `all width=16` and `all width=32`.
    """
    values = draft.swept
    limits.check_entries(len(draft.entries) * math.prod(map(len, values.values())))
    points = [
        dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())
    ]
    return [
        _at(entry, point, len(draft.entries) > 1) for entry in draft.entries for point in points
    ]


def _at(entry: Entry, point: Changes, several: bool) -> tuple[Entry, str]:
    """An entry at a point of the sweep, and its own name if there are several."""
    changes = _flat(entry.changes)
    name = entry.name or _name(entry.recipe, changes)
    if not point:
        return dataclasses.replace(entry, name=name, changes=changes), ""
    own = [name] if several or entry.name else []
    called = " ".join([*own, *_named(point)])
    return dataclasses.replace(entry, name=called, changes=changes | point), name if several else ""


def _row(entry: Entry, swept: str, common: Changes) -> Row:
    limits.check_name(entry.name)
    changes = entry.changes
    found = recipes.resolve(entry.recipe, changes, f"entry {entry.name!r}", common)
    return Row(entry.name, entry.recipe, changes, found, swept)


def _flat(changes: Changes) -> Changes:
    """`{"section": {"field": value}}` as paths; a deeper table is a value of its own."""
    flat: Changes = {}
    for section, value in changes.items():
        inner = value.items() if isinstance(value, dict) and "." not in section else None
        flat |= {section: value} if inner is None else {f"{section}.{k}": v for k, v in inner}
    return flat


def _beside(path: Path, entry: Entry) -> Entry:
    if Path(entry.recipe).suffix != ".toml":
        return entry
    return dataclasses.replace(entry, recipe=str(path.parent / entry.recipe))


def _folder() -> resources.abc.Traversable:
    return resources.files("curta.config") / "comparisons"


def _parsed(text: str, where: str) -> Draft:
    """Return the file as a draft; a UserError names the first field that is wrong."""
    fields = as_json(tables(text, where), where)
    return typed.parse_fields(Draft, fields, where, nested={"entries": Entry})
