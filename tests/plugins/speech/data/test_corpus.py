"""Sounds in batches: with their lengths, heard another way in training, and judged the same each time."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.data.batches.batched_corpus import DatasetInfo
from zoo.data.corpus import Corpus
from zoo.errors import ConfigError
from zoo.plugins.speech.data.audio_store import Joined
from zoo.plugins.speech.data.corpus import FRAME, Augmentation, ClipsCorpus

LENGTHS = torch.tensor([900, 500, 700, 1_000, 600, 800])
CLASSES = torch.tensor([0, 1, 0, 1, 1, 0])


def louder(sound: Tensor, generator: torch.Generator) -> Tensor:
    return sound + torch.rand(1, generator=generator)


def halved(sound: Tensor, generator: torch.Generator) -> Tensor:
    return sound[: len(sound) // 2]


def sounds() -> Joined:
    flat = torch.cat([torch.full((int(n),), int(n), dtype=torch.int16) for n in LENGTHS])
    return Joined(flat, LENGTHS)


def corpus(augmentation: Augmentation = Augmentation()) -> ClipsCorpus:  # noqa: B008  a record that does not change
    parts = ("train", "validation", "test")
    return ClipsCorpus(
        DatasetInfo("made", "Made.", "0"),
        zoo.info("speech-tiny"),
        {part: sounds() for part in parts},
        dict.fromkeys(parts, CLASSES),
        ["short", "long"],
        augmentation,
    )


class Knows(nn.Module):
    """Answers by the length: those below so many samples are `long`."""

    def __init__(self, below: int) -> None:
        super().__init__()
        self.below = below

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([lengths >= self.below, lengths < self.below], 1).float()


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_it_is_a_corpus_that_asks_for_labels() -> None:
    assert isinstance(corpus(), Corpus)
    assert corpus().overrides() == {"num_classes": 2}
    assert corpus().sizes == {"train": 6, "validation": 6, "test": 6}


def test_sounds_of_a_batch_are_filled_up_with_zeros() -> None:
    (x, lengths), target = corpus().batch(torch.tensor([1, 3, 0]), draw())
    assert x.shape == (3, 1_000)
    assert lengths.tolist() == [500, 1_000, 900]
    assert target.tolist() == [1, 1, 0]
    assert (x[0, :500] * 2**15 == 500).all()
    assert not x[0, 500:].any()


def test_sounds_of_a_batch_are_of_nearly_equal_length() -> None:
    batches = corpus().epoch(draw(), 2)
    assert sorted(torch.cat(list(batches)).tolist()) == list(range(6))
    assert all(len({int(LENGTHS[place]) // 200 for place in batch}) <= 2 for batch in batches)
    assert [int(batch.inputs[1].max()) for batch in corpus().held_out("test", 2)] == [1_000, 800, 600]


def test_training_hears_another_way_each_time_and_the_generator_draws_it() -> None:
    made, index = corpus(Augmentation(training=louder)), torch.arange(3)
    first, again, other = (made.batch(index, draw(seed)).inputs[0] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    (plain, *_) = made.held_out("test", 6)
    assert torch.equal(plain.inputs[0], next(corpus().held_out("test", 6)).inputs[0])


def test_judging_hears_the_same_each_time_whatever_the_batch() -> None:
    made = corpus(Augmentation(evaluation=louder))
    whole = next(made.held_out("test", 6)).inputs[0]
    alone = [batch.inputs[0] for batch in made.held_out("test", 1)]
    for row, single in zip(whole, reversed(alone), strict=True):
        assert torch.equal(row[: single.shape[1]], single[0])
    assert not torch.equal(whole, next(made.held_out("validation", 6)).inputs[0])
    assert torch.equal(made.batch(torch.tensor([0]), draw()).inputs[0], corpus().batch(torch.tensor([0]), draw())[0][0])


def test_no_change_makes_a_sound_shorter_than_a_frame() -> None:
    _, lengths = corpus(Augmentation(training=halved)).batch(torch.arange(6), draw()).inputs
    assert FRAME == 400
    assert lengths.tolist() == [450, 500, 700, 500, 600, 400]


@pytest.mark.parametrize(("below", "accuracy"), [(0, 0.5), (650, 5 / 6)])
def test_accuracy_is_the_share_of_labels_that_are_ranked_first(below: int, accuracy: float) -> None:
    scores = corpus().score(Knows(below), "test", 4)
    assert tuple(scores) == corpus().metrics(Knows(below)) == ("accuracy", "loss")
    assert scores["accuracy"] == pytest.approx(accuracy)
    wrong, right = torch.tensor([1.0, 0.0]).softmax(0).log().neg().tolist()[::-1]
    assert scores["loss"] == pytest.approx((1 - accuracy) * wrong + accuracy * right)


def test_there_are_three_parts() -> None:
    with pytest.raises(ConfigError, match="split='dev' is not one of train, validation, test"):
        corpus().score(Knows(0), "dev", 4)


def test_names_of_labels_are_saved(tmp_path: Any) -> None:
    corpus().save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["labels.json"]
    assert "long" in (tmp_path / "labels.json").read_text()


def test_training_sounds_are_changed_by_name_and_held_out_ones_are_not() -> None:
    plain, noisy = corpus(Augmentation(louder, halved)), corpus(Augmentation(louder, halved)).with_augmentation("noise")
    index = torch.arange(6)
    bare = corpus().batch(index, draw()).inputs[0]
    assert not torch.equal(noisy.batch(index, draw()).inputs[0], bare)
    assert torch.equal(noisy.batch(index, draw()).inputs[0], noisy.batch(index, draw()).inputs[0])
    for one, other in zip(plain.held_out("test", 4), noisy.held_out("test", 4), strict=True):
        assert torch.equal(one.inputs[0], other.inputs[0])
    assert torch.equal(noisy.with_augmentation("none").batch(index, draw()).inputs[0], bare)


@pytest.mark.parametrize(
    ("names", "said"), [("crop", "give one of none, and any of speed, noise"), ("none+noise", "'none' is given alone")]
)
def test_what_is_no_augmentation_of_sounds_is_refused(names: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        corpus().with_augmentation(names)
