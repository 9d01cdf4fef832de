"""`Batcher`: batches of inputs that arrive together."""

import asyncio
import threading
from collections.abc import Hashable
from typing import Any

import pytest

from zoo.serve.batcher import Batcher
from zoo.serve.limits import Limits
from zoo.serve.refusal import Refusal


class Doubler:
    """Doubles numbers, once it is let, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], Hashable]] = []
        self.begun, self.let = threading.Event(), threading.Event()

    def __call__(self, inputs: list[int], options: Hashable) -> list[int]:
        self.batches.append((inputs, options))
        self.begun.set()
        assert self.let.wait(10)
        return [2 * each for each in inputs]


def started(doubler: Any, together: Any = None, **limits: Any) -> Batcher:
    return Batcher(doubler, Limits(**{"max_inputs": 1, **limits}), lambda size, seconds: None, together)


async def busy(batcher: Batcher, doubler: Doubler) -> "asyncio.Task[list[Any]]":
    """Keep the model busy with a first input."""
    first = asyncio.create_task(batcher.submit([0], "first"))
    await asyncio.to_thread(doubler.begun.wait)
    return first


def test_what_arrives_while_the_model_is_busy_is_one_batch_of_each_kind_of_options() -> None:
    async def run() -> None:
        doubler = Doubler()
        batcher = started(doubler)
        first = await busy(batcher, doubler)
        rest = [asyncio.create_task(batcher.submit([n], n % 2)) for n in range(1, 9)]
        await asyncio.sleep(0)
        doubler.let.set()
        assert await first == [0]
        assert await asyncio.gather(*rest) == [[2 * n] for n in range(1, 9)]
        assert doubler.batches[1:] == [([1, 3, 5, 7], 1), ([2, 4, 6, 8], 0)]
        await batcher.close()

    asyncio.run(run())


def test_an_idle_model_waits_for_others_to_come_and_not_once_the_batch_is_full() -> None:
    async def run() -> None:
        doubler = Doubler()
        doubler.let.set()
        batcher = started(doubler, max_wait=60_000, max_batch=3)
        answers = await asyncio.gather(*(batcher.submit([n], None) for n in range(3)))
        assert answers == [[0], [2], [4]]
        assert doubler.batches == [([0, 1, 2], None)]
        await batcher.close()

    asyncio.run(run())


def test_many_inputs_of_a_request_are_split_and_stay_in_order() -> None:
    async def run() -> None:
        doubler = Doubler()
        doubler.let.set()
        batcher = started(doubler, max_batch=4)
        assert await batcher.submit([*range(10)], None) == [*range(0, 20, 2)]
        assert [len(inputs) for inputs, _ in doubler.batches] == [4, 4, 2]
        await batcher.close()

    asyncio.run(run())


def test_batches_are_as_large_as_their_options_allow() -> None:
    async def run() -> None:
        doubler = Doubler()
        batcher = started(doubler, lambda options: options)
        first = asyncio.create_task(batcher.submit([0], 1))
        await asyncio.to_thread(doubler.begun.wait)
        rest = [asyncio.create_task(batcher.submit([n], size)) for n in (1, 2, 3) for size in (2, 3)]
        rest.append(asyncio.create_task(batcher.submit([4, 5, 6, 7], 3)))
        await asyncio.sleep(0)
        doubler.let.set()
        await asyncio.gather(first, *rest)
        assert doubler.batches[1:] == [([1, 2], 2), ([1, 2, 3], 3), ([3], 2), ([4, 5, 6], 3), ([7], 3)]
        await batcher.close()

    asyncio.run(run())


def test_what_is_cancelled_while_it_waits_is_not_computed() -> None:
    async def run() -> None:
        doubler = Doubler()
        batcher = started(doubler)
        first = await busy(batcher, doubler)
        gone, stays = (asyncio.create_task(batcher.submit([n], None)) for n in (1, 2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        doubler.let.set()
        await first
        assert await stays == [4]
        assert doubler.batches[1:] == [([2], None)]
        await batcher.close()

    asyncio.run(run())


def test_what_does_not_fit_in_the_queue_is_refused() -> None:
    async def run() -> None:
        doubler = Doubler()
        batcher = started(doubler, max_queue=2)
        first = await busy(batcher, doubler)
        waiting = asyncio.create_task(batcher.submit([1, 2], None))
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="2 inputs wait already, of 2") as refused:
            await batcher.submit([3], None)
        assert refused.value.status == 503
        doubler.let.set()
        assert await first + await waiting == [0, 2, 4]
        await batcher.close()

    asyncio.run(run())


def test_closing_answers_what_was_accepted_and_refuses_what_comes_then() -> None:
    async def run() -> None:
        doubler = Doubler()
        batcher = started(doubler, max_wait=60_000)
        doubler.let.set()
        waiting = asyncio.create_task(batcher.submit([1], None))
        await asyncio.sleep(0)
        await batcher.close()
        assert await waiting == [2]
        with pytest.raises(Refusal, match="stopping"):
            await batcher.submit([3], None)

    asyncio.run(run())


def test_a_batch_that_fails_fails_for_those_in_it_only() -> None:
    def fail(inputs: list[int], options: Hashable) -> list[int]:
        if options:
            raise ValueError("no")
        return inputs

    async def run() -> None:
        batcher = started(fail)
        (bad,), good = await asyncio.gather(batcher.submit([1], True), batcher.submit([2], False))
        assert isinstance(bad, ValueError)
        assert good == [2]
        await batcher.close()

    asyncio.run(run())
