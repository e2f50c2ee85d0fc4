"""A new run in a form: its fields, what is wrong with them, the queue, and who may begin one."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from curta.config.errors import UserError
from curta.config.recipe import shipped_names
from curta.frontends.api import resolve
from curta.frontends.cli.arguments import values
from curta.frontends.serve import playground
from curta.frontends.serve.playground import Order
from curta.frontends.serve.server import APP, HERE, Trainings
from curta.model import recipes

from .conftest import client


@pytest.fixture
def trainings() -> Iterator[Trainings]:
    """A queue of the test's own."""
    before, APP.state.trainings = APP.state.trainings, Trainings()
    yield APP.state.trainings
    APP.state.trainings.end()
    APP.state.trainings = before


def send(trainings: Trainings, action: str, content: Any, **headers: str) -> Any:
    """A request as a page of the server sends it, with other headers where they are given."""
    usual = {"Origin": f"http://{HERE}", "X-Curta-Token": trainings.token}
    return client.post(f"/trainings/{action}", json=content, headers=usual | headers)


def until(reached: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("name", shipped_names())
def test_every_recipe_can_be_watched_as_its_form_proposes(name: str) -> None:
    """With its own named problems, filled up to eight that its models can be asked."""
    source = recipes.load(name)
    settings = playground.watching(source)
    assert playground.errors(Order(recipe=name, settings=settings)) == {}
    recipe = resolve(name, values(settings))
    assert len(recipe.evaluation.named) == max(8, len(source.evaluation.named))
    assert recipe.training.validate_every
    assert recipe.summary == source.summary


def test_what_is_wrong_is_said_of_each_field_as_on_the_command_line() -> None:
    settings = {
        "model.width": "30", "training.steps": "-1", "optimizer.learning_rate": "fast",
        "training.batch": "", "positions.name": "mine.py",
    }  # fmt: skip
    wrong = playground.errors(Order(recipe="addition", settings=settings, seeds="0", run="a/b"))
    assert {*wrong} == {*settings, "seeds", "run"}
    with pytest.raises(UserError, match="not divisible by") as refused:
        resolve("addition", {"model.width": 30})
    assert str(refused.value).endswith(wrong["model.width"])
    assert playground.errors(Order(recipe="../addition")) == {
        "": "no recipe is named '../addition'"
    }
    assert playground.errors(Order(recipe="addition", settings={"model.widht": "3"})).popitem()[1]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"X-Curta-Token": ""}, 403), ({"X-Curta-Token": "é"}, 403),
     ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": ""}, 403),
     ({"Origin": f"https://{HERE}"}, 403), ({"Host": "evil.example"}, 400)],
)  # fmt: skip
def test_only_a_page_of_the_server_can_have_anything_done(
    trainings: Trainings, headers: dict[str, str], status: int
) -> None:
    encoded: Any = {name: value.encode() for name, value in headers.items()}
    assert send(trainings, "check", {"recipe": "addition"}, **encoded).status_code == status
    refused = send(trainings, "train", {"recipe": "nothing"}, **encoded)
    assert (refused.status_code, trainings.jobs) == (status, {})


@pytest.mark.parametrize(
    ("action", "content", "status"),
    [("check", {"recipe": "addition", "more": 1}, 400), ("check", [], 400), ("train", {}, 400),
     ("check", {"recipe": "x" * 1000}, 400), ("resume", {"run": "nothing"}, 400),
     ("resume", {"run": "../runs"}, 400), ("stop", {"run": "nothing"}, 200),
     ("delete", {"run": "young"}, 405)],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(
    trainings: Trainings, action: str, content: Any, status: int
) -> None:
    assert send(trainings, action, content).status_code == status
    assert trainings.jobs == {}


def test_one_is_trained_at_a_time_and_the_others_wait(trainings: Trainings) -> None:
    server = ["serve", "--port", "0"]
    trainings.submit("first", server)
    until(lambda: trainings.state("first") == "running")
    for name in ("second", "third"):
        trainings.submit(name, ["train", name])
    assert [trainings.ahead(name) for name in ("first", "second", "third")] == [0, 1, 2]
    assert client.get("/runs/third/metrics.json").json()["ahead"] == 2
    assert client.get("/runs/third/live.html").status_code == 200
    assert "waiting for its turn" in client.get("/").text
    with pytest.raises(UserError, match="already"):
        trainings.submit("second", server)
    trainings.stop("second")
    assert trainings.ahead("third") == 1
    trainings.stop("first")
    until(lambda: trainings.state("third") == "ended")
    assert "unknown recipe 'third'" in trainings.jobs["third"].error
    assert trainings.jobs["first"].error == trainings.jobs["second"].error == ""
    assert "could not be begun: unknown recipe" in client.get("/").text


def test_a_training_is_the_command_line_and_gets_a_name_of_its_own(
    trainings: Trainings, young: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(trainings, "submit", lambda *job: begun.append(job))
    assert trainings.token in client.get("/runs/young/live.html").text
    assert trainings.token not in client.get("/runs/young/report.html").text
    order = {"recipe": "addition", "settings": {"training.steps": "20"}, "run": "young"}
    assert "exists already" in send(trainings, "train", order).json()["errors"]["run"]
    del order["run"]
    reply = send(trainings, "train", order).json()
    assert reply == {"page": "/runs/addition/live.html"}
    words = ["train", "addition", "training.steps=20", "--run", "addition"]
    assert begun == [("addition", words)]
    assert send(trainings, "resume", {"run": "young"}).status_code == 200
    assert begun[1][1][:2] == ["train", "--resume"]
