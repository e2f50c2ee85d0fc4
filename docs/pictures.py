"""Makes the pictures of README and docs from real runs: `make pictures`.

The runs lie in the runs folder under the names given here. One that is there, finished, and of
just this recipe and these seeds is taken as it is; else it is trained. Without names all
pictures are made: `python -m docs.pictures learning page` makes two.
"""

import hashlib
import io
import itertools
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import curta
from curta.config.recipe import Recipe
from curta.config.table import decimal
from curta.frontends import api
from curta.probes import results as probes
from curta.probes.pictures import Heat
from curta.report import charts
from curta.report.comparison_figures import PhaseMap, draw_map
from curta.report.figures import style
from curta.runs import folders
from docs import announced, ladder, plots, profiling
from docs.evidence import RESULTS, ROOT
from docs.grokking import draw as draw_grokking
from docs.price import entries
from docs.sizes import on_equal_data, trained
from docs.spaced import contenders

IMAGES = ROOT / "docs" / "images"
MOST = 300_000
"""Bytes of a picture."""


def addition() -> curta.Run:
    """Eight members of the default recipe, evaluated up to a thousand digits and on a grid."""
    asked = {"digits": [20, 50, 100, 200, 500, 1000], "count": 50, "grid": 40, "grid_count": 5}
    overrides = {f"evaluation.{field}": value for field, value in asked.items()}
    return run("pictures-addition", "addition", 8, overrides)


def run(name: str, recipe: str, seeds: int, overrides: dict[str, Any]) -> curta.Run:
    """The finished run of that name, with a report as it is drawn today, or a new one."""
    if name not in folders.existing():
        print(f"training {name}")
        return curta.train(recipe, seeds, name, **overrides)
    found = curta.load(name)
    asked = (told(api.resolve(recipe, overrides)), list(range(seeds)), "finished")
    if (told(found.recipe), found.seeds, found.folder.read_info().status) != asked:
        raise curta.UserError(f"run {name!r} is another one, or not finished: remove it")
    if found.folder.read_evaluation() is None:
        found.evaluate()
    found.write_report()
    return found


def told(recipe: Recipe) -> Recipe:
    """The recipe without its summary, which says nothing to a training."""
    return replace(recipe, summary="")


def learning() -> bytes | None:
    return drawn(addition(), "learning")


def lengths() -> bytes | None:
    return drawn(addition(), "lengths")


def grid() -> bytes | None:
    return drawn(addition(), "grid")


def attention() -> bytes | None:
    """What the first member looks at while it writes one sum."""
    return probed(addition(), "attention", [0], problem="57+68")


def drawn(of: curta.Run, name: str) -> bytes | None:
    """A picture of the report, as Chromium draws it."""
    from tests.export.html.browser import CHROMIUM, chromium

    if not CHROMIUM:
        print(f"{name} is left as it is: Chromium is not installed")
        return None
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 520, "height": 900}, device_scale_factor=2)
        tab.goto(of.find_pictures()[name].path.as_uri())
        return tab.locator("svg").first.screenshot()


def png(figure: Figure, dpi: int = 200) -> bytes:
    """A figure on white, sharp enough for a printed page."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def probed(of: curta.Run, name: str, members: list[int], **options: Any) -> bytes | None:
    """The picture of a probe, which is put again only if it was not put in just this way."""
    known = probes.read(of.folder).get(name)
    same = known and all(known.options.get(key) == value for key, value in options.items())
    if known is None or not same or known.members != members:
        curta.probe(of, name, members, **options)
    return drawn(of, f"probes/{name}")


def encodings() -> bytes:
    """Exact match of random problems by encoding and length, from what `docs/ladder.py` kept.

    Sorted by how far a model reaches, with Curta's own row on top.
    """
    known = ladder.entries(RESULTS)
    rows = {
        f"{name}{words}": found
        for stage, words in {"until": "", "whole": ", all steps"}.items()
        for name, found in ladder.complete(known, stage).items()
    }
    sizes = list(next(iter(rows.values()))[0]["sizes"])
    program = {f"{ladder.PROGRAM} (more structure)": RESULTS.read("encodings")[ladder.PROGRAM]}
    reach = lambda row: sum(middle(row[1], size) or 0.0 for size in sizes)
    rows = program | dict(sorted(rows.items(), key=reach, reverse=True))
    values = [[middle(found), *(middle(found, size) for size in sizes)] for found in rows.values()]
    heat: Heat = {
        "form": "heat", "title": "exact match, median of the seeds", "exact_match": True,
        "across": "in training, and on random sums by digits", "down": "",
        "columns": ["training", *sizes], "rows": list(rows),
        "values": values, "texts": [[shown(value) for value in line] for line in values],
    }  # fmt: skip
    figure = charts.draw({"shows": "Exact match by encoding and length", "panels": [heat]})
    for text, value in zip(figure.axes[0].texts, itertools.chain(*values), strict=True):
        text.set_color(charts.ON_DARK if value == 1 else charts.ON_LIGHT)
    return png(figure)


def middle(found: list[dict[str, Any]], size: str | None = None) -> float | None:
    """Median exact match in training, or of random problems of a size if there are positions."""
    if size is None:
        return median(one["training"] for one in found)
    each = [one["sizes"][size] for one in found]
    return None if None in each else median(one["random"] for one in each)


def shown(value: float | None) -> str:
    return "no positions" if value is None else decimal(value, 2)


def phases() -> bytes:
    """Structure by problems, from what `make results-phases` has kept."""
    known = RESULTS.read("phase-diagram")["phase-diagram"]
    return png(draw_map(PhaseMap(*(known[name] for name in PhaseMap._fields))), dpi=110)


def grokking() -> bytes | None:
    """Curves and frequencies of every seed, from what `make results-grokking` has kept."""
    return png(draw_grokking(RESULTS)) if RESULTS.read("grokking") else None


def spaced() -> bytes | None:
    """Held-out sums with spaces, in and out of distribution, from what `docs/spaced.py` kept."""
    known = contenders(RESULTS.read("spaced"))
    return png(plots.spaced(known)) if known else None


def sums() -> bytes | None:
    """How those sums lie, in training and of those that are asked."""
    known = RESULTS.read("spaced")
    return png(plots.sums(known["data"])) if "data" in known else None


def looped() -> bytes | None:
    """Exact match by recurrences, and every grid, from what `docs/looped.py` kept."""
    known = RESULTS.read("looped")
    return png(plots.looped(known)) if known else None


def sizes() -> bytes | None:
    """The ladder's last rung at several sizes, from what `docs/sizes.py` kept."""
    known = trained(RESULTS)
    return png(plots.sizes(known, on_equal_data(RESULTS))) if known else None


def ranges() -> bytes | None:
    """What is right beyond the operands of training, from what `docs/announced.py` kept."""
    known = RESULTS.read("announced")
    names = announced.OPERANDS.items()
    held_out = {words: known[name]["exact match"] for words, name in names if name in known}
    found = announced.ranges(known)
    return png(plots.ranges(found, held_out)) if found else None


def price() -> bytes | None:
    """Sums until right by what a model is given, from what `docs/price.py` kept."""
    known = entries(RESULTS)
    return png(plots.price(known)) if known else None


def roofline() -> bytes | None:
    """Its steps below what this machine can do, from what `docs/profiling.py` kept."""
    found, roofs = profiling.profiles(RESULTS), profiling.roofs_of(RESULTS)
    return png(plots.roofline(found, roofs)) if found and roofs else None


def findings() -> bytes | None:
    """One instrument's curves of each model, from what `docs/findings.py` kept."""
    known = RESULTS.read("findings")
    return png(plots.findings(known)) if known else None


def page() -> bytes | None:
    """The page of the first member, in the middle of a sum."""
    from tests.export.html.browser import CHROMIUM, chromium

    if not CHROMIUM:
        print("page.png is left as it is: Chromium is not installed")
        return None
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        written = addition().write_page(0, Path(folder) / "page.html")
        return photographed(browser, written)


def photographed(browser: Any, written: Path) -> bytes:
    """A problem is typed, calculated, and one token of its answer chosen."""
    tab = browser.new_page(viewport={"width": 900, "height": 900})
    tab.goto(written.as_uri())
    tab.get_by_role("textbox", name="Problem", exact=True).fill("98765+43219")
    tab.keyboard.press("Enter")
    tab.locator("#status").filter(has_text="It wrote").wait_for()
    tab.locator("#text").get_by_role("button").nth(2).click()
    return tab.screenshot()


def calculating() -> bytes | None:
    """The page writing a sum, a frame for each token."""
    from tests.export.html.browser import CHROMIUM, chromium

    if not CHROMIUM:
        print("calculating.png is left as it is: Chromium is not installed")
        return None
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page_path = addition().write_page(0, Path(folder) / "page.html")
        tab = browser.new_page(viewport={"width": 640, "height": 900}, device_scale_factor=2)
        tab.goto(page_path.as_uri())
        tab.get_by_label("Speed").select_option("slow")
        tab.get_by_role("textbox", name="Problem", exact=True).fill("98765+43219")
        tab.keyboard.press("Enter")
        box: Any = tab.locator("#board").bounding_box()
        clip: Any = {"x": box["x"] - 4, "y": box["y"] - 4, "width": 270, "height": 156}
        below = "for (const e of board.parentElement.children) if (e !== board) e.style.opacity = 0"
        tab.evaluate(below)
        tab.get_by_role("button", name="Pause").click()
        frames = [Image.open(io.BytesIO(tab.screenshot(clip=clip))).convert("RGB")]
        while not tab.locator("#status").filter(has_text="It wrote").is_visible():
            tab.get_by_role("button", name="One token").click()
            frames.append(Image.open(io.BytesIO(tab.screenshot(clip=clip))).convert("RGB"))
    buffer = io.BytesIO()
    palette = frames[-1].quantize(64, dither=Image.Dither.NONE)
    few = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    seconds = [700] * (len(few) - 1) + [4000]
    few[0].save(buffer, "PNG", save_all=True, append_images=few[1:], duration=seconds, loop=0)
    return buffer.getvalue()


PICTURES: dict[str, Callable[[], bytes | None]] = {
    made.__name__: made
    for made in (
        learning, lengths, grid, attention, encodings, looped, phases, price, spaced, sums, sizes,
        ranges, roofline, grokking, findings, page, calculating,
    )
}  # fmt: skip
"""What makes each picture; None where it cannot be made, as before its study has kept anything."""

DRAWN = {
    "encodings": "encodings", "looped": "looped", "phases": "phase-diagram", "price": "price",
    "spaced": "spaced", "sums": "spaced", "sizes": "sizes", "ranges": "announced",
    "roofline": "profiling",
    "grokking": "grokking", "findings": "findings",
}  # fmt: skip
"""The file of results that a picture is drawn of, and of nothing else: it carries its digest."""


def digest(file: str) -> str:
    """That of the numbers of docs/results/FILE.json, whenever and wherever they were measured."""
    numbers = json.dumps(RESULTS.read(file), sort_keys=True)
    return hashlib.sha256(numbers.encode()).hexdigest()


def small(image: bytes, of: str = "") -> bytes:
    """The same picture with as few colours as its curves need, and what it is drawn of."""
    buffer, told = io.BytesIO(), PngInfo()
    told.add_text("results", of)
    if getattr(Image.open(io.BytesIO(image)), "n_frames", 1) > 1:
        return image  # has its palette already
    flat = Image.open(io.BytesIO(image)).convert("RGB")
    few = flat.quantize(256, dither=Image.Dither.NONE)
    few.save(buffer, "PNG", optimize=True, pnginfo=told)
    assert len(buffer.getvalue()) < MOST
    return buffer.getvalue()


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        image = PICTURES[name]()
        if image is not None:
            of = digest(DRAWN[name]) if name in DRAWN else ""
            (IMAGES / f"{name}.png").write_bytes(small(image, of))
            print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
