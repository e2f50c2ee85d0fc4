# %% [markdown]
# # Activation patching with TransformerLens
#
# Trains a small transformer on sums of at most three digits, exports it, opens it with
# TransformerLens, and asks which part of it carries one digit to the answer. At the end the same
# is asked with Curta's own probe. It takes a minute or two on a CPU, here or on Colab.

# %%
# Curta is installed here only if it is not there already. Put the address of its git repository
# in place of the words in angle brackets.
import importlib.util

REPOSITORY = "<this repository>"

if importlib.util.find_spec("curta") is None:
    if REPOSITORY.startswith("<"):
        raise RuntimeError("Curta is not installed: put its git address into REPOSITORY above")
    package = f"curta[lens] @ git+{REPOSITORY}"
    # %pip install --quiet "{package}"

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from transformer_lens import patching

import curta
from curta.export import write
from curta.export.lens import opened

# %% [markdown]
# ## Train
#
# Two layers, rotary positions, no program and no window: what a transformer is usually given.
# Numbers are written with the least significant digit first, so `357+268` is `753+862=526$`.

# %%
small = {
    "task.digits": [1, 3],
    "model.num_layers": 2,
    "model.num_attention_layers": 2,
    "training.steps": 2000,
    "training.checkpoint_every": 2000,
    "evaluation.digits": [3],
    "evaluation.count": 200,
    "evaluation.grid": 0,
}
run = curta.train("addition-reversed", run="patched", **small)
run

# %% [markdown]
# ## Open
#
# The exported folder is what `curta export patched --to huggingface` writes. The model in
# TransformerLens has its usual hooks. Without a folder `run.to_transformer_lens()` gives the same.

# %%
model = opened(write(run, "huggingface", Path("patched-adder")))
print(model)


# %%
def prompt(a, b):
    return f"{str(a)[::-1]}+{str(b)[::-1]}="


model.generate(prompt(357, 268), max_new_tokens=4, do_sample=False, verbose=False)

# %% [markdown]
# ## Two problems that differ in one digit
#
# `357+268` is to be answered with the values that `357+269` has in one place. The first digit that
# is written tells the two apart: 5 or 6. Their logits' difference at `=` is measured, as a share of
# the way from the first problem (0) to the second (1).

# %%
texts = [prompt(357, 268), prompt(357, 269)]
target, source = model.to_tokens(texts)[:, None]
five, six = model.to_single_token("5"), model.to_single_token("6")
torch.set_grad_enabled(False)

_, values = model.run_with_cache(source)
own, other = (float(logits[six] - logits[five]) for logits in model(texts)[:, -1])


def effect(logits):
    return (logits[0, -1, six] - logits[0, -1, five] - own) / (other - own)


print(f"logit of 6 less that of 5: {own:.2f} in {texts[0]}, {other:.2f} in {texts[1]}")

# %% [markdown]
# ## Patch every part at every token
#
# Each function of `transformer_lens.patching` puts one value of the second problem into the first,
# for every layer and token in turn. A head's share of the state follows from `hook_z` alone, so
# patching that is patching what the head adds. The last state has no function of its own.

# %%
given = (model, target, values, effect)
heads = patching.get_act_patch_attn_head_out_by_pos(*given)
mlps = patching.get_act_patch_mlp_out(*given)
states = patching.get_act_patch_resid_pre(*given)


def last_state(position):
    def put(value, hook):
        value[:, position] = values[hook.name][:, position]
        return value

    name = f"blocks.{model.cfg.n_layers - 1}.hook_out"
    return effect(model.run_with_hooks(target, fwd_hooks=[(name, put)]))


effects = {"embedding": states[0]}
for layer in range(model.cfg.n_layers):
    for head in range(model.cfg.n_heads):
        effects[f"layer {layer} head {head}"] = heads[layer, :, head]
    effects[f"layer {layer} MLP"] = mlps[layer]
    following = range(target.shape[1]) if layer + 1 == model.cfg.n_layers else ()
    after = [last_state(position) for position in following] or states[layer + 1]
    effects[f"state after layer {layer}"] = torch.as_tensor(after)
table = np.array([row.numpy() for row in effects.values()])

# %%
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
drawn = axes.imshow(table, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
axes.set_xticks(range(table.shape[1]), model.to_str_tokens(texts[0]))
axes.set_yticks(range(len(effects)), effects)
axes.set_xlabel(f"token of {texts[0]} that is patched from {texts[1]}")
figure.colorbar(drawn, label="effect on 5 or 6")
plt.show()

# %% [markdown]
# The digit lies in the state of its own token, the 8, until attention brings it to `=`, where the
# answer is written. Which heads do that, and how many, differs from seed to seed.
#
# ## The same with Curta's probe
#
# `curta probe patched patching --problem 357+268 --other 357+269` on the command line.

# %%
rows = curta.probe(run, "patching", problem="357+268", other="357+269")
probed = np.zeros_like(table)
for row in rows:
    probed[list(effects).index(row["part"]), row["position"]] = row["median"]
print(f"{len(rows)} effects, largest difference {np.abs(table - probed).max():.4f}")
assert np.allclose(table, probed, atol=1e-3)

# %%
run.find_pictures()["probes/patching"]

# %% [markdown]
# ## Go on
#
# Attention at `=` in the layer that brings the digit: `values["pattern", 1]`, of every head. With
# `model.set_use_attn_result(True)` there is what each head adds, too. The guide says which runs can
# be opened, and which hook is which of Curta's own sites.
