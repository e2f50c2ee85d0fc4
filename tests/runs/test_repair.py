"""Training until certified: what is shown, rounds of repair, windows that are met later."""

import re
from typing import Any

import jax
import numpy as np
import pytest

from curta.config.errors import Notice, UserError
from curta.evaluation import certificate
from curta.frontends import api
from curta.frontends.cli import main
from curta.runs import checkpoints
from curta.runs.run import Run
from curta.training import windows
from tests import tiny
from tests.made_once import REPAIRED as FIELDS


def test_rounds_of_repair_end_with_every_window_right(repaired: Run) -> None:
    """What was held out and had to be shown is counted apart from what is held out and right."""
    certificate, listed = repaired.folder.read_certificate(), windows.read(repaired.folder.path)
    assert certificate is not None
    assert listed is not None
    assert (certificate.windows, certificate.grade, certificate.perfect) == (240, "closed", True)
    for member, since in zip(certificate.members, listed.since, strict=True):
        assert member.shown == 240 - 48 == np.sum(since == 0)
        assert member.shown + member.repaired + member.held_out == 240
        assert member.held_out_correct == member.held_out
        assert all(member.rounds)
    assert max(len(member.rounds) for member in certificate.members) > 0
    assert max(member.repaired for member in certificate.members) > 0


@pytest.mark.slow
def test_a_member_that_has_nothing_wrong_rests(repaired: Run) -> None:
    """Trained alone it has the same weights, whatever rounds another one needs."""
    alone = api.begin("luhn", [3], "alone", FIELDS)
    alone.train()
    together, separate = repaired.model(0), alone.model(0)
    for left, right in zip(jax.tree.leaves(together), jax.tree.leaves(separate), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


class KilledError(Exception):
    """Stands for the end of a process."""


def test_a_round_that_was_killed_ends_with_the_same_weights(repaired: Run) -> None:
    run = api.begin("luhn", [3, 4], "killed", FIELDS)

    def kill(progress: Any) -> None:
        if progress.step >= 200:  # the second round, from 180 to 210, has a checkpoint there
            raise KilledError

    with pytest.raises(KilledError):
        run.train(kill)
    assert 180 < checkpoints.steps(run.folder.checkpoints)[-1] < 210
    again = api.load("killed")
    again.train()
    assert tiny.same(again.load_models().stacked, repaired.load_models().stacked)
    resumed, whole = (windows.read(run.folder.path) for run in (again, repaired))
    assert resumed is not None
    assert whole is not None
    assert np.array_equal(resumed.since, whole.since[:, : len(resumed.rows)])


@pytest.mark.slow
def test_windows_that_an_evaluation_meets_join_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are repaired like the others: training goes on after the certificate."""
    whole = certificate.catalogue_of

    def half(*arguments: Any) -> certificate.WindowCatalogue:
        listing = whole(*arguments)
        count = len(listing.rows) // 2
        fields = {name: getattr(listing, name)[:count] for name in ("rows", "targets", "examples")}
        return listing._replace(**fields)

    monkeypatch.setattr(certificate, "catalogue_of", half)
    fields = FIELDS | {"training.problems": 2, "evaluation.count": 60, "evaluation.digits": [9]}
    run = api.begin("luhn", [3], "met", fields, evaluate=True)
    run.complete()
    verdict, listed = run.folder.read_certificate(), windows.read(run.folder.path)
    assert verdict is not None
    assert listed is not None
    assert verdict.met > 0
    assert verdict.windows == 120 + verdict.met == len(listed.rows)
    assert verdict.grade == "saturated"
    assert not verdict.wrong_seeds

    table = listed.rows[:60], listed.targets[:60], listed.since[:, :60]
    windows.save(run.folder.path, windows.TrainingWindows(*table))
    assert main(["ask", "met", "luhn 7992739871"]) == 0
    joined = windows.read(run.folder.path)
    assert joined is not None
    assert len(joined.rows) > 60
    assert {str(problem) for problem in joined.examples.values()} == {"luhn 7992739871"}


def test_a_run_that_ends_wrong_says_so_and_so_does_ask(capsys: pytest.CaptureFixture[str]) -> None:
    fields = FIELDS | {"training.steps": 2, "training.repair": 0}
    options = [f"{name}={value}" for name, value in fields.items()]
    assert main(["train", "luhn", "--run", "wrong", *options]) == 1
    last = " ".join(capsys.readouterr().out.split("WRONG:")[-1].split())
    assert last.startswith("seed 0 on ")
    assert last.endswith("windows, after 0 rounds of repair; `curta certify wrong` shows them")
    assert main(["ask", "wrong", "luhn 12", "luhn 13"]) == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert re.fullmatch(r"curta: member 0 .* is wrong on \d+ of 240 windows, so .*", warned)


def test_a_certificate_is_of_the_last_checkpoint_alone(repaired: Run) -> None:
    step = repaired.folder.read_info().checkpoint
    path = checkpoints.file_of(repaired.folder.checkpoints, step, "safetensors")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.warns(Notice), pytest.raises(UserError, match=f"step {step} is damaged"):
        api.load(str(repaired.folder.path)).certify()
    path.write_bytes(content)


def test_a_run_that_was_repaired_is_not_extended(repaired: Run) -> None:
    with pytest.raises(UserError, match="trained on by rounds of repair"):
        api.extend(str(repaired.folder.path), 10_000)
