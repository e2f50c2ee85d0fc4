"""What ties the processes of a run together besides JAX: process 0 says what is to be done.

Each of the others has a connection to process 0, over which nothing but JSON goes. It ends when
either process does, however that came about, and then the other one ends at once: files are
replaced whole, so nothing is lost by that but what was not saved yet.
"""

import json
import os
import queue
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from curta.config.launched import Process
from curta.runs import interrupts

Message = dict[str, Any]

WHERE = 512
"""Bytes of what process 0 tells by JAX of where it can be reached."""

PATIENCE = 10.0
"""Seconds in which the others end once they are told to."""

_TEAM: "list[Team]" = []
"""The team that this process leads, if it leads one."""


class Team:
    """Process 0's connections to the others, by their index."""

    def __init__(self, connections: dict[int, Connection]) -> None:
        self.connections, self.ending = connections, False
        self.answered: Callable[[int, Message], None] = lambda index, message: None
        """What is done with what a process says."""
        self._threads = [
            threading.Thread(target=self._listen, args=one, daemon=True)
            for one in connections.items()
        ]
        for thread in self._threads:
            thread.start()

    def give(self, index: int, **message: Any) -> None:
        """Sends a message to one of them; where that is gone, `_listen` says so."""
        with suppress(OSError):
            self.connections[index].send_bytes(json.dumps(message).encode())

    def end(self) -> None:
        """Ends the others."""
        self.ending = True
        for index in self.connections:
            self.give(index, do="end")
        for thread in self._threads:
            thread.join(PATIENCE)

    def _listen(self, index: int, connection: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                message = json.loads(connection.recv_bytes())
                if "failed" in message:
                    self._lost(f"process {index}: {message['failed']}", message["code"])
                else:
                    self.answered(index, message)
        named = f"process {index} of {1 + len(self.connections)}"
        self._lost(f"{named} has ended: `curta train --resume` goes on from the last checkpoint", 1)

    def _lost(self, line: str, code: int) -> None:
        if not self.ending:
            interrupts.leave(line, code)


class Link:
    """The connection of any other process to process 0, which ends it too."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages: queue.Queue[Message] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def receive(self) -> Message:
        """What process 0 says next."""
        return self._messages.get()

    def send(self, **message: Any) -> None:
        with suppress(OSError):
            self._connection.send_bytes(json.dumps(message).encode())

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while (message := json.loads(self._connection.recv_bytes())).get("do") != "end":
                self._messages.put(message)
            os._exit(0)
        os._exit(1)


def leader() -> Team | None:
    """The team, if this process leads one."""
    return _TEAM[0] if _TEAM else None


def tell(do: str, run: Path, **more: Any) -> None:
    """Begins a work on a run in all other processes, if there are any."""
    for team in _TEAM:
        for index in team.connections:
            team.give(index, do=do, run=str(run.resolve()), **more)


@contextmanager
def led(process: Process) -> Iterator[None]:
    """For process 0: the others do their part of its work as long as the block lasts."""
    _TEAM.append(Team(_accepted(process)))
    try:
        yield
    finally:
        _TEAM.pop().end()


def followed() -> Link:
    """For any other process."""
    host, port, key = _told("")
    here = socket.gethostname()
    connection = Client(("127.0.0.1" if host == here else host, port), authkey=bytes.fromhex(key))
    connection.send_bytes(json.dumps(jax.process_index()).encode())
    return Link(connection)


def _accepted(process: Process) -> dict[int, Connection]:
    """Connections with all others, which know the key by way of JAX."""
    key, connections = secrets.token_hex(16), dict[int, Connection]()
    place = ("127.0.0.1" if process.beside == process.count else "", 0)
    with Listener(place, backlog=process.count, authkey=bytes.fromhex(key)) as listener:
        _told(json.dumps([socket.gethostname(), listener.address[1], key]))
        while len(connections) < process.count - 1:
            with suppress(AuthenticationError, EOFError, OSError):
                connection = listener.accept()
                connections[json.loads(connection.recv_bytes())] = connection
    return connections


def _told(text: str) -> Any:
    """What process 0 tells all others, as JSON; it passes by the network that JAX uses."""
    given = np.frombuffer(text.encode().ljust(WHERE), np.uint8)
    return json.loads(bytes(np.asarray(multihost_utils.broadcast_one_to_all(given))))
