"""Compiled programs, kept between runs: a store of ours in place of JAX's files.

JAX writes an entry in place and never again. So one that was torn is read, warned of and compiled
at every start, for ever, and one that was altered may even be executed. What JAX asks of a store
is `get` and `put`, by keys that name what was compiled and by what; see `config.cache` for the
rest.
"""

from pathlib import Path

from curta.config import cache, files


class Store:
    """The compiled programs in a folder, an entry each."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def get(self, key: str) -> bytes | None:
        """What was kept under the key; None if nothing was, or it is damaged."""
        return cache.read(self._path / key)

    def put(self, key: str, value: bytes) -> None:
        """Keeps it; JAX does so where `get` had nothing that it could use."""
        cache.keep(self._path / key, value)


def folder() -> Path:
    return files.cache_folder() / "compiled"


def install() -> bool:
    """Gives JAX the store, from its first use of one on; False if it has no place for it.

    Then JAX keeps files of its own, which serve as well until one of them is damaged.
    """
    try:  # its module for the cache is no part of JAX's public interface
        from jax._src import compilation_cache as jax_cache
    except ImportError:
        return False
    if not callable(getattr(jax_cache, "get_file_cache", None)):
        return False
    jax_cache.get_file_cache = lambda path: (Store(path), path)  # type: ignore[assignment, return-value]
    return True
