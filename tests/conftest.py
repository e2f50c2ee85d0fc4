"""How the suite runs: strict types, shapes and dtypes, two CPU devices, one compile cache.

Also with kernels that differ from program to program, and on request (`make test ISA=SSE4_2`) with
those of an older processor.
"""

import contextlib
import functools
import gc
import os
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests import UNOPTIMISED, typecheck

# A shell's background jobs ignore Ctrl-C, and so would the commands that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # outside of the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent
ISA = os.environ.get("ISA", "")
"""The largest instruction set that XLA may use, such as SSE4_2 or AVX2; empty: the processor's."""

os.environ.setdefault("CURTA_CACHE", str(ROOT / ".cache" / ISA))
os.environ.setdefault("CURTA_CORES", "2")
for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"):
    os.environ.pop(name, None)  # tables are printed alike in every terminal

# XLA_FLAGS= asks for programs as users have.
os.environ.setdefault("XLA_FLAGS", " ".join(UNOPTIMISED))
if ISA:
    os.environ["XLA_FLAGS"] += f" --xla_cpu_max_isa={ISA}"

typecheck.install()  # before any import of the package

import hypothesis  # noqa: E402
import jax  # noqa: E402
import optax  # noqa: E402
import pytest  # noqa: E402
from jax._src import compiler  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402

from curta.programs.machine import check, survey  # noqa: E402
from curta.programs.proof import closing  # noqa: E402
from curta.programs.user import registry  # noqa: E402
from curta.training import devices  # noqa: E402
from tests import made_once  # noqa: E402

devices.configure()
jax.config.update("jax_num_cpu_devices", 2)  # also where there are more cores
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def lenient(chain: Callable[..., optax.GradientTransformation]) -> Callable[..., Any]:
    """`optax.chain`, whose own updates mix dtypes, and so may; the package's code may not."""

    @functools.wraps(chain)
    def wrapped(*parts: optax.GradientTransformation) -> optax.GradientTransformation:
        whole = chain(*parts)

        def update(*arguments: Any, **named: Any) -> Any:
            with jax.numpy_dtype_promotion("standard"):
                return whole.update(*arguments, **named)

        return optax.GradientTransformationExtraArgs(whole.init, update)

    return wrapped


optax.chain = lenient(optax.chain)

# JAX makes a context of its compiler's dialects for each of its programs: a tenth of the time. One
# a thread is enough.
_contexts, _make_context = threading.local(), mlir.make_ir_context


def context_of_thread() -> Any:
    if not hasattr(_contexts, "own"):
        _contexts.own = _make_context()
    return _contexts.own


mlir.make_ir_context = context_of_thread

# A test once compared, to the bit, what two programs calculate: they agreed where it was written,
# and differed on another processor. Here they differ everywhere, since the text of a program says
# whether its products and sums are XLA's own or those of the library that XLA prefers.
_compile = compiler.compile_or_get_cached


def compile_by_text(backend: Any, program: Any, devices: Any, options: Any, *others: Any) -> Any:
    _, _, body = str(program).partition("\n")  # its first line holds its name
    if zlib.crc32(body.encode()) % 2:
        options.env_option_overrides = [("xla_cpu_experimental_ynn_fusion_type", "")]
    return _compile(backend, program, devices, options, *others)


compiler.compile_or_get_cached = compile_by_text

# Programs are short enough for the tests to be surveyed, checked and listed in fewer tokens. A
# proof that takes 8 s takes a minute where every annotation is checked; `proof/test_closing.py`
# gives its own.
survey.TOKENS, check.TOKENS = 48_000, 6_000
registry.list_and_prove = functools.partial(closing.list_and_prove, budget=20_000)
closing.FIRST, closing.SECONDS, closing.ROWS = 4_000, 1.0, 1.0

# Tracing makes objects by the million, and every collection walks all that the suite has imported:
# a file of tests took 148 s with it and 35 s without. `_forget_programs` collects instead, and
# leaves alone what was imported.
gc.disable()
gc.freeze()

MAPS = 6_000
"""Memory maps of a process after which its compiled programs are forgotten."""

hypothesis.settings.register_profile(
    "curta",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("curta")


def pytest_configure(config: pytest.Config) -> None:
    """Beartype looks at a random item of a list: no randomness of the strategies themselves."""
    config.addinivalue_line("filterwarnings", "ignore:Do not use the `random` module")


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Without this, thousands of programs later, the suite ended in a segmentation fault.

    Most likely since each holds memory maps, of which Linux allows a process 65,530.
    """
    yield
    if len(Path("/proc/self/maps").read_bytes().splitlines()) > MAPS:
        jax.clear_caches()
        gc.collect()
        gc.freeze()  # what is left stays: the next collection need not walk it


@pytest.fixture(autouse=True)
def runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has its own, empty folder of runs."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("CURTA_RUNS", str(folder))
    return folder


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """Texts of models that never end are given up early, which takes seconds instead of minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*made_once.BRIEF)
        yield


@pytest.fixture(scope="module")
def empty_pictures() -> Iterator[None]:
    """Figures are saved with nothing on them: to draw them takes most of a report's time."""
    with pytest.MonkeyPatch.context() as patch:
        made_once.empty_pictures(patch)
        yield


@pytest.fixture(autouse=True, scope="module")
def _draw_nothing(request: pytest.FixtureRequest) -> None:
    """What is drawn is looked at by the tests of reports, pages and pictures."""
    _, room, *_ = request.path.relative_to(ROOT).parts
    if room in ("evaluation", "faults", "frontends", "programs", "runs"):
        request.getfixturevalue("empty_pictures")


@pytest.fixture(scope="module")
def repaired(
    shared_runs: made_once.Shared, tmp_path_factory: pytest.TempPathFactory
) -> made_once.Run:
    """Two certified members that were trained too briefly, and repaired."""
    return shared_runs.repaired(tmp_path_factory.mktemp("repaired"))


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory: pytest.TempPathFactory) -> made_once.Shared:
    """Runs that many tests begin with; the folder is that of all workers."""
    own = tmp_path_factory.getbasetemp()
    return made_once.Shared(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)
