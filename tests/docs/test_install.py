"""What is counted of an environment."""

from pathlib import Path

from docs import install
from docs.evidence import RESULTS, Results
from tests.docs.handmade import kept


def test_nothing_measured_makes_no_table(tmp_path: Path) -> None:
    assert install.tables(Results(tmp_path)) == {}


def test_what_makes_environments_and_curta_are_no_packages_brought_along(tmp_path: Path) -> None:
    sizes = {"curta": 3e6, "jax": 20e6, "jaxlib": 100e6, "numpy": 9e6, "pip": 9e6}
    found = kept(tmp_path, "install", {"install": {"bytes": 200e6, "packages": sizes}})
    assert list(install.tables(found)["install"])[-1] == "| 3 | 200 | 120 | 3 |"


def test_every_package_of_the_base_install_is_there() -> None:
    packages = RESULTS.read("install")["install"]["packages"]
    assert {"curta", "equinox", "jax", "jaxlib", "matplotlib", "optax", "rich"} <= packages.keys()
    assert not {"torch", "transformers", "pytest"} & packages.keys()


def test_links_and_folders_have_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    assert install.size(tmp_path) == 5
