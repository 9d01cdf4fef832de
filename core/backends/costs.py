"""Cost model of the backends: the prediction that the planner compares, and its fitted constants.

The unit of time is one operation of a large float32 matrix product on one thread of a server CPU, 40 GFLOP/s; only
ratios count, so other machines shift all of them alike. Each speed was fitted where two backends change places;
`zoo plan PATTERN --measure` measures all of them again on any machine.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Speed(NamedTuple):
    """How fast a backend computes.

    Args:
        rate: operations a second relative to large matrix products; small where memory or calls decide.
        calls: kernels that are started, with what Python does between them, in kernels.
        overhead: size of an inner loop (keys of a window or of a query, channels of an edge) that takes as long as its
            set-up.
    """

    rate: float
    calls: int = 1
    overhead: int = 0

    def at(self, size: int | float) -> float:
        """Give the rate for an inner loop of this size."""
        return self.rate * size / (size + self.overhead)


KERNEL_START = 2e5
"""Starting a kernel: about 5 µs."""
ATTEND_CALL = 4e6
"""One more call of `attend`: about 100 µs."""

MASK_ENTRY = 500.0
"""An entry of a mask of queries and keys: made from positions, and read by a kernel as an addend; about 5 ns."""

DENSE = Speed(0.35)  # PyTorch's kernel with a mask or bias
DENSE_FULL = Speed(0.5)  # the same where every pair is read
REFERENCE = Speed(0.1, calls=8)
EXPLICIT = Speed(0.1, calls=9)  # for each block of queries
GATHERED = Speed(0.2, calls=36, overhead=40)  # for each size of groups
STRIDED = Speed(0.07, calls=30)  # from dense at 150 to 170 queries (1.2 to 1.5 of its time) to 1254 (.36)
LINEAR = Speed(0.3, calls=10)  # level with the reference at 32 queries, ahead of it from 64 on
LINEAR_CAUSAL = Speed(0.3, calls=20)
# From dense to banded at 150 to 250 queries for 4 or 16 keys to each side, at 250 to 450 for 64.
BANDED = Speed(0.3, calls=170, overhead=40)  # PyTorch's kernel on chunks
BANDED_PRODUCTS = Speed(0.2, calls=170, overhead=40)  # with gradients, dropout or biases
BANDED_COLUMNS = Speed(0.12, calls=270, overhead=40)  # with keys that are read from everywhere beside each window
DILATED = 0.5  # of these rates: the rows of each residue are copied apart and together again
# 50 to 2000 nodes, 0.5 % to 50 % of the pairs, heads of 16 and 64: level with dense at about half of the pairs
# forward, a quarter with gradients; the prediction lies at a quarter.
EDGES = Speed(0.125, calls=40, overhead=16)  # for each part of rows and heads
SCATTER = Speed(0.015, calls=15)
FLEX = Speed(0.4, calls=4)  # on a GPU, as flash
FLASH = Speed(0.6)


@dataclass(frozen=True)
class Cost:
    """Predict what a backend spends on a problem.

    Args:
        flops: floating-point operations of the products of a forward pass, a multiply-add counted as two.
        bytes: inputs and outputs, and what is stored between them.
        why: what it does, as in "it ...".
        rate: operations a second relative to large matrix products; see `Speed`.
        calls: kernels that are started.
        masked: entries of masks of queries and keys.
    """

    flops: int
    bytes: int
    why: str
    rate: float = 1.0
    calls: int = 1
    masked: int = 0

    @property
    def work(self) -> float:
        """Predicted time, in operations of a large matrix product: what the planner compares."""
        return self.flops / self.rate + KERNEL_START * self.calls + MASK_ENTRY * self.masked
