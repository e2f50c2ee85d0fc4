"""Figures of studies: every seed a dot, nothing drawn of what is not measured."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from docs import pictures, plots, price, profiling, sizes
from docs.evidence import Results
from tests.docs.handmade import kept
from tests.docs.test_profiling import known as profile
from tests.docs.test_sizes import size

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def one_of_price(sums: int | None, longest: float) -> dict[str, Any]:
    return {"sums": sums, "exact match": 1.0, "lengths": {"6": 1.0, "100": longest}}


def rates(*sums: int | None) -> dict[str, Any]:
    tried = zip(price.RATES, sums, strict=True)
    return {str(rate): {"sums": found, "exact match": 0.5} for rate, found in tried}


def of_spacing(exact: list[float], without: list[float]) -> dict[str, list[float]]:
    return {"exact": exact, "spaces left out": without, "token accuracy": exact}


FILES: dict[str, dict[str, Any]] = {
    "spaced": {
        "curta": {
            "id": of_spacing([0.875, 1.0, 0.75], [1.0, 1.0, 1.0]),
            "ood": of_spacing([0.0, 0.0, 0.125], [0.0, 0.5, 0.25]),
            "seconds": 60.0,
        },
        "trl": {
            "id": of_spacing([0.625], [0.875]),
            "ood": of_spacing([0.0], [0.0625]),
            "seconds": 20.0,
        },
    },
    "sizes": {"0.5M": size(520_936), "2M": size(2_080_208)},
    "looped": {
        name: {
            "equal": {"4": [1.0, 0.5], "8": [0.25, 0.75]},
            "grid": [[[1.0, 0.5], [0.5, low]]] * 2,
        }
        for name, low in (("1", 0.0), ("4", 0.25), ("8", 1.0))
    },
    "profiling": profile(),
    "price": {
        "order: rates": rates(6400, None, 640),
        **{f"order: seed {seed}": one_of_price(12_800, 0.5) for seed in price.SEEDS},
        "order: seed 0": one_of_price(6400, 1.0),
        "nothing: rates": rates(None, None, None),
        **{f"nothing: seed {seed}": one_of_price(None, 0.0) for seed in price.SEEDS},
        "trace: rates": rates(None, None, 640),
        **{f"trace: seed {seed}": one_of_price(640, 0.25) for seed in price.SEEDS},
    },
}


def dots(figure: "Figure") -> list[list[float]]:
    """The heights of the dots of each mark, panel by panel."""
    marks = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "o"]
    found = [[float(value) for value in line.get_ydata()] for line in marks]
    return [heights for heights in found if heights]  # what only the legend has is empty


def test_bars_end_at_the_median_and_have_every_seed() -> None:
    figure = plots.spaced(FILES["spaced"])
    (axes,) = figure.axes
    heights = [bar.get_height() for bars in axes.containers for bar in bars]
    assert heights == [0.875, 0.0, 1.0, 0.25, 0.625, 0.0, 0.875, 0.0625]
    assert dots(figure)[:2] == [[0.875, 1.0, 0.75], [0.0, 0.0, 0.125]]
    assert dots(figure)[4:] == [[0.625], [0.0], [0.875], [0.0625]]


def test_one_contender_is_drawn_alone() -> None:
    (axes,) = plots.spaced({"trl": FILES["spaced"]["trl"]}).axes
    assert [len(bars) for bars in axes.containers] == [4]


def test_sums_are_shares_of_each_part_between_the_edges_of_their_thousands() -> None:
    counts = {"2000": 1, "3000": 3}
    (axes,) = plots.sums({"train": {"problems": 4, "histogram": counts}}).axes
    (stairs,) = axes.patches
    values, edges, _ = stairs.get_data()
    assert (values.tolist(), edges.tolist()) == ([0.25, 0.75], [2000, 3000, 4000])


def test_sizes_have_every_seed_in_both_panels() -> None:
    figure = plots.sizes(FILES["sizes"])
    loss, exact, tokens = dots(figure)
    assert (loss, exact, tokens) == (
        [0.4, 0.2, 0.1] * 2, [0.0] * 6, [0.3, 0.4, 0.5] * 2,
    )  # fmt: skip
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["0.5M", "2.1M"]


def test_what_a_hint_is_worth_is_drawn_seed_by_seed_the_least_above(tmp_path: Path) -> None:
    figure = plots.price(price.entries(kept(tmp_path, "price", FILES["price"])))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["trace", "order", "nothing"]
    found = {
        (line.get_label(), number): list(map(float, line.get_xdata()))
        for line in axes.lines
        if line.get_marker() == "o"
        for number in set(line.get_ydata())
    }
    short, far, never = plots.KINDS
    assert found == {
        (short, 0): [640.0] * 8, (short, 1): [12_800.0] * 7, (far, 1): [6400.0],
        (never, 2): [1_536_000.0] * 8,
    }  # fmt: skip


def test_loops_have_every_seed_and_a_grid_of_each_number() -> None:
    figure = plots.looped(FILES["looped"])
    assert dots(figure)[:2] == [[1.0, 0.5] * 3, [0.25, 0.75] * 3]
    grids = {
        axes.get_title("left"): axes.images[0].get_array() for axes in figure.axes if axes.images
    }
    assert list(grids) == ["1 recurrence", "4 recurrences", "8 recurrences"]
    wanted = [[plots.band(1.0), plots.band(0.5)], [plots.band(0.5), plots.band(0.25)]]
    np.testing.assert_array_equal(grids["4 recurrences"], wanted)


def test_the_roofline_has_every_round_below_its_roof(tmp_path: Path) -> None:
    results = kept(tmp_path, "profiling", FILES["profiling"])
    found, roofs = profiling.profiles(results), profiling.roofs_of(results)
    figure = plots.roofline(found, roofs)
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    assert [max(line.get_ydata()) for line in lines] == [100.0, 200.0]
    assert dots(figure)[0] == pytest.approx([40.0, 50.0, 20.0])
    assert len(dots(figure)) == 4


@pytest.mark.parametrize("name", FILES)
def test_a_picture_is_made_of_what_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = pictures.PICTURES["roofline" if name == "profiling" else name]
    monkeypatch.setattr(pictures, "RESULTS", Results(tmp_path))
    assert make() is None
    kept(tmp_path, name, FILES[name])
    image = make()
    assert image is not None
    with Image.open(io.BytesIO(pictures.small(image))) as found:
        assert found.width <= 1100


def test_rates_alone_are_no_picture(tmp_path: Path) -> None:
    assert sizes.trained(kept(tmp_path, "sizes", {"2M: rates": {"0.001": 1.0}})) == {}
