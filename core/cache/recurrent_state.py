"""`RecurrentState`: the state of a linear recurrence, a matrix for each row and head, whatever the length.

Axes: b rows, n new tokens, h heads, e channels of values.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.cache.fixed import FixedState
from zoo.core.ops.recurrence.forms import chunked, recurrent
from zoo.core.ops.recurrence.steps import Steps


class RecurrentState(FixedState):
    """Keep S_t of a linear recurrence; see `zoo.core.ops.recurrence`.

    Args:
        batch: rows.
    """

    def step(
        self,
        steps: Steps,
        valid: Bool[Tensor, "b n"] | None = None,
        position: Int[Tensor, "#b n"] | None = None,
    ) -> Float[Tensor, "b h n e"]:
        """Take tokens in, and let each read what is kept up to itself.

        Args:
            steps: the tokens; those that are not there are masked already.
            valid: which of them are there; all if None.
            position: where they stand; what follows if None.
        """
        self.check(steps.q)
        n = steps.q.shape[-2]
        form = recurrent if n == 1 else chunked
        y, self.tensors["state"] = form(steps, self.tensors.get("state"))
        self.count(n, valid, position, steps.q.device)
        return y
