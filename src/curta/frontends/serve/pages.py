"""The server's own pages: what there is, a run that is watched, a refusal."""

from collections.abc import Sequence
from string import Template
from urllib.parse import quote

from curta.frontends.serve.known import Compared, Name, Row
from curta.report.markup import Markup, cells, element, heading_cells, join, table
from curta.report.summary import MISSING, duration, minute, percent
from curta.runs.results import RunInfo

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
$title
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/site.css">
$script
</head>
<body>
$body
</body>
</html>
""")

_HEADINGS = ("Run", "Status", "Exact match", "Time", "Recipe", "Seeds", "Begun", "To try")


_LEGEND = "Thick: the median of the members; thin: each; green and dashed: validation problems."


def index(rows: Sequence[Row], compared: Sequence[Compared]) -> str:
    """All runs and comparisons."""
    body = [_runs(rows, "Those in training first, then the newest")] if rows else []
    body += [_comparison(one) for one in compared]
    if not body:
        body = [element("p", "No runs yet: train one with ", element("code", "curta train"), ".")]
    head = element("header", element("p", "Curta", class_="kind"), element("h1", "Runs"))
    return _page("Runs", join([head, element("main", *body)]), "index")


def watched(row: Row) -> str:
    """A run in training; its figures and curves come as it writes them."""
    name = "/".join(row.name)
    at, steps = str(row.step), str(row.info.steps if row.info else 0)
    progress = element("progress", value=at, max=steps, id="progress", aria_label="Steps done")
    main = element(
        "main",
        element("p", progress),
        element("p", id="now"),
        element("p", id="said", role="status"),
        element("div", id="charts"),
        element("p", _LEGEND, class_="kind"),
        element("details", element("summary", "Every member now"), _members()),
        element("noscript", element("p", "Curves that grow need JavaScript.", class_="note")),
    )
    return _page(f"{name}: in training", join([_watched_head(row, name), main]), "live")


def refusal(title: str, reason: str) -> str:
    """Why there is nothing to be seen."""
    back = element("p", element("a", "All runs", href="/"))
    return _page(title, element("main", element("h1", title), element("p", reason), back))


def address(row: Row) -> str:
    """The page of a run: its curves while it trains, else its report."""
    return _place(row.name) + ("live.html" if row.training else "report.html")


def _place(name: Name) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("runs", *name)) + "/"


def _page(title: str, body: Markup, script: str = "") -> str:
    loaded = element("script", src=f"/{script}.js", type="module") if script else Markup()
    return _PAGE.substitute(title=element("title", f"{title} · Curta"), script=loaded, body=body)


def _watched_head(row: Row, name: str) -> Markup:
    status = element("span", row.info.status if row.info else "", class_="status", id="status")
    so_far = element("a", "The report so far", href="report.html")
    return element(
        "header",
        element("p", element("a", "All runs", href="/"), class_="kind"),
        element("h1", name, " ", status),
        element("p", row.summary),
        element("p", so_far),
    )


def _members() -> Markup:
    head = element("tr", heading_cells("Member", "Seed", "Step", "Loss", "Exact match, %"))
    body = element("table", element("thead", head), element("tbody", id="members"))
    return element("div", body, class_="scroll", role="region", aria_label="Members", tabindex="0")


def _runs(rows: Sequence[Row], caption: str) -> Markup:
    head = element("tr", heading_cells(*_HEADINGS))
    return element("div", table(caption, [head], map(_row, rows)), class_="runs")


def _comparison(one: Compared) -> Markup:
    finished = sum(row.info is not None and row.info.over for row in one.rows)
    title = element("h2", element("a", one.name[0], href=_place(one.name) + "report.html"))
    said = element("p", f"{one.title}. {finished} of {len(one.entries)} runs are finished.")
    runs = _runs(one.rows, f"The runs of {one.name[0]}") if one.rows else Markup()
    return element("section", title, said, runs)


def _row(row: Row) -> Markup:
    info = row.info
    if info is None:
        name = element("th", row.name[-1], scope="row", class_="entry")
        return element("tr", name, element("td", row.error, colspan="7", class_="word miss"))
    name = element("a", row.name[-1], href=address(row))
    recipe = join([info.recipe, element("small", row.summary)])
    return element(
        "tr",
        element("th", name, scope="row", class_="entry"),
        element("td", _status(row, info), class_="word"),
        cells(_exact_match(row), MISSING if row.seconds is None else duration(row.seconds)),
        element("td", recipe, class_="word recipe"),
        cells(str(len(info.seeds)), minute(info.created)),
        element("td", _calculates(row, info), class_="word"),
    )


def _status(row: Row, info: RunInfo) -> Markup:
    steps = info.steps if info.ended is None else info.ended
    done = f"{row.step:,} of {steps:,} steps"
    label = f"Steps of {row.name[-1]}"
    bar = element("progress", value=str(row.step), max=str(steps), aria_label=label)
    return join([info.status, element("small", bar if row.training else "", done)])


def _exact_match(row: Row) -> Markup:
    """What the evaluation found, or before that how it learns."""
    if row.evaluated is not None:
        rows = "the only row" if row.slices == 1 else f"the hardest of {row.slices} rows"
        return join([f"{percent(row.evaluated)}%", element("small", f"in {rows}")])
    if row.learned is not None:
        return join([f"{percent(row.learned)}%", element("small", "in training")])
    return join([MISSING])


def _calculates(row: Row, info: RunInfo) -> Markup:
    if info.status not in ("finished", "interrupted", "stopped"):
        return join([MISSING])
    label = f"Let {row.name[-1]} calculate"
    return element("a", "calculate", href=_place(row.name) + "page-0.html", aria_label=label)
