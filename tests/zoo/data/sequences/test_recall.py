import pytest
import torch

from zoo.core import IGNORED
from zoo.data.sequences.recall import Recall
from zoo.errors import ConfigError


def test_each_query_asks_for_the_value_of_its_key() -> None:
    task = Recall(pairs=4, length=24, vocab_size=32)
    drawn = task.draw(50, torch.Generator().manual_seed(0))
    for ids, targets in zip(drawn.ids.tolist(), drawn.targets.tolist(), strict=True):
        pairs = dict(zip(ids[:8:2], ids[1:8:2], strict=True))
        assert len(pairs) == 4
        assert all(key < 16 <= value for key, value in pairs.items())
        asked = {place: target for place, target in enumerate(targets) if target != IGNORED}
        assert sorted(ids[place] for place in asked) == sorted(pairs)
        assert all(pairs[ids[place]] == 16 + target for place, target in asked.items())
        assert min(asked) >= 8
    assert task.words[3] == "k3"
    assert task.words[16 + 3] == task.classes[3] == "v3"


def test_queries_are_near_the_pairs_more_often_than_far() -> None:
    def mean_place(power: float) -> float:
        task = Recall(pairs=2, length=64, vocab_size=32, power=power)
        found = task.draw(400, torch.Generator().manual_seed(1)).targets
        return float((found != IGNORED).nonzero()[:, 1].double().mean())

    assert mean_place(1.0) == pytest.approx((4 + 62) / 2, rel=0.08)
    assert mean_place(0.01) < 20


def test_the_same_seed_draws_the_same_and_the_next_batch_another() -> None:
    task, generator = Recall(), torch.Generator().manual_seed(2)
    first, second = task.draw(4, generator), task.draw(4, generator)
    assert torch.equal(first.ids, task.draw(4, torch.Generator().manual_seed(2)).ids)
    assert not torch.equal(first.ids, second.ids)
    assert task.shortcuts() == {"guessing": 2 / 256, "any value of the sequence": 1 / 16}


@pytest.mark.parametrize("options", [{"pairs": 40}, {"pairs": 0}, {"vocab_size": 33}, {"vocab_size": 16}])
def test_what_does_not_fit_is_refused(options: dict[str, int]) -> None:
    ((name, value),) = options.items()
    with pytest.raises(ConfigError, match=f"{name}={value}"):
        Recall(**options)
