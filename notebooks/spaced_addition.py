# %% [markdown]
# # Sums with spaces, in and out of distribution
#
# A small GPT-2 learns `1234 + 5678 =`, and is then asked `1 234 + 5 678=`, a spacing that it never
# saw. The source is a notebook on transformers and TRL; it kept no figures. The small size takes
# some minutes on a laptop, the full one hours, or minutes of a GPU.

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
RECIPE = "sources/spaced-addition"
SETTINGS = {
    "tiny": {
        "training.steps": 20,
        "training.validate_every": 10,
        "training.validation": 20,
        "evaluation.count": 10,
        "evaluation.held_out": 40,
        "evaluation.generated": 10,
        "model.width": 32,
    },
    "small": {
        "training.steps": 1564,
        "training.validate_every": 391,
        "training.validation": 500,
        "evaluation.held_out": 500,
        "evaluation.generated": 50,
    },
    "full": {},
}[SIZE]

# %% [markdown]
# ## Data
#
# 50,000 pairs of four-digit numbers to train on, 10,000 each for validation and the two exams. No
# pair is in two of them; a pair and its mirror image (2+1 of 1+2) may be, and are counted.

# %%
summary = curta.data(RECIPE, rows=50_000, out="spaced-addition", form="jsonl")
print(summary.rows)
print("problems or mirrored problems in two splits:", dict(summary.overlaps))


def read(folder, split):
    """Return the rows of a split."""
    with Path(folder, "data", f"{split}.jsonl").open() as file:
        return [json.loads(line) for line in file]


train, apart = read("spaced-addition", "train"), read("spaced-addition", "test_ood")
print(train[0]["prompt"], train[0]["completion"], "|", apart[0]["prompt"])

# %%
import numpy as np

sums = np.array([row["answer"] for row in train])
print(f"sums from {sums.min():,} to {sums.max():,}, mean {sums.mean():,.0f}, sd {sums.std():,.0f}")
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.hist(sums, bins=60)
axes.set_xlabel("sum")
axes.set_ylabel("problems")
plt.show()

# %% [markdown]
# ## Train
#
# GPT-2 as its class is configured by default, the loss on the completion only.


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


run = curta.train(RECIPE, run="spaced-addition", show=live, **SETTINGS)
run

# %%
run.find_pictures()["learning"]

# %% [markdown]
# ## The source's plots: two exams
#
# Held-out sums with the spaces of training, and with spaces elsewhere. The source reports no
# figures.

# %%
rows = run.read_rows()
rows

# %%
shares = {row["slice"]: row["median"] for row in rows if "held out" in row["slice"]}
figure, axes = plt.subplots(figsize=(4, 2.6), layout="constrained")
axes.bar(list(shares), list(shares.values()))
axes.set_ylim(0, 1)
axes.set_ylabel("exact match")
plt.show()

# %% [markdown]
# ## Ask, and export
#
# The exported folder opens with `AutoModelForCausalLM.from_pretrained`.

# %%
from curta.export import write

for problem in ("1234+5678", "9999+1111", "1000+1000"):
    print(f"{problem} = {run.ask(problem)}, right is {eval(problem)}")
print(sorted(path.name for path in write(run, "huggingface", Path("spaced-gpt2")).iterdir()))
