# %% [markdown]
# # Abacus positions and a looped decoder
#
# One block of a transformer, run several times over; each digit's vector says which digit of its
# number it is. The source, a post that reproduces arXiv 2405.17399 on one GPU, reports 61.3 % over
# a grid of 40 by 40 lengths with 16 loops. The small size takes some minutes; the full one days.

# %%
# Curta is installed here only if it is not there already. Put the address of its git repository
# in place of the words in angle brackets.
import importlib.util

REPOSITORY = "<this repository>"

if importlib.util.find_spec("curta") is None:
    if REPOSITORY.startswith("<"):
        raise RuntimeError("Curta is not installed: put its git address into REPOSITORY above")
    package = f"curta @ git+{REPOSITORY}"
    # %pip install --quiet "{package}"

# %%
import json
import os
from pathlib import Path

import matplotlib.pyplot as plt

import curta

SIZE = os.environ.get("SIZE", "small")  # "full" for the source's own size
RECIPE = "sources/looped-abacus" if SIZE == "full" else "sources/looped-abacus-small"
SETTINGS = {
    "tiny": {
        "task.digits": [1, 2],
        "training.steps": 20,
        "training.checkpoint_every": 10,
        "model.num_recurrences": 2,
        "evaluation.digits": [2],
        "evaluation.count": 10,
        "evaluation.named": ["1+1"],
        "evaluation.grid": 3,
        "evaluation.grid_count": 5,
    },
    "small": {
        "task.digits": [1, 4],
        "training.steps": 2000,
        "training.checkpoint_every": 500,
        "evaluation.digits": [2, 4, 6],
        "evaluation.grid": 8,
        "evaluation.grid_count": 30,
    },
    "full": {},
}[SIZE]

# %% [markdown]
# ## Data
#
# All numbers lowest digit first, lengths uniform. The i-th digit of a number gets table row i,
# plus a random offset for each text in training; other symbols get row 0.

# %%
sizes = {key: SETTINGS[key] for key in SETTINGS if key in ("task.digits", "evaluation.digits")}
summary = curta.data(RECIPE, rows=5000, out="looped-abacus", form="jsonl", **sizes)
print(summary.rows)


def read(folder, split):
    """Return the rows of a split."""
    with Path(folder, "data", f"{split}.jsonl").open() as file:
        return [json.loads(line) for line in file]


train = read("looped-abacus", "train")
for row in train[:3]:
    print(row["prompt"] + row["completion"])
counts = [len(str(number)) for row in train for number in row["operands"]]
figure, axes = plt.subplots(figsize=(4, 2.4), layout="constrained")
axes.hist(counts, bins=range(1, max(counts) + 2), align="left", rwidth=0.8)
axes.set_xlabel("digits of an operand")
plt.show()

# %% [markdown]
# ## Train
#
# Half of the loss is taken after all loops, half after a random smaller number of them. The named
# problems are written at every checkpoint.


# %%
def live(now):
    """Print ten lines over a training, and one for each validation."""
    tenth = max(1, now.steps // 10 // 100 * 100)
    if now.validated or now.step % tenth == 0:
        line = f"step {now.step:,} of {now.steps:,}: loss {now.loss[0]:.4f}"
        line += f", exact match {now.exact_match[0]:.3f}"
        if now.validated:
            line += f", held out {now.validated.exact_match[0]:.3f}"
        print(line)


run = curta.train(RECIPE, run="looped-abacus", show=live, **SETTINGS)
run

# %%
run.find_pictures()["learning"]

# %% [markdown]
# ## The source's plots and probes
#
# Exact match for every pair of lengths. Beyond the training lengths, to the right and above, the
# model was never shown anything.

# %%
run.find_pictures()["grid"]

# %% [markdown]
# Exact match, and the perplexity of the right answer, by the number of loops:

# %%
curta.probe(run, "recurrences")

# %% [markdown]
# ## Reported, and here

# %%
reported = {1: 0.000, 2: 0.320, 8: 0.611, 16: 0.613, 32: 0.613}
grid = run.folder.read_evaluation().grids[0]
cells = [cell for row in grid.exact_match[0] for cell in row]
print("reported, grid of 40 by 40:", reported)
print(f"here, grid of {len(grid.exact_match[0])} by the same: {sum(cells) / len(cells):.3f}")

# %% [markdown]
# ## Ask

# %%
run.ask("57+24")
