"""The library's cache is a folder of the session here, too."""

from ..huggingface.conftest import _own_cache  # noqa: F401
