"""`Batcher`: puts inputs that arrive together into one batch of the model, in one thread, in the order they came."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from zoo.serve.limits import Limits
from zoo.serve.refusal import Refusal
from zoo.serve.streaming import Streams

Answer = Callable[[list[Any], Hashable], Sequence[Any]]
"""Gives an answer for each input, all asked with the same options; an answer may be an exception."""


@dataclass(frozen=True, eq=False)
class _Job:
    """Inputs that wait, and what their answers are for."""

    inputs: list[Any]
    options: Hashable
    arrived: float
    future: "asyncio.Future[list[Any]]"


class Batcher:
    """Answer inputs in batches: what waits is taken when the model is free, oldest first.

    Args:
        answer: computes a batch; it is called in one thread of its own.
        limits: how many are computed together, how long the first waits for others, and how many may wait.
        done: told the number of inputs of each batch, and the seconds it took.
        together: gives how many inputs with the same options are computed together at most, where that is fewer.
    """

    def __init__(
        self,
        answer: Answer,
        limits: Limits,
        done: Callable[[int, float], None],
        together: Callable[[Hashable], int] | None = None,
    ) -> None:
        self.answer, self.limits, self.done = answer, limits, done
        self.together = together or (lambda options: limits.max_batch)
        self.waiting: deque[_Job] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self._thread = ThreadPoolExecutor(1, "model")
        self._streams = Streams(self._thread, limits.max_batch)
        self._task = asyncio.create_task(self._run())

    @property
    def length(self) -> int:
        """Inputs that wait."""
        return sum(len(job.inputs) for job in self.waiting)

    async def submit(self, inputs: list[Any], options: Hashable) -> list[Any]:
        """Give the answers to inputs, once a batch has them; what is cancelled while it waits is not computed.

        Raises:
            Refusal: If too many wait, or the server stops.
        """
        if self._closed:
            raise Refusal(503, "the server is stopping")
        if self.length + len(inputs) > self.limits.max_queue:
            raise Refusal(503, f"{self.length} inputs wait already, of {self.limits.max_queue}: try again later")
        loop, size = asyncio.get_running_loop(), self.together(options)
        parts = [inputs[first : first + size] for first in range(0, len(inputs), size)]
        jobs = [_Job(part, options, loop.time(), loop.create_future()) for part in parts]
        self.waiting.extend(jobs)
        self._changed.set()
        answers = await asyncio.gather(*(job.future for job in jobs))
        return [answer for part in answers for answer in part]

    def streams(self) -> Streams:
        """Give what advances answers token by token in the thread of the batches, between them.

        Raises:
            Refusal: If the server stops.
        """
        if self._closed:
            raise Refusal(503, "the server is stopping")
        return self._streams

    async def close(self) -> None:
        """Answer what was accepted, and then stop."""
        self._closed = True
        self._changed.set()
        await self._task
        self._thread.shutdown()

    async def _run(self) -> None:
        while await self._filled():
            jobs = self._taken()
            inputs = [each for job in jobs for each in job.inputs]
            if not inputs:
                continue
            loop = asyncio.get_running_loop()
            start = loop.time()
            try:
                answers = list(await loop.run_in_executor(self._thread, self.answer, inputs, jobs[0].options))
            except Exception as error:
                answers = [error] * len(inputs)
            self.done(len(inputs), loop.time() - start)
            self._give(jobs, answers)

    async def _filled(self) -> bool:
        """Wait until a batch is full, or its first input has waited long enough; False at the end."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            self._changed.clear()
            left = None
            if self.waiting:
                left = self.waiting[0].arrived + self.limits.max_wait / 1000 - loop.time()
                if self.length >= self.limits.max_batch or left <= 0:
                    break
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                break
        return bool(self.waiting)

    def _taken(self) -> list[_Job]:
        """Take the oldest, and as many with the same options as fit."""
        taken: list[_Job] = []
        kept: deque[_Job] = deque()
        room = 0
        for job in self.waiting:
            if job.future.done():  # whoever asked has gone
                continue
            if not taken:
                room = self.together(job.options)
            if not taken or (len(job.inputs) <= room and job.options == taken[0].options):
                taken.append(job)
                room -= len(job.inputs)
            else:
                kept.append(job)
        self.waiting = kept
        return taken

    @staticmethod
    def _give(jobs: list[_Job], answers: list[Any]) -> None:
        place = 0
        for job in jobs:
            if not job.future.done():
                job.future.set_result(answers[place : place + len(job.inputs)])
            place += len(job.inputs)
