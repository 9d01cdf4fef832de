"""A benchmark case of `zoo bench speed --suite NAME`: our function, the peer's, and the ratio to reach."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Job = Callable[[], object]
Seconds = float
Bytes = float
Built = tuple[Job, Job | Seconds | Bytes] | str
"""Our job, and the peer's, how long it takes anyway, or what a process may hold; or why the peer is not there."""


@dataclass(frozen=True)
class Case:
    """Describe a benchmark case; nothing is built before `build` is called.

    Args:
        name: what is computed, with its sizes.
        peer: what it is compared with.
        target: ratio of our figure over the peer's to reach.
        build: makes the two functions to run in turns, ours first, or says in a text why the peer is not there; the
            seconds of a sound may stand in the peer's place, or a limit in bytes.
        memory: whether peak bytes are compared instead of seconds; of a limit, those of a process of its own.
        repeats: of the function for one measurement, where one run is too short to time.
        quality: says what our way changes, from our answer and the peer's, where ours is no equal of it.
    """

    name: str
    peer: str
    target: float
    build: Callable[[], Built]
    memory: bool = False
    repeats: int = 1
    quality: Callable[[Any, Any], str] | None = None
