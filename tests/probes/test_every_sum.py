"""The probe of all sums: a proof, or a sum that the member itself writes wrong."""

import jax
import jax.numpy as jnp
import pytest

import curta
from curta.frontends import api
from curta.probes.every_sum import EverySum
from curta.runs import checkpoints
from curta.runs.run import Run
from curta.training import trainer
from tests import adder, tiny


def run_of(*members: object) -> Run:
    """A run whose members are these adders."""
    run = api.begin("adderboard", len(members), "adders", adder.CHANGES)
    state = trainer.init(run.recipe, run.layout, jnp.asarray(run.seeds))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    owner = checkpoints.owner(run.recipe, run.seeds, 10)
    checkpoints.save(run.folder.checkpoints, 10, state._replace(model=stacked), owner)
    return curta.load("adders")


@pytest.mark.slow
def test_a_member_is_proved_or_has_a_wrong_sum_that_it_writes() -> None:
    rows = curta.probe(run_of(adder.solved(), adder.nearly()), "every-sum")
    right, wrong = rows
    assert (right["grade"], right["problem"]) == ("proved", None)
    assert right["margin"] > 1
    assert (wrong["grade"], wrong["margin"]) == ("wrong", None)
    first, second = map(int, wrong["problem"].split("+"))
    assert wrong["written"] != first + second


def test_other_models_are_refused() -> None:
    for recipe in (tiny.recipe(), tiny.dense(), adder.recipe(model__qk_input="state")):
        assert EverySum.unfit(recipe) is not None
    assert EverySum.unfit(adder.recipe()) is None
