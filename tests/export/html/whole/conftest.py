"""The browser, and a tab of it."""

from ..tabs import browser, complaints, first_tab, tab

__all__ = ["browser", "complaints", "first_tab", "tab"]
