"""Multi-query associative recall (MQAR), arXiv:2312.04927 sec. 3.1: keys with values, then keys that ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.core import IGNORED
from zoo.data.sequences.task import Drawn, numbered
from zoo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Recall values: `k3 v1 k7 v0 … k7 … k3`; each key comes back once, soon rather than late.

    Each query lies an even number of places behind the pairs; which of them is drawn without replacement, with
    probabilities that fall as the distance to the power of `power` - 1, as in the code of the paper. Other places
    there hold any token.

    Args:
        pairs: keys with values, all keys of a sequence different.
        length: tokens.
        vocab_size: tokens there are; half of them are keys, half values.
        power: nearness of the queries; 1 draws all places alike.

    Raises:
        ConfigError: If the pairs and their queries do not fit in the length, or there are fewer keys than pairs.
    """

    pairs: int = 16
    length: int = 128
    vocab_size: int = 256
    power: float = 0.01

    def __post_init__(self) -> None:
        if self.pairs < 1 or 4 * self.pairs > self.length:
            raise ConfigError(
                f"pairs={self.pairs}, length={self.length}: each pair takes two places, and its query two more"
            )
        if self.vocab_size % 2 or self.vocab_size // 2 < self.pairs:
            raise ConfigError(
                f"vocab_size={self.vocab_size}: an even number is needed, whose half are keys; at least "
                f"pairs={self.pairs} of them"
            )

    @property
    def words(self) -> tuple[str, ...]:
        """See `SequenceTask.words`."""
        return numbered("k", self.vocab_size // 2) + self.classes

    @property
    def classes(self) -> tuple[str, ...]:
        """See `SequenceTask.classes`."""
        return numbered("v", self.vocab_size // 2)

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """See `SequenceTask.draw`."""
        half = self.vocab_size // 2
        keys = _different(count, half, self.pairs, generator)
        values = torch.randint(half, (count, self.pairs), generator=generator)
        ids = torch.randint(self.vocab_size, (count, self.length), generator=generator)
        ids[:, : 2 * self.pairs] = torch.stack([keys, values + half], dim=2).flatten(1)
        places = 2 * self.pairs + 2 * self._gaps(count, generator)
        targets = torch.full_like(ids, IGNORED)
        return Drawn(
            ids.scatter(1, places, keys), torch.full((count,), self.length), targets.scatter(1, places, values)
        )

    def shortcuts(self) -> Mapping[str, float]:
        """See `SequenceTask.shortcuts`."""
        return {"guessing": 2 / self.vocab_size, "any value of the sequence": 1 / self.pairs}

    def _gaps(self, count: int, generator: torch.Generator) -> Tensor:
        room = (self.length - 2 * self.pairs) // 2
        weights = torch.arange(1, room + 1, dtype=torch.float64) ** (self.power - 1)
        return torch.multinomial(weights.expand(count, room), self.pairs, generator=generator)


def _different(count: int, of: int, wanted: int, generator: torch.Generator) -> Tensor:
    """Draw so many different numbers below `of` in each row."""
    return torch.rand(count, of, generator=generator).argsort(1)[:, :wanted]
