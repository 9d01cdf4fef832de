"""A transcript that grows with what vectors emit is that of all of them together."""

import pytest
import torch

from zoo.core.generation.ctc_greedy import greedy
from zoo.core.generation.ctc_streaming import Transcript


@pytest.mark.parametrize("sizes", [[30], [1] * 30, [4, 0, 11, 3, 12]])
def test_vectors_bit_by_bit_spell_what_they_spell_together(sizes: list[int]) -> None:
    scores = 3 * torch.randn(2, 30, 6, generator=torch.Generator().manual_seed(0))
    growing = Transcript()
    parts = [growing.push(part) for part in scores.split(sizes, dim=1)]
    whole = greedy(scores, torch.tensor([30, 30]))
    for row in range(2):
        ids = torch.cat([part[row] for part in parts])
        assert ids.tolist() == whole.ids[row, 0, : whole.lengths[row, 0]].tolist()
        assert len(ids) > 5


def test_a_repeat_is_merged_across_chunks_and_not_across_a_blank() -> None:
    def emitted(*path: int) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.tensor([path]), 6).float()

    growing = Transcript()
    spelled = [growing.push(emitted(*path))[0].tolist() for path in ((4, 4), (4, 0), (4,), (0,), (5, 3))]
    assert spelled == [[4], [], [4], [], [5, 3]]
