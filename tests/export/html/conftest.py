"""One browser for all tests of pages. Where there is none, they fail and say so."""

from collections.abc import Iterator

import pytest

from .browser import Tab, tab


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("chromium")) as found:
        yield found
