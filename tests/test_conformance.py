"""Every design calculates the same in every way, and that is what plain NumPy calculates.

The designs are the lines of `designs.DESIGNS`. A way is a function of a design that returns the
logits of its texts, what the model writes after their prompts, or both.
"""

import json
import runpy
import subprocess
import sys
import typing
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.positions import Positions
from curta.config.sections import ModelConfig
from curta.evaluation.generation import completions
from curta.evaluation.scoring import Memo
from curta.export import EXPORTERS
from curta.export.html.page import Carried, render_page
from curta.layouts import ShapeBounds, Text
from curta.layouts.base import completion_batch
from curta.model import weights
from curta.model.inspection import record_activations
from curta.model.transformer import logits_of_windows
from curta.programs.machine import survey
from curta.programs.machine.writing import write
from curta.reference import WindowWriter
from tests import tiny
from tests.designs import DESIGNS, Design, design

Logits = list[np.ndarray]
Written = list[list[int]]
Found = tuple[Logits | None, Written | None]


GRAPHS = """
import sys
from pathlib import Path
from curta.export import EXPORTERS
from curta.programs.machine import survey
from tests.designs import design
survey.TOKENS = int(sys.argv[2])  # what a survey finds depends on it
for name in sys.argv[3:]:
    EXPORTERS["onnx"].write(design(name).exported, Path(sys.argv[1]) / f"{name}.onnx")
"""


class Tools:
    """A folder for exports, graphs, and a tab of a browser, made when they are first used."""

    def __init__(self, folder: Path, stack: ExitStack, graphs: Collection[str]) -> None:
        self.folder, self.stack, self.names = folder, stack, graphs
        self.complaints: list[str] = []

    @cached_property
    def graphs(self) -> Path:
        """The folder with the graphs of the designs that are tried.

        Shapes in them are symbols, which the suite's type checker does not know: a process of its
        own writes them.
        """
        words = (str(self.folder), str(survey.TOKENS), *self.names)
        subprocess.run([sys.executable, "-c", GRAPHS, *words], check=True)
        return self.folder

    @cached_property
    def tab(self) -> Any:
        from tests.export.html.browser import chromium

        tab = self.stack.enter_context(chromium()).new_page()
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        return tab


def room(of: Design, more: int = 0) -> ShapeBounds:
    """Room for the texts of a design, and so many tokens more."""
    prompt = max(prompt for _, prompt in of.texts)
    completion = max(len(tokens) - prompt for tokens, prompt in of.texts)
    completion = max(completion, more) if of.causal else prompt
    return ShapeBounds(prompt, completion, ((-1, 20),) * len(of.layout.axes))


def rows(of: Design) -> Text:
    """The texts of a design, each filled up to the longest."""
    return tiny.batch(of.texts, max(len(text) for text, _ in of.texts))


def training_pass(of: Design, tools: Tools) -> Found:
    """Texts in a padded batch, in the recipe's precision; logits from the prompt's end on."""
    text, bounds = rows(of), room(of)

    @jax.jit
    def passed(model: Any) -> jax.Array:
        model = weights.cast(model, of.recipe.training.precision)
        batch = completion_batch(text, of.layout.where(text), bounds, causal=of.causal)
        return model(batch.tokens, batch.where, batch.queries, bounds)

    found = []
    for row, (tokens, prompt), wanted in zip(passed(of.model), of.texts, of.logits, strict=True):
        begin, count = (prompt - 1, len(tokens) - prompt) if of.causal else (0, prompt)
        mixed = wanted.copy()
        mixed[begin : begin + count] = row[:count]
        found.append(mixed)
    return found, None


def looking_inside(of: Design, tools: Tools) -> Found:
    """As the probes see it, site by site."""
    text, bounds = rows(of), room(of)

    @jax.jit
    def passed(model: Any) -> jax.Array:
        where = of.layout.where(text)
        return record_activations(model, text.tokens, where, bounds, {"logits"})["logits"]

    found = np.asarray(passed(of.model))
    return [row[: len(tokens)] for row, (tokens, _) in zip(found, of.texts, strict=True)], None


def decoding_with_cache(of: Design, tools: Tools) -> Found:
    bounds = room(of, of.most)
    written = completions(of.model, of.layout, of.problems, bounds)
    if not of.causal:  # each answer has as many tokens as its prompt
        return None, [text[:prompt] for text, (_, prompt) in zip(written, of.texts, strict=True)]
    return None, [text[: of.most] for text in written]


def memo_of_windows(of: Design, tools: Tools) -> Found:
    found = jax.jit(logits_of_windows)(of.model, jnp.asarray(np.concatenate(of.windows)))
    ends = np.cumsum([len(rows) for rows in of.windows])[:-1]
    memo = Memo(jax.tree.map(lambda leaf: leaf[None], of.model), 1, of.windows[0].shape[1])
    return np.split(np.asarray(found), ends), _by_windows(of, partial(memo.tokens, member=0))


def numpy_reference(of: Design, tools: Tools) -> Found:
    reference = WindowWriter(of.recipe.model, of.weights, of.layout.machine, of.layout.windows)
    return list(map(reference.logits, of.windows)), _by_windows(of, reference.next_tokens)


def _by_windows(of: Design, next_tokens: Any) -> Written:
    prompts = [tokens[:prompt] for tokens, prompt in of.texts]
    return write(of.layout.machine, of.layout.windows, next_tokens, prompts, of.most)


def ended(of: Design, text: list[int]) -> list[int]:
    """What was written up to the first end sign."""
    end = of.layout.end
    return text[: text.index(end) + 1] if end in text else text


@cache
def opened(of: Design, folder: Path) -> Any:
    """The exported folder as users of transformers open it."""
    from transformers import AutoModelForCausalLM

    EXPORTERS["huggingface"].write(of.exported, folder / of.name)
    return AutoModelForCausalLM.from_pretrained(folder / of.name, trust_remote_code=True).eval()


def torch_whole(of: Design, tools: Tools, cache: bool = False) -> Found:
    """Each text alone; with the cache in pieces, the last ones a token long."""
    import torch

    model, logits, written = opened(of, tools.folder), [], []
    with torch.no_grad():
        for tokens, prompt in of.texts:
            text, past, pieces = torch.tensor([tokens]), None, []
            sizes = [prompt - 2, 2, *[1] * (len(tokens) - prompt)] if cache else [len(tokens)]
            for piece in torch.split(text, sizes, dim=1):
                found = model(piece, past_key_values=past, use_cache=cache)
                past, pieces = found.past_key_values, [*pieces, found.logits[0].numpy()]
            logits.append(np.concatenate(pieces))
            more = model.generate(text[:, :prompt], max_new_tokens=of.most, use_cache=cache)
            written.append(more[0, prompt:].tolist())
    return logits, written


def torch_batch(of: Design, tools: Tools) -> Found:
    """All texts in one batch, filled up on the left."""
    import torch

    model = opened(of, tools.folder)

    def batch(texts: Written) -> dict[str, Any]:
        longest = max(map(len, texts))
        tokens = [[0] * (longest - len(text)) + text for text in texts]
        mask = [[0] * (longest - len(text)) + [1] * len(text) for text in texts]
        return {"input_ids": torch.tensor(tokens), "attention_mask": torch.tensor(mask)}

    given = batch([tokens for tokens, _ in of.texts])
    places = (given["attention_mask"].cumsum(1) - 1).clamp(min=0)
    own = {} if model.config.model_type == "curta" else {"position_ids": places}
    with torch.no_grad():
        found = model(**given, **own).logits.numpy()
    logits = [row[-len(tokens) :] for row, (tokens, _) in zip(found, of.texts, strict=True)]
    prompts = batch([tokens[:prompt] for tokens, prompt in of.texts])
    more = model.generate(**prompts, max_new_tokens=of.most)[:, prompts["input_ids"].shape[1] :]
    return logits, [ended(of, text) for text in more.tolist()]


def transformer_lens(of: Design, tools: Tools) -> Found:
    import torch

    from curta.export import lens

    bridge = lens.bridge(of.exported)
    with torch.no_grad():
        return [bridge(torch.tensor([t]))[0].numpy() for t, _ in of.texts], None


def onnx(of: Design, tools: Tools) -> Found:
    """Logits of whole texts; written with what is kept of earlier tokens."""
    from docs.examples.onnx_writer import Writer

    writer = Writer(str(tools.graphs / f"{of.name}.onnx"))
    past, sizes = dict[str, np.ndarray](), {"batch": 1, "past": 0}
    for each in writer.past:
        shape = [sizes.get(size, size) for size in each.shape]
        past[each.name] = np.zeros(shape, np.int32 if "int32" in each.type else np.float32)
    logits = [
        writer.session.run(["logits"], past | {"tokens": np.array([tokens], np.int32)})[0][0]
        for tokens, _ in of.texts
    ]
    if not of.causal:
        return logits, [ended(of, row.argmax(1).tolist()) for row in logits]
    end = of.layout.end
    return logits, [list(writer.write(t[:prompt], end, of.most)) for t, prompt in of.texts]


def adderboard(of: Design, tools: Tools) -> Found:
    """The file of Python, which calculates a whole text anew for each token."""
    path = tools.folder / "adderboard.py"
    EXPORTERS["adderboard"].write(of.exported, path)
    model, _ = runpy.run_path(str(path))["build_model"]()
    return [model(np.array(tokens)) for tokens, _ in of.texts], None


def page(of: Design, tools: Tools) -> Found:
    """In Chromium; under a window with what was remembered of earlier windows."""
    run, path = Carried("mine", of.recipe, of.layout, [of.weights]), tools.folder / "page.html"
    path.write_text(render_page(run, 0), encoding="utf-8")
    tools.tab.goto(path.as_uri())
    texts, problems = [tokens for tokens, _ in of.texts], list(map(str, of.problems))
    look = "(text) => curta.sites(text).logits.map((row) => [...row])"
    logits = [np.array(rows) for rows in evaluated(tools.tab, f"{json.dumps(texts)}.map({look})")]
    most = of.most if of.causal else room(of).total  # all of an answer at once
    write = f"(problem) => curta.write(problem, {most})"
    written = evaluated(tools.tab, f"{json.dumps(problems)}.map({write})")
    if not of.causal:
        written = [text[:prompt] for text, (_, prompt) in zip(written, of.texts, strict=True)]
    return logits, written


def evaluated(tab: Any, expression: str) -> Any:
    return json.loads(tab.evaluate(f"JSON.stringify({expression})"))


class Way(NamedTuple):
    """A way to calculate, which designs it does not take, and whether it needs extras."""

    call: Callable[[Design, Tools], Found]
    refused: Collection[str] = ()
    slow: bool = False


OTHERS = [name for name in DESIGNS if not name.startswith("window")]
NO_TORCH = [
    *("encoder", "window, shared weights", "window, arc", "coupled waves", "residues"),
    *("abacus, inside, looped", "positions alone"),  # the fields of the first have no end sign
]
NOT_ADDERBOARD = [*OTHERS, "window, two axes"]  # which multiplies
NOT_ADDERBOARD.remove("coupled waves")
WAYS: dict[str, Way] = {
    "training pass": Way(training_pass),
    "looking inside": Way(looking_inside),
    "decoding with cache": Way(decoding_with_cache),
    "memo of windows": Way(memo_of_windows, OTHERS),
    "NumPy reference": Way(numpy_reference, OTHERS),
    "AdderBoard": Way(adderboard, NOT_ADDERBOARD),
    "PyTorch": Way(torch_whole, NO_TORCH, slow=True),
    "PyTorch with cache": Way(partial(torch_whole, cache=True), NO_TORCH, slow=True),
    "PyTorch in padded batches": Way(torch_batch, NO_TORCH, slow=True),
    "TransformerLens": Way(transformer_lens, NO_TORCH, slow=True),
    "ONNX": Way(onnx, slow=True),
    "page": Way(page, slow=True),
}


@pytest.fixture(scope="module")
def tools(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    """Transformers keeps the code of models in a cache, which is in a folder of the tests here."""
    folder = tmp_path_factory.mktemp("designs")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("HF_HOME", str(folder / "huggingface"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        params = [getattr(item, "callspec", None) for item in request.session.items]
        tried = [each.params for each in params if each and "way" in each.params]
        yield Tools(folder, stack, [each["name"] for each in tried if each["way"] == "ONNX"])


@pytest.mark.parametrize(
    ("way", "name"),
    [
        pytest.param(way, name, marks=[pytest.mark.slow] * about.slow)
        for name in DESIGNS
        for way, about in WAYS.items()
        if name not in about.refused
    ],
)
def test_logits_and_answers_are_those_of_plain_numpy(way: str, name: str, tools: Tools) -> None:
    of = design(name)
    logits, written = WAYS[way].call(of, tools)
    half = way == "training pass" and of.recipe.training.precision == "bfloat16"
    largest = max(np.abs(row).max() for row in of.logits)
    for mine, plain in zip(logits or of.logits, of.logits, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=0, atol=(0.1 if half else 2e-5) * largest)
    assert (written or of.written) == of.written
    assert len({token for text in of.written for token in text}) > 2  # equal ones would say little
    assert not tools.complaints


def test_the_designs_have_every_encoding_and_every_setting_of_a_model() -> None:
    recipes = [design(name).recipe for name in DESIGNS]
    encodings = {typing.get_type_hints(each)["name"] for each in typing.get_args(Positions)}
    named = {value for kind in encodings for value in typing.get_args(kind)} - {"(file)"}
    assert {recipe.positions.name for recipe in recipes} == named
    for field, kind in typing.get_type_hints(ModelConfig).items():
        values = [getattr(recipe.model, field) for recipe in recipes]
        if field in ("biases", "weight_sharing"):  # tuples of several
            values, kind = [each for value in values for each in value], typing.get_args(kind)[0]
        if field != "init" and (kind is bool or typing.get_origin(kind) is typing.Literal):
            assert set(values) == set(typing.get_args(kind) or (True, False)), field


@pytest.mark.parametrize(
    ("form", "refused"), [("huggingface", NO_TORCH), ("adderboard", NOT_ADDERBOARD), ("onnx", [])]
)
def test_a_form_refuses_what_it_cannot_express_and_nothing_else(
    form: str, refused: Collection[str]
) -> None:
    found = [name for name in DESIGNS if EXPORTERS[form].refuse(design(name).recipe)]
    assert sorted(found) == sorted(refused)
