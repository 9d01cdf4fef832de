"""State-dict layouts of other libraries: renames of keys, and joined or separate query, key and value projections.

In a name `{n}` stands for a block's number, `{p}` for `weight`, `bias` or what a batch norm counts. Projections of
queries, keys and values that come apart there are `.q.`, `.k.` and `.v.` here, and are joined to `.qkv.` afterwards.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from zoo.core.deprecation import deprecated
from zoo.core.errors import ConfigError

StateDict = Mapping[str, Tensor]
PARTS = {"{n}": r"(?P<n>\d+)", "{p}": r"(?P<p>weight|bias|running_mean|running_var|num_batches_tracked)"}


@dataclass(frozen=True)
class Layout:
    """Hold one library's names of a model's weights.

    Args:
        signature: the name, without the prefix, of a weight that only this layout has.
        names: ours to theirs.
        prefix: what may stand before their names.
        outside: how those of their names begin that the prefix never stands before.
        copies: their names of weights that are others' too, to those others; they are dropped where they are equal.
        unused: their names, as a pattern, of what is no weight, or none that we have.
        transposed: their names, as a pattern, of matrices that are stored with the channels in first.
        pointwise: their names, as a pattern, of matrices that are stored as kernels of one place.
    """

    signature: str
    names: Mapping[str, str]
    prefix: str = ""
    outside: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    unused: str = "(?!)"
    transposed: str = "(?!)"
    pointwise: str = "(?!)"

    def found(self, state: StateDict) -> str | None:
        """Give the prefix with which a state dict has this layout; None if it has another."""
        ends = (key for key in state if key == self.signature or key.endswith(f".{self.signature}"))
        return next((key.removesuffix(self.signature) for key in ends), None)

    def ours(self, state: StateDict, prefix: str) -> dict[str, Tensor]:
        """Give weights under our names; what the table does not know keeps its own."""
        peer = {_modern(key.removeprefix(prefix)): value for key, value in state.items()}
        kept = [key for key in peer if not (self._is_copy(key, peer) or re.fullmatch(self.unused, key))]
        return join_qkv({self._name(key, back=False) or key: self._turned(key, peer[key]) for key in kept})

    def peer(self, state: StateDict) -> dict[str, Tensor]:
        """Give weights under their names, without a prefix, and with the copies.

        Raises:
            ConfigError: If one has no name there.
        """
        apart = split_qkv(state) if any(".attention.q." in ours for ours in self.names) else state
        named = {key: self._name(key, back=True) for key in apart}
        lost = [key for key, peer in named.items() if peer is None]
        if lost:
            raise ConfigError(f"the other library has no name for {', '.join(lost)}")
        found = {peer: self._turned(peer, apart[key].detach()) for key, peer in named.items() if peer}
        return found | {copy: found[key] for copy, key in self.copies.items() if key in found}

    @deprecated(since="0.1", until="0.3", instead="`peer(state)`")
    def theirs(self, state: StateDict) -> dict[str, Tensor]:
        """See `peer`."""
        return self.peer(state)

    def prefixed(self, peer: StateDict) -> dict[str, Tensor]:
        """Put the prefix before their names."""
        return {key if key.startswith(self.outside) else self.prefix + key: value for key, value in peer.items()}

    def _name(self, key: str, back: bool) -> str | None:
        for ours, peer in self.names.items():
            given, wanted = (ours, peer) if back else (peer, ours)
            if match := re.fullmatch(_pattern(given), key):
                return wanted.format(**match.groupdict())
        return None

    def _is_copy(self, key: str, peer: StateDict) -> bool:
        other = peer.get(self.copies.get(key, ""))
        return other is not None and (other.is_meta or torch.equal(peer[key], other))

    def _turned(self, key: str, value: Tensor) -> Tensor:
        """Bring a weight from their shape to ours, or from ours to theirs."""
        if re.fullmatch(self.pointwise, key):
            return value.squeeze(2) if value.ndim == 3 else value.unsqueeze(2)
        return value.T if re.fullmatch(self.transposed, key) else value


@functools.cache
def _pattern(name: str) -> str:
    pattern = re.escape(name)
    for part, group in PARTS.items():
        pattern = pattern.replace(re.escape(part), group)
    return pattern


def _modern(key: str) -> str:
    """Read the names that the first checkpoints of BERT have for gain and bias."""
    return re.sub(r"\.beta$", ".bias", re.sub(r"\.gamma$", ".weight", key))


def in_blocks(ours: str, peer: str, names: Mapping[str, str]) -> dict[str, str]:
    """Name the weights in each block of a stack: of ours `.{p}` is left out."""
    return {f"{ours}.{{n}}.{own}{'.{p}' * ('{p}' in other)}": f"{peer}.{{n}}.{other}" for own, other in names.items()}


def join_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Join the projections of queries, keys and values, `.q.`, `.k.` and `.v.`, to `.qkv.` where they come apart."""
    together = dict(state)
    for key in state:
        parts = [re.sub(r"\.q\.(weight|bias)$", rf".{part}.\1", key) for part in "qkv"]
        if parts[0] != parts[1] and all(part in state for part in parts):
            together[re.sub(r"\.q\.(weight|bias)$", r".qkv.\1", key)] = torch.cat([together.pop(p) for p in parts])
    return together


def split_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the joined projections apart, which are of one size each."""
    apart: dict[str, Tensor] = {}
    for key, value in state.items():
        if ".qkv." in key:
            apart |= {key.replace(".qkv.", f".{part}."): x for part, x in zip("qkv", value.chunk(3), strict=True)}
        else:
            apart[key] = value
    return apart
