"""Clips strung together, with a label for every 40 ms."""

import math
import random
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.data.batches.batched_corpus import DatasetInfo
from zoo.data.corpus import Corpus
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem
from zoo.plugins.speech.data.audio_store import Joined
from zoo.plugins.speech.data.frame_labels import Concatenated, FramesCorpus, String, strings

FLAT = torch.cat([torch.full((1_600,), 2**13), torch.full((3_200,), 2**14)]).short()
CLIPS = Joined(FLAT, torch.tensor([1_600, 3_200]))
STRINGS = [String((0, 1), (640, 1_280, 640)), String((1,), (320, 0))]
CLASSES = torch.tensor([7, 3])


def corpus() -> FramesCorpus:
    parts = ("train", "validation", "test")
    about, labels = DatasetInfo("made", "Made.", "0"), [str(number) for number in range(10)]
    sounds = {part: Concatenated(CLIPS, STRINGS) for part in parts}
    return FramesCorpus(about, zoo.info("speech-tiny"), sounds, dict.fromkeys(parts, CLASSES), labels)


def test_clips_follow_each_other_with_silence_between() -> None:
    sounds = Concatenated(CLIPS, STRINGS)
    assert sounds.lengths.tolist() == [7_360, 3_520]
    values, counts = sounds[0].unique_consecutive(return_counts=True)
    assert values.tolist() == [0, 0.25, 0, 0.5, 0]
    assert counts.tolist() == [640, 1_600, 1_280, 3_200, 640]


def test_each_vector_has_the_class_of_what_is_heard_in_the_middle_of_its_frame() -> None:
    sounds = Concatenated(CLIPS, STRINGS)
    middles = [200 + 640 * vector for vector in range(11)]
    wanted = [7 if 640 <= at < 2_240 else 3 if 3_520 <= at < 6_720 else 10 for at in middles]
    assert sounds.heard_at(0, CLASSES, 10) == wanted
    assert len(sounds.heard_at(1, CLASSES, 10)) == int(FrameStem(SoundConfig(dim=8)).count(sounds.lengths)[1])


def test_strings_are_drawn_of_one_speaker_each() -> None:
    speakers = [*"aabbbcc"]
    found = strings(speakers, 200, random.Random(0))
    assert {len(each.clips) for each in found} == {2, 3, 4, 5}
    assert all(len({speakers[clip] for clip in each.clips}) == 1 for each in found)
    assert {clip for each in found for clip in each.clips} == set(range(7))
    assert all(len(each.pauses) == len(each.clips) + 1 for each in found)
    assert all(800 <= pause <= 6_400 for each in found for pause in each.pauses)
    assert found == strings(speakers, 200, random.Random(0))


def test_it_is_a_corpus_that_asks_for_a_label_of_each_vector() -> None:
    made = corpus()
    assert isinstance(made, Corpus)
    assert made.overrides() == {"num_classes": 11, "task": "tag"}
    assert made.labels[-1] == "silence"
    (x, lengths), target = made.batch(torch.tensor([1, 0]), torch.Generator())
    assert x.shape == (2, 7_360)
    assert lengths.tolist() == [3_520, 7_360]
    assert target.shape == (2, 11)
    assert (target[0, 5:] == -100).all()
    assert (target[1] != -100).all()


def test_accuracy_is_the_share_of_vectors_that_are_there() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
            return torch.eye(11)[torch.full((len(x), int(FrameStem(SoundConfig(dim=8)).count(lengths).max())), 10)]

    asked = [each for place in (0, 1) for each in Concatenated(CLIPS, STRINGS).heard_at(place, CLASSES, 10)]
    scores = corpus().score(Silent(), "test", 2)
    right = asked.count(10) / len(asked)
    assert scores == {"accuracy": pytest.approx(right), "loss": pytest.approx(math.log(10 + math.e) - right)}
    assert tuple(scores) == corpus().metrics(Silent())


def test_a_model_learns_them() -> None:
    made = corpus()
    torch.manual_seed(0)
    model: Any = zoo.create("speech-tiny", depth=1, dim=16, num_heads=2, mlp_dim=16, **made.overrides())
    inputs, target = made.batch(torch.arange(2), torch.Generator())
    loss = made.loss(model(*inputs), target, 0.0)
    loss.backward()
    assert 1 < float(loss.detach()) < 5
