import pytest
import torch

from zoo.data.labelling.label_noise import noisy

CLASSES = torch.arange(4).repeat(5000)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_the_share_of_wrong_labels_is_as_asked_and_spread_over_all_other_classes(noise: float) -> None:
    found = noisy(CLASSES, noise, (0, 1), 4)
    assert (found != CLASSES).float().mean() == pytest.approx(noise, abs=0.015)
    moved = torch.zeros(4, 4).index_put((CLASSES, found), torch.ones(()), accumulate=True) / 5000
    assert moved[~torch.eye(4, dtype=torch.bool)].tolist() == pytest.approx([noise / 3] * 12, abs=0.02)


def test_more_examples_and_more_noise_leave_the_wrong_labels_as_they_are() -> None:
    few, many = noisy(CLASSES[:600], 0.2, (3, 0), 4), noisy(CLASSES, 0.2, (3, 0), 4)
    assert torch.equal(few, many[:600])
    more = noisy(CLASSES, 0.3, (3, 0), 4)
    wrong = many != CLASSES
    assert torch.equal(more[wrong], many[wrong])
    assert (more != CLASSES).sum() > wrong.sum()


def test_another_seed_has_other_wrong_labels() -> None:
    assert not torch.equal(noisy(CLASSES, 0.2, (0, 0), 4), noisy(CLASSES, 0.2, (1, 0), 4))


def test_what_has_no_class_gets_none() -> None:
    assert noisy(torch.tensor([-100, 0, -100]), 0.99, (0, 0), 2)[[0, 2]].tolist() == [-100, -100]
