"""Rooms: echoes that fall as they should, noise as loud as it should be, all of it drawn by the generator."""

import math

import pytest
import torch

from zoo.plugins.speech.data.synthetic.room_simulation import TAPE, Room, coloured, impulse_response

STILL = Room(around=0.0, direct=(90.0, 90.0), noise=(90.0, 90.0), clean=0.0)


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sound(t: int = 8_000) -> torch.Tensor:
    return 0.1 * torch.randn(t, generator=draw(9))


def test_a_dry_and_quiet_room_changes_nothing() -> None:
    torch.testing.assert_close(STILL(sound(), draw()), sound(), atol=1e-4, rtol=0)


def test_the_generator_draws_everything() -> None:
    room = Room()
    assert torch.equal(room(sound(), draw()), room(sound(), draw()))
    assert not torch.equal(room(sound(), draw(1))[:8_000], room(sound(), draw())[:8_000])


def test_silence_is_put_around_and_nothing_is_cut() -> None:
    lengths = [len(Room(around=0.1)(sound(), draw(seed))) for seed in range(50)]
    assert 8_000 <= min(lengths) < 8_800
    assert 10_400 < max(lengths) <= 11_200


def test_some_sounds_are_clean() -> None:
    room = Room(around=0.0, clean=0.25)
    clean = [torch.equal(room(sound(800), draw(seed)), sound(800)) for seed in range(200)]
    assert 30 < sum(clean) < 70


@pytest.mark.parametrize("ratio", [0.0, 20.0])
def test_noise_is_as_loud_as_was_asked(ratio: float) -> None:
    noisy = Room(around=0.0, direct=(90.0, 90.0), noise=(ratio, ratio), clean=0.0)(sound(), draw())
    noise = noisy - sound()
    found = 20 * math.log10(float(sound().norm() / noise.norm()))
    assert abs(found - ratio) < 0.1


def test_echoes_fall_by_60_decibels_in_the_time_that_was_asked() -> None:
    response = impulse_response(0.4, 6.0, draw())
    assert response[0] == 1
    echoes = response[1:].double()
    assert abs(float(echoes.norm()) - 10 ** (-6 / 20)) < 1e-3
    early, late = (echoes[start : start + 800].norm() for start in (0, 3_200))  # 0.2 s later
    assert abs(20 * math.log10(float(early / late)) - 30) < 2


@pytest.mark.parametrize("slope", [0.0, 1.0, 2.0])
def test_the_power_of_noise_falls_with_its_slope(slope: float) -> None:
    power = torch.fft.rfft(coloured(slope)).abs().square()
    hertz = TAPE / 16_000
    low, high = (power[int(f * hertz) : int(2 * f * hertz)].mean() for f in (200, 3_200))
    assert abs(math.log2(float(low / high)) - 4 * slope) < 0.2


def test_a_sound_may_be_longer_than_the_noise() -> None:
    noisy = Room(around=0.0, direct=(90.0, 90.0), noise=(0.0, 0.0), clean=0.0)(sound(TAPE + 1), draw())
    assert len(noisy) == TAPE + 1
    assert (noisy - sound(TAPE + 1))[-1_000:].norm() > 0.5
