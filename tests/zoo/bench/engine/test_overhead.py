"""The benchmark cases of what `attend` adds to a kernel."""

import pytest
import torch

from zoo.bench.engine import overhead
from zoo.core import Window, attend
from zoo.core.cache.ring import state_for

pytestmark = pytest.mark.usefixtures("float64")


def test_the_kernel_alone_and_attend_give_the_same() -> None:
    q, k, v = torch.randn(3, 2, 5, 2, 4)
    torch.testing.assert_close(attend(q, k, v), overhead.bare(q, k, v))


@pytest.mark.parametrize("step", [False, True])
def test_the_jobs_of_the_core_run(step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "TOKENS", 3)
    for job in overhead.kernel(step):
        job()


def test_decoding_reads_what_was_written_and_keeps_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WINDOW", 4), ("CHUNK", 3), ("STEPS", 2)):
        monkeypatch.setattr(overhead, name, value)
    kept = state_for(Window(4, 0), 1)
    overhead.decode(lambda: kept, 11, torch.ones(1, overhead.CHUNK, 1, 16))
    assert kept.lengths.tolist() == [11]
    assert kept.stored < 11 * 2 * 16
