"""`Sampler`: the batches of each step, a pure function of seed and step, so that a training can resume anywhere.

So any process may make any of them, too: where `Workers` that hold the sampler are in use, they make them ahead.
"""

from collections.abc import Iterator
from itertools import count

import numpy as np
import torch

from zoo.data.batches.packed import packed_batch, unpacked
from zoo.data.batches.workers import read_ahead
from zoo.data.corpus import Batch, Corpus


class Sampler:
    """Batches of one process.

    Args:
        corpus: the examples.
        batch_size: examples of a batch.
        seed: of the shuffling and the augmentation.
        rank: which of the processes this is.
        world: number of processes; they read the batches in turn.
    """

    def __init__(self, corpus: Corpus, batch_size: int, seed: int, rank: int = 0, world: int = 1) -> None:
        self.corpus, self.batch_size, self.seed, self.rank, self.world = corpus, batch_size, seed, rank, world
        self._epoch = -1
        self._batches = corpus.epoch(_generator(seed, 0, 0), batch_size)
        self.per_epoch = len(self._batches)

    def batches(self, first: int = 0) -> Iterator[Batch]:
        """Yield batches without end.

        Args:
            first: batches this process has read before.
        """
        yield from map(unpacked, self.packed(first))

    def packed(self, first: int = 0) -> Iterator[Batch]:
        """Yield the same batches, packed where the corpus can do so."""
        yield from read_ahead(
            self.packed_at, ((number,) for number in count(first * self.world + self.rank, self.world))
        )

    def at(self, index: int) -> Batch:
        """Return one batch by its number over all epochs and processes."""
        return unpacked(self.packed_at(index))

    def packed_at(self, index: int) -> Batch:
        """Return one batch, packed where the corpus can do so."""
        epoch, place = divmod(index, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self.corpus.epoch(_generator(self.seed, 0, epoch), self.batch_size)
        return packed_batch(self.corpus, self._batches[place], _generator(self.seed, 1, index))


def _generator(*key: int) -> torch.Generator:
    """Make a generator with an own stream for each key."""
    (word,) = np.random.SeedSequence(key).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(word >> np.uint64(1)))
