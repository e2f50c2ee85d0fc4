"""A function in a background thread, and its result as a future."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def begin(function: Callable[[], T]) -> "Future[T]":
    """Start the function in a daemon thread: the program may end before the function does."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # raised again by `future.result()`
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
