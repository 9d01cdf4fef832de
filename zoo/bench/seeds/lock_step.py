"""`LockStep`: trainings in threads that meet at each loss, so that one pass computes those of all."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from zoo.bench.seeds.joint_gradients import Loss, joint_losses
from zoo.core.models.model import has_own_loss
from zoo.data.corpus import Batch
from zoo.training.loop import Objective, plain

Trained = TypeVar("Trained")


class _Call(NamedTuple):
    forward: Any
    batch: Batch
    step: int


class LockStep:
    """Let several trainings take each step together.

    A step whose batches have different shapes, and all from one on that cannot be computed together, are computed model
    by model. The answers are the same but for rounding and for the draws of dropout.

    Args:
        members: number of trainings.
        loss: of answer and target, of all.
        alone: the same for a model that is computed by itself.
    """

    def __init__(self, members: int, loss: Loss, alone: Objective | None = None) -> None:
        self._members, self._loss = members, loss
        self._alone = alone or plain(loss)
        self._met = threading.Condition()
        self._waiting: dict[int, _Call] = {}
        self._answers: dict[int, Tensor | Exception] = {}
        self.together = True
        """Whether every step so far with equal shapes was computed in one pass."""

    def run(self, train: Callable[[int, Objective], Trained]) -> list[Trained | Exception]:
        """Call `train(member, objective)` for each member in a thread of its own; give what each returns or raises."""
        found: dict[int, Trained | Exception] = {}

        def member(i: int) -> None:
            try:
                found[i] = train(i, lambda forward, batch, step: self._meet(i, _Call(forward, batch, step)))
            except Exception as error:  # the others go on; what its frames hold may go
                found[i] = error.with_traceback(None) if isinstance(error, torch.OutOfMemoryError) else error
            finally:
                self._leave()

        threads = [threading.Thread(target=member, args=(i,), daemon=True) for i in range(self._members)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[i] for i in range(len(threads))]

    def _leave(self) -> None:
        with self._met:
            self._members -= 1
            self._met.notify_all()

    def _meet(self, member: int, call: _Call) -> Tensor:
        with self._met:
            self._waiting[member] = call
            self._met.notify_all()
            self._met.wait_for(lambda: member in self._answers or len(self._waiting) == self._members)
            if member not in self._answers:
                self._answers |= self._computed(dict(sorted(self._waiting.items())))
                self._waiting.clear()
                self._met.notify_all()
            answer = self._answers.pop(member)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _computed(self, calls: dict[int, _Call]) -> dict[int, Tensor | Exception]:
        models: list[nn.Module] = [call.forward.module for call in calls.values()]
        if self.together and not has_own_loss(models[0]) and _alike([call.batch for call in calls.values()]):
            try:
                losses = joint_losses(models, [call.batch for call in calls.values()], self._loss)
            except torch.OutOfMemoryError as error:
                return dict.fromkeys(calls, error)
            except Exception:  # no rule for several models, a value that is read; alone, a model raises what is its own
                self.together = False
            else:
                return dict(zip(calls, losses, strict=True))
        return {member: self._by_itself(call) for member, call in calls.items()}

    def _by_itself(self, call: _Call) -> Tensor | Exception:
        try:
            return self._alone(*call)
        except Exception as error:  # of this member alone
            return error


def _alike(batches: Sequence[Batch]) -> bool:
    parts = [(*batch.inputs, batch.target) for batch in batches]
    tensors = all(isinstance(x, Tensor) for part in parts for x in part)
    return tensors and len({tuple((x.shape, x.dtype) for x in part) for part in parts}) == 1
