"""A report as a reader sees it: elements, text, and the cells of its tables."""

from html import escape
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

from markupsafe import Markup

from curta.report.page import render_report, report_run, write_report
from curta.report.rendering import PagePart

VOID = {"input", "link", "meta"}


class Page(HTMLParser):
    """Elements with their attributes, text, and rows of cells; nesting is checked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(str(text))
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def blank(figure: object, name: str, label: str) -> Markup:
    """In place of `svg_element`, which takes nearly all of a page's time."""
    return Markup(f'<svg role="img" aria-label="{escape(label)}"></svg>')


def page_without_figures(folder: Path) -> Page:
    """The page with empty pictures."""
    with patch("curta.report.page.svg_element", blank):
        return report(folder)


def report(folder: Path) -> Page:
    """The page with its pictures, but not those as files."""
    return Page(render_report(report_run(folder), PagePart()))


def saved_page(folder: Path) -> Page:
    """The page as it is written beside its figures."""
    return Page(write_report(folder).read_text(encoding="utf-8"))


def visible(page: Page) -> str:
    return " ".join("".join(page.text).split())
