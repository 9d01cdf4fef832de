"""What makes more of little sound: masks in the model, and speeds that follow the seed, both in training only."""

import torch

import zoo
from zoo.plugins.speech.io.speed_perturbation import SPEEDS, change_speed


def test_a_model_is_masked_in_training_only() -> None:
    torch.manual_seed(0)
    model = zoo.create("speech-tiny", depth=1, dropout=0.0, spec_augment=[2, 27, 2, 40])
    inputs = zoo.example("speech-tiny")
    with torch.no_grad():
        assert not torch.equal(model.train()(*inputs), model(*inputs))
        assert torch.equal(model.eval()(*inputs), model(*inputs))


def test_speeds_change_the_duration_and_follow_the_seed() -> None:
    sound = torch.randn(9_900, generator=torch.Generator().manual_seed(0))
    durations = set()
    for seed in range(20):
        torch.manual_seed(seed)
        changed = change_speed(sound, 16_000)
        torch.manual_seed(seed)
        assert torch.equal(change_speed(sound, 16_000), changed)
        durations.add(len(changed))
    assert durations == {round(9_900 / speed) for speed in SPEEDS}


def test_sounds_are_played_at_other_speeds_in_training_only() -> None:
    sound = torch.randn(9_900, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    train, usual = zoo.preprocess("speech-tiny", train=True), zoo.preprocess("speech-tiny")
    assert {int(usual(sound)[1]) for _ in range(20)} == {9_900}
    assert {int(train(sound)[1]) for _ in range(20)} == {9_000, 9_900, 11_000}
