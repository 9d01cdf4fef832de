import numpy as np
import torch

from zoo.plugins.shared.images.digits import read_digits
from zoo.plugins.vision.data import DIGITS, SETS, open_card_sets, open_cards
from zoo.plugins.vision.data.drawn.cards_dataset import make_card_sets, make_cards


def test_the_pictures_are_those_of_cards_and_the_cued_digit_is_in_the_set() -> None:
    digits = read_digits("train")
    pictures, labels = make_cards(digits, 300, (0, 0))
    same, there = make_card_sets(digits, 300, (0, 0))
    assert np.array_equal(pictures, same)
    assert there[np.arange(300), labels].all()
    assert there.sum(1).min() == 1
    assert there.sum(1).max() == 4


def test_a_set_is_told_by_its_number() -> None:
    assert SETS.shape == (1024, 10)
    assert [DIGITS[place] for place in np.flatnonzero(SETS[0b1000000101])] == ["0", "2", "9"]
    codes = open_card_sets("", 0).train(300, 0).labels
    _, there = make_card_sets(read_digits("train", 0), 300, (0, 0, 0))
    assert np.array_equal(SETS[codes] == 1, there)


def test_all_digits_are_about_as_frequent() -> None:
    codes = open_card_sets("", 0).train(5000, 0).labels
    shares = torch.from_numpy(SETS)[codes].mean(0)
    assert (shares - shares.mean()).abs().max() < 0.02


def test_a_seed_gives_the_same_pictures_and_parts_share_no_digit() -> None:
    one, other = open_card_sets("", 3), open_cards("", 3)
    assert torch.equal(one.test().inputs, other.test().inputs)
    assert torch.equal(one.train(50, 1).labels, one.train(50, 1).labels)
    assert not torch.equal(one.train(50, 1).labels, one.train(50, 2).labels)
    train, test = (read_digits(split, 3).pictures for split in ("train", "test"))
    assert not {each.tobytes() for each in train} & {each.tobytes() for each in test}
