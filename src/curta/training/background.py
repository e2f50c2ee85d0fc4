"""Work beside other work: a function in a thread of its own, and its result when it is wanted."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def begin(function: Callable[[], T]) -> "Future[T]":
    """The function's result to come, or what it raised; the program may end before it does."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # raised for whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
