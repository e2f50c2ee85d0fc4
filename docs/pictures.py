"""Makes the pictures of README and docs: `make pictures`.

Most are drawn from docs/results; `structure` is measured in the source. The others show the run
`pictures-addition` in the runs folder, which is trained if it is not there. `python -m
docs.pictures learning page` makes two.
"""

import hashlib
import io
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import curta
from curta.config.table import decimal
from curta.probes.pictures import Heat
from curta.report import figures
from curta.report.comparison_figures import PhaseMap, draw_map
from curta.report.figures import ALERT, INK, MUTED, style
from docs import grokking, ladder, plots, price, profiling, sizes, spaced
from docs.evidence import RESULTS, ROOT
from docs.shared import finished

IMAGES = ROOT / "docs" / "images"
MOST = 300_000
"""Bytes of a picture."""


def addition() -> curta.Run:
    """Eight members of the default recipe, evaluated up to a thousand digits and on a grid."""
    settings = {"digits": [20, 50, 100, 200, 500, 1000], "count": 50, "grid": 40, "grid_count": 5}
    changes = {f"evaluation.{field}": value for field, value in settings.items()}
    run: curta.Run = finished("pictures-addition", "addition", 8, changes)
    run.write_report()
    return run


@contextmanager
def tab(width: int, scale: int = 1) -> Iterator[Any]:
    """A tab of Chromium."""
    from tests.export.html.browser import chromium

    with chromium() as browser:
        size: Any = {"width": width, "height": 900}
        yield browser.new_page(viewport=size, device_scale_factor=scale)


def drawn(name: str, run: curta.Run | None = None) -> bytes:
    """Return a picture of the report, as Chromium draws it."""
    picture = (run or addition()).find_pictures()[name]
    with tab(520, 2) as page:
        # within a page it is as high as it is drawn, and labels at its border are whole
        style = "body { margin: 0 } p { margin: 0; padding: 6px } svg { overflow: visible }"
        svg = picture.path.read_text("utf-8")
        page.set_content(f"<!doctype html><style>{style}</style><p>{svg}</p>")
        screenshot: bytes = page.locator("p").screenshot()
        return screenshot


def attention() -> bytes:
    """Return what the first member looks at while it writes one sum."""
    run = addition()
    curta.probe(run, "attention", [0], problem="57+68")
    return drawn("probes/attention", run)


def png(figure: Figure, dpi: int) -> bytes:
    """Return a figure on white, sharp enough for a printed page."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def encodings() -> Figure:
    """Draw exact match of random problems by encoding and length, Curta's own row on top."""
    all_entries = ladder.entries(RESULTS)
    rows = {
        f"{name}{words}": seeds
        for stage, words in {"until": "", "whole": ", all steps"}.items()
        for name, seeds in ladder.complete(all_entries, stage).items()
    }
    columns = [None, *map(str, ladder.SIZES)]
    values = {name: [middle(row, size) for size in columns] for name, row in rows.items()}
    reach = lambda row: sum(value or 0.0 for value in row[1][1:])
    values = dict(sorted(values.items(), key=reach, reverse=True))
    program = RESULTS.read("encodings")[ladder.PROGRAM]
    top = {f"{ladder.PROGRAM} (more structure)": [middle(program, size) for size in columns]}
    lines = [*(top | values).values()]
    heat: Heat = {
        "form": "heat", "title": "exact match, median of the seeds", "exact_match": True,
        "across": "in training, and on random sums by digits", "down": "",
        "columns": ["training", *map(str, ladder.SIZES)], "rows": [*(top | values)],
        "values": lines,
        "texts": [["no positions" if x is None else decimal(x, 2) for x in line] for line in lines],
    }  # fmt: skip
    figure = figures.draw({"shows": "Exact match by encoding and length", "panels": [heat]})
    for text, value in zip(figure.axes[0].texts, itertools.chain(*lines), strict=True):
        text.set_color(figures.ON_DARK if value == 1 else figures.ON_LIGHT)
    return figure


def middle(seeds: list[dict[str, Any]], size: str | None) -> float | None:
    """Return median exact match in training, or on a size's random problems if it has positions."""
    if size is None:
        return median(seed["training"] for seed in seeds)
    each = [seed["sizes"][size] for seed in seeds]
    return None if None in each else median(seed["random"] for seed in each)


def phases() -> Figure:
    """Draw exact match by structure and problems."""
    cells = RESULTS.read("phase-diagram")["phase-diagram"]
    return draw_map(PhaseMap(*(cells[name] for name in PhaseMap._fields)))


@contextmanager
def sum_on_page(width: int, scale: int, speed: str) -> Iterator[Any]:
    """A tab in which the first member's page has begun to write a sum."""
    with tempfile.TemporaryDirectory() as folder, tab(width, scale) as view:
        view.goto(addition().write_page(0, Path(folder) / "page.html").as_uri())
        if speed:
            view.get_by_label("Speed").select_option(speed)
        view.get_by_role("textbox", name="Problem", exact=True).fill("98765+43219")
        view.keyboard.press("Enter")
        yield view


def page() -> bytes:
    """Show the page of the first member, with one token of a sum chosen."""
    with sum_on_page(900, 1, "") as view:
        view.locator("#status").filter(has_text="It wrote").wait_for()
        view.locator("#text").get_by_role("button").nth(2).click()
        screenshot: bytes = view.screenshot()
        return screenshot


def calculating() -> bytes:
    """Show the page writing a sum, a frame for each token."""
    with sum_on_page(640, 2, "slow") as view:
        box: Any = view.locator("#board").bounding_box()
        clip: Any = {"x": box["x"] - 4, "y": box["y"] - 4, "width": 270, "height": 156}
        below = "for (const e of board.parentElement.children) if (e !== board) e.style.opacity = 0"
        view.evaluate(below)
        view.get_by_role("button", name="Pause").click()
        frames = [Image.open(io.BytesIO(view.screenshot(clip=clip))).convert("RGB")]
        while not view.locator("#status").filter(has_text="It wrote").is_visible():
            view.get_by_role("button", name="One token").click()
            frames.append(Image.open(io.BytesIO(view.screenshot(clip=clip))).convert("RGB"))
    buffer = io.BytesIO()
    palette = frames[-1].quantize(64, dither=Image.Dither.NONE)
    few = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    seconds = [700] * (len(few) - 1) + [4000]
    few[0].save(buffer, "PNG", save_all=True, append_images=few[1:], duration=seconds, loop=0)
    return buffer.getvalue()


FOLDERS = {
    "config": "recipe fields", "problems": "drawn, with truth",
    "programs": "traces, windows,\nproofs", "layouts": "texts as arrays",
    "model": "the transformer", "training": "one step,\nmany members",
    "evaluation": "exact match,\ncertificates", "runs": "folders, resuming",
    "probes": "inside a model", "report": "pages, figures", "export": "other tools",
    "frontends": "Python, CLI, server",
}  # fmt: skip
"""The folders of the package, in the order of their imports, and what is in them."""

Tile = tuple[str, float, float, float, float]
"""The name of a file, and the left, top, width and height of its place."""


def source_files(folder: str) -> dict[str, int]:
    """Return the lines of each file of a folder of the package, the longest first."""
    place = Path(curta.__file__).parent / folder
    lines = {
        path.relative_to(place).as_posix().removesuffix(".py"): len(path.read_bytes().splitlines())
        for suffix in ("py", "js")
        for path in place.rglob(f"*.{suffix}")
        if path.name != "__init__.py"
    }
    return dict(sorted(lines.items(), key=lambda item: (-item[1], item[0])))


def tiles(files: dict[str, int], x: float, y: float, width: float, height: float) -> Iterator[Tile]:
    """Yield the place of each file in a rectangle; areas are as the numbers of lines."""
    if len(files) == 1:
        yield next(iter(files)), x, y, width, height
        return
    total, until = sum(files.values()), list(itertools.accumulate(files.values()))
    half = min(range(1, len(files)), key=lambda count: abs(2 * until[count - 1] - total))
    share, items = until[half - 1] / total, list(files.items())
    w, h = (share * width, height) if width > 3 * height else (width, share * height)
    yield from tiles(dict(items[:half]), x, y, w, h)
    if width > 3 * height:
        yield from tiles(dict(items[half:]), x + w, y, width - w, height)
    else:
        yield from tiles(dict(items[half:]), x, y + h, width, height - h)


def structure() -> Figure:
    """Draw the files of each folder, as large as they are, and what imports what; in inches."""
    left, right, gap, lines_of_inch = 1.22, 4.94, 0.055, 6_300
    files = {folder: source_files(folder) for folder in FOLDERS}
    heights = {folder: sum(of.values()) / lines_of_inch for folder, of in files.items()}
    bottom = sum(heights.values()) + gap * len(files)
    with style():
        figure = Figure(figsize=(figures.WIDTH, bottom))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, figures.WIDTH), ylim=(bottom, 0))
        axes.axis("off")
        y, middles = gap / 2, dict[str, float]()
        for folder, words in FOLDERS.items():
            middle = middles[folder] = y + heights[folder] / 2
            look: Any = {"ha": "right", "va": "bottom", "fontsize": 8, "weight": "bold"}
            axes.text(left - 0.08, middle, folder, color=INK, **look)
            look = {"ha": "right", "va": "top", "fontsize": 6}
            axes.text(left - 0.08, middle + 0.02, words, color=MUTED, **look)
            for tile in tiles(files[folder], left, y, right - left, heights[folder]):
                draw_tile(axes, tile)
            y += heights[folder] + gap
        arrow = {"arrowstyle": "-|>", "linewidth": 0.8, "mutation_scale": 6, "shrinkA": 0}
        for place, later in enumerate(("probes", "report", "export")):
            begin, end = middles["runs"] + 0.05 * (place - 1), middles[later]
            curve = {"color": ALERT, "connectionstyle": f"arc3,rad={0.14 * place - 0.45}"}
            axes.annotate("", (right + 0.02, end), (right + 0.02, begin), arrowprops=arrow | curve)
        axes.annotate("", (0.07, 0), (0.07, bottom), arrowprops=arrow | {"color": MUTED})
        look = {"rotation": 90, "va": "center", "fontsize": 6.5, "color": MUTED}
        axes.text(0.14, bottom / 2, "imports", **look)
    return figure


def draw_tile(axes: Any, tile: Tile) -> None:
    """Draw a file, with as much of its name as there is room for."""
    name, x, y, width, height = tile
    colour = "#fbead6" if name.endswith(".js") else "#dfebf7"
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="w", linewidth=0.7))
    last = name.rpartition("/")[2]
    for text, size in (
        (name, 6.5), (name, 5.5), (name.replace("/", "/\n"), 5.5), (last, 5.5), (last, 4.6),
    ):  # fmt: skip
        lines = text.split("\n")
        fits = max(map(len, lines)) * size * 0.0079 < width
        if fits and len(lines) * size / 65 < height:
            look: Any = {"ha": "center", "va": "center", "linespacing": 1, "color": INK}
            axes.text(x + width / 2, y + height / 2, text, fontsize=size, **look)
            return


BROWSER: dict[str, Callable[[], bytes]] = {
    "learning": lambda: drawn("learning"),
    "lengths": lambda: drawn("lengths"),
    "grid": lambda: drawn("grid"),
    "attention": attention,
    "page": page,
    "calculating": calculating,
}
"""Pictures that Chromium draws of a run."""

SOURCE = "source"
"""In place of a file of results: the names of the package's files."""

DRAWN: dict[str, tuple[str, Callable[[], Figure]]] = {
    "encodings": ("encodings", encodings),
    "looped": ("looped", lambda: plots.looped(RESULTS.read("looped"))),
    "phases": ("phase-diagram", phases),
    "price": ("price", lambda: plots.price(price.entries(RESULTS))),
    "spaced": ("spaced", lambda: plots.spaced(spaced.contenders(RESULTS.read("spaced")))),
    "sums": ("spaced", lambda: plots.sums(RESULTS.read("spaced")["data"])),
    "sizes": ("sizes", lambda: plots.sizes(sizes.figures(RESULTS))),
    "roofline": ("profiling", lambda: plots.roofline(
        profiling.profiles(RESULTS), profiling.roofs_of(RESULTS)
    )),
    "grokking": ("grokking", lambda: grokking.draw(RESULTS)),
    "findings": ("findings", lambda: plots.findings(RESULTS.read("findings"))),
    "structure": (SOURCE, structure),
}  # fmt: skip
"""The file of results that a picture is drawn of, and of nothing else: it carries its digest."""


def digest(file: str) -> str:
    """Return that of the numbers of docs/results/FILE.json, or of the names of source files."""
    source = {folder: sorted(source_files(folder)) for folder in FOLDERS}
    content = source if file == SOURCE else RESULTS.read(file)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def small(image: bytes, file_digest: str = "") -> bytes:
    """Return the same picture with as few colours as its curves need, and its digest."""
    if getattr(Image.open(io.BytesIO(image)), "n_frames", 1) > 1:
        return image  # has its palette already
    buffer, info = io.BytesIO(), PngInfo()
    info.add_text("results", file_digest)
    flat = Image.open(io.BytesIO(image)).convert("RGB")
    # the default method (median cut) gives small patches of a colour to larger ones
    few = flat.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(buffer, "PNG", optimize=True, pnginfo=info)
    assert len(buffer.getvalue()) < MOST
    return buffer.getvalue()


def main(names: list[str]) -> None:
    from tests.export.html.browser import CHROMIUM

    for name in names or [*BROWSER, *DRAWN]:
        if name in DRAWN:
            file, draw = DRAWN[name]
            image = small(png(draw(), dpi=200), digest(file))
        elif CHROMIUM:
            image = small(BROWSER[name]())
        else:
            print(f"{name} is left as it is: Chromium is not installed")
            continue
        (IMAGES / f"{name}.png").write_bytes(image)
        print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
