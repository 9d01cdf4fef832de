import torch

from zoo.plugins.speech.data.augmentation import CHANGES, add_noise, changed_by

SOUND = torch.sin(torch.arange(16_000) / 8)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_noise_is_between_10_and_40_decibels_below_the_sound_and_silence_stays() -> None:
    below = []
    for seed in range(40):
        noise = add_noise(SOUND, seeded(seed)) - SOUND
        below.append(10 * float(torch.log10(SOUND.square().mean() / noise.square().mean())))
    assert 9 < min(below) < 15
    assert 35 < max(below) < 41
    assert not add_noise(torch.zeros(400), seeded()).any()


def test_changes_are_drawn_by_the_generator_alone() -> None:
    before = torch.get_rng_state()
    change = changed_by(["noise", "speed"])
    assert change is not None
    assert torch.equal(change(SOUND, seeded(3)), change(SOUND, seeded(3)))
    assert {len(change(SOUND, seeded(seed))) for seed in range(12)} == {len(SOUND), 17_778, 14_546}
    assert torch.equal(torch.get_rng_state(), before)


def test_no_names_are_no_change() -> None:
    assert changed_by(["none"]) is None
    assert list(CHANGES) == ["speed", "noise"]
