# %% [markdown]
# # Curta: small transformers that learn to calculate
#
# Trains a transformer on sums of at most ten digits, lets it calculate, looks inside, and
# compares two ways of telling a model where a digit stands. It takes a few minutes on a CPU,
# here or on Colab; a GPU or TPU is used where there is one.

# %%
# Curta is installed here only if it is not there already. Put the address of its git repository
# in place of the words in angle brackets.
import importlib.util
import pathlib
import shutil

REPOSITORY = "<this repository>"

if importlib.util.find_spec("curta") is None:
    if REPOSITORY.startswith("<"):
        raise RuntimeError("Curta is not installed: put its git address into REPOSITORY above")
    tpu = any(pathlib.Path("/dev").glob("accel*")) or any(pathlib.Path("/dev/vfio").glob("[0-9]*"))
    extra = "[tpu]" if tpu else "[gpu]" if shutil.which("nvidia-smi") else ""
    # %pip install --quiet "curta{extra} @ git+{REPOSITORY}"

# %%
import curta

# %% [markdown]
# ## Train
#
# Two members of one recipe, with two seeds, side by side. Numbers are written least significant
# digit first, and attention is limited to a window of places: that is given. What to do within
# the window is learned. keyword arguments are fields of the recipe; the recipe's own evaluation, of
# up to a thousand digits, takes a little longer.

# %%
small = {
    "evaluation.digits": [20],
    "evaluation.count": 50,
    "evaluation.generated": 4,
    "evaluation.grid": 0,
}


def show(now):
    if now.step % 500 == 0:
        print(f"step {now.step} of {now.steps}, exact match on training problems {now.exact_match}")


run = curta.train("addition", seeds=2, **small, show=show)
run

# %%
run.find_pictures()["learning"]

# %% [markdown]
# ## Ask
#
# Neither problem is of a length that was trained on. `write` gives what the model itself writes.

# %%
for problem in ("99999999999999999999+1", "31415926535897932384+27182818284590452353"):
    left, right = problem.split("+")
    print(f"{problem} = {run.ask(problem)}, right is {int(left) + int(right)}")
run.write(["57+68"])

# %% [markdown]
# ## Look inside
#
# What every head looks at while one sum is written: each line is a token that is about to be
# written, each column one that may be looked at.

# %%
curta.probe(run, "attention", problem="57+68", members=[0])
run.find_pictures()["probes/attention"]

# %% [markdown]
# What else might have stood there, with probabilities:

# %%
curta.probe(run, "top-k", problem="57+68", k=3, members=[0])

# %% [markdown]
# The digits' vectors from their random start to the end, laid into a plane:

# %%
curta.probe(run, "tokens", members=[0])
run.find_pictures()["probes/tokens"]

# %% [markdown]
# ## Compare two encodings
#
# The window against rotary positions over the same text, on the same small budget. With so few
# steps this says who is quicker, not who wins in the end.

# %%
budget = small | {"training.steps": 100}
both = curta.compare(
    [
        "window: addition",
        "RoPE: addition positions.name=rope model.num_layers=2 model.num_attention_layers=2",
    ],
    seeds=1,
    run="two-encodings",
    **budget,
)
both.find_pictures()["learning"]

# %%
both

# %% [markdown]
# Tables are lists of rows, so `pandas.DataFrame(both.read_rows())` has them as well. Everything is
# in the folder `runs`: a report as one HTML page (`run.folder.report`), metrics, checkpoints, and
# the evaluation. `curta serve` shows all of it in a browser; the guide in `docs/guide.md` has the
# rest.
