"""The section `[cluster]`: every field is checked, and a mistake is one line."""

import dataclasses
from pathlib import Path

import pytest

from curta.config import cluster, typed
from curta.config.cluster import Cluster
from curta.config.descriptions import texts
from curta.config.errors import UserError


def test_a_file_says_what_to_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "mill.toml"
    path.write_text('[cluster]\npartition = "gpu"\ntime = 30\noptions = { qos = "low" }\n')
    made = typed.parse_fields(Cluster, cluster.read(path) | {"gpus": 2}, "mill", "cluster.")
    assert made == Cluster(partition="gpu", time=30, gpus=2, options={"qos": "low"})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[cluster]\npartitoin = 'a'\n",
            "unknown field 'cluster.partitoin': did you mean 'cluster.partition'?",
        ),
        ("[cluster]\ntime = 1\n", "cluster.time must be at least 2"),
        (
            "[cluster]\ntime = 3\n",
            "cluster.notice of 120 seconds is too long for a cluster.time of 3",
        ),
        ("[clutser]\ntime = 1\n", "unknown section 'clutser': did you mean 'cluster'?"),
        ("", "has no section [cluster]"),
        ("cluster = 3\n", "has no section [cluster]"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "mill.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        typed.parse_fields(Cluster, cluster.read(path), repr(str(path)), "cluster.")
    assert line in str(caught.value)
    assert str(path) in str(caught.value)


def test_every_field_says_what_it_is() -> None:
    assert set(texts(Cluster)) == {field.name for field in dataclasses.fields(Cluster)}
