"""The squares of tokens, and the keys that each of them sees: part of `modeling_curta.py`.

Roles and coordinates follow from the tokens so far, by tables in config.json. For each state and
token these give the next state, the token's role and its move:

    position = where(home[state, token], 0, position) + offset[state, token]
    state    = next[state, token]

The state and position after each token are the first layer of the cache, so reading continues
where it stopped. Tokens hidden by `attention_mask` are not part of a text, on either side.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PretrainedConfig
from transformers.cache_utils import DynamicLayer

PADDING, ABSENT = -1, -2
LONGEST = 2**20
"""Tokens of the longest text that an exported or compiled program reads."""


class Context(NamedTuple):
    """Where the queries of a batch stand, and which keys each of them sees.

    With a window, `keys` are the slots of each query's cells; otherwise `keys` is None and every
    `visible` key is seen.
    """

    index: Tensor  # batch queries
    role: Tensor  # batch queries
    coordinates: Tensor  # batch queries axes
    key_index: Tensor  # batch keys
    keys: Tensor | None  # batch queries cells
    visible: Tensor  # batch queries cells, or batch queries keys


class Constants(nn.Module):
    """A module with buffers that follow from the config and are in no file of weights."""

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__()
        self.config = config
        for name, value in self.constants(config).items():
            self.register_buffer(name, value, persistent=False)

    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        return {}

    def fill(self) -> None:
        """Write the buffers again: the library creates models without values and loads weights."""
        for name, value in self.constants(self.config).items():
            getattr(self, name).copy_(value)


def remembered(
    cache: DynamicCache | None, layer: int, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a layer's keys and values (batch, heads, time, features), cached ones first."""
    if cache is None:
        return keys, values
    while len(cache.layers) <= layer:
        cache.layers.append(DynamicLayer())
    return cache.update(keys, values, layer)


class Reading(Constants):
    """Reads texts from left to right; all tokens of a call at once."""

    def constants(self, config: PretrainedConfig) -> dict[str, Tensor]:
        layout, near = config.layout, config.positions.get("near")
        after, role, home, offset = (
            torch.tensor(layout["automaton"][name]) for name in ("next", "role", "home", "offset")
        )
        rows = torch.cat([after[..., None], role[..., None], home, offset], dim=-1).long()
        if near is None:
            return {"rows": rows}
        broadcast = torch.tensor([role["broadcast"] for role in layout["roles"]])
        return {"rows": rows, "broadcast": broadcast, "near": cells(near, layout["axes"])}

    def forward(self, tokens: Tensor, mask: Tensor | None, cache: DynamicCache | None) -> Context:
        """Return the places of new tokens (batch x queries); the mask covers cached tokens too."""
        past = 0 if cache is None else cache.get_seq_length()
        shape = (tokens.shape[0], past + tokens.shape[1])
        if mask is None:
            mask = torch.ones(shape, dtype=torch.bool, device=tokens.device)
        if mask.shape != shape:
            raise ValueError(
                f"attention_mask is {tuple(mask.shape)}, not {shape}: texts x tokens so far"
            )
        real = mask.bool()  # the others are padding
        new = real[:, past:]

        # The state and the position before the first new token of each text.
        axes = self.config.layout["axes"]
        state, start = tokens[:, 0] * 0, tokens.new_zeros(tokens.shape[0], axes)
        if cache is not None and past:
            last = cache.layers[0].keys[:, 0, -1].to(tokens.device)
            state, start = last[:, 0], last[:, 1:]
        before, after = self._states(tokens, new, state)
        row = self.rows[before, tokens]
        role = torch.where(new, row[..., 1], PADDING)
        coordinates = _followed(row[..., 2:], new, start)
        trail = torch.cat([after[..., None], coordinates], dim=-1)[:, None]
        address = role if self.windowless else self._address(role, coordinates)
        _, addresses = remembered(cache, 0, trail, address[:, None, :, None])
        index = (real.long().cumsum(dim=1) - 1).clamp(min=0)
        slots = torch.arange(real.shape[1], device=tokens.device)
        if self.windowless:
            keys, visible = None, real[:, None] & (slots <= slots[past:, None])
        else:
            keys, visible = self._window(addresses[:, 0, :, 0], role, coordinates, slots[past:])
        return Context(index[:, past:], role, coordinates, index, keys, visible)

    @property
    def windowless(self) -> bool:
        return "near" not in self._buffers

    def _states(self, tokens: Tensor, new: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states before and after each token.

        A token is a function from states to states. The function of a prefix is composed of those
        of its halves, so all are computed in as many rounds as the length has bits.
        """
        count = len(self.rows)
        if count == 1:
            return tokens * 0, tokens * 0
        same = torch.arange(count, device=tokens.device)
        after = torch.where(new[..., None], self.rows[..., 0].T[tokens], same)
        order = torch.arange(tokens.shape[1], device=tokens.device)
        # an exported program has texts of any length
        longest = LONGEST if torch.compiler.is_compiling() else tokens.shape[1]
        for shift in (1 << bit for bit in range((longest - 1).bit_length())):
            earlier = after[:, (order - shift).clamp(min=0)]
            after = after.gather(-1, torch.where((order >= shift)[:, None], earlier, same))
        reached = after.gather(-1, state[:, None, None].expand(*tokens.shape, 1))[..., 0]
        return torch.where(order == 0, state[:, None], reached.roll(1, dims=1)), reached

    def _address(self, role: Tensor, coordinates: Tensor) -> Tensor:
        """Return role and coordinates as one number, without axes on which the role is everywhere.

        Every axis has its share of 62 bits: 2**18 squares to either side for three axes.
        """
        axes, roles = self.broadcast.shape[1], len(self.broadcast)
        span, address = 1 << (62 - roles.bit_length()) // axes, role
        squares = coordinates.masked_fill(self.broadcast[role.clamp(min=0)], 0)
        for axis in range(axes):
            address = address * span + squares[..., axis]
        return torch.where(role < 0, role, address + (1 << 62) // 2)

    def _window(
        self, addresses: Tensor, role: Tensor, coordinates: Tensor, slots: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the slot of the newest token on each cell of each window, and if there is one.

        All keys are sorted by address, then slot. The last key before the cell's address and the
        query's slot is on the cell, or the cell is empty.
        """
        near = self.near[role.clamp(min=0)]
        squares = self._address(near[..., 0], coordinates[:, :, None] + near[..., 1:]).flatten(1)
        ordered, places = addresses.contiguous().sort(dim=1, stable=True)
        count = ordered.shape[1]
        stamps = torch.searchsorted(ordered, ordered) * count + places
        latest = torch.searchsorted(ordered, squares) * count
        latest = latest + slots.repeat_interleave(near.shape[2])
        newest = (torch.searchsorted(stamps, latest, right=True) - 1).clamp(min=0)
        present = ordered.gather(1, newest) == squares
        shape = (*role.shape, -1)
        return places.gather(1, newest).view(shape), present.view(shape)


def _followed(moves: Tensor, new: Tensor, start: Tensor) -> Tensor:
    """Return the position after each move, batch x time x axes: the offsets since the last home."""
    home, offset = moves.masked_fill(~new[..., None], 0).chunk(2, dim=-1)
    home = torch.cat([torch.ones_like(start[:, None]), home], dim=1)
    offset = torch.cat([start[:, None], offset], dim=1)
    total = offset.cumsum(dim=1)
    order = torch.arange(home.shape[1], device=home.device)[:, None]
    since = (home * order).cummax(dim=1).values
    return (total - (total - offset).gather(1, since))[:, 1:]


def cells(near: list[list[Any]], axes: int) -> Tensor:
    """Return windows, roles x cells x (role, move): the token itself, then its neighbours."""
    count = 1 + max(map(len, near))
    windows = torch.full((len(near), count, 1 + axes), ABSENT)
    for role, others in enumerate(near):
        itself = (role, [0] * axes)
        for cell, (other, move) in enumerate([itself, *others]):
            windows[role, cell] = torch.tensor([other, *move])
    return windows
