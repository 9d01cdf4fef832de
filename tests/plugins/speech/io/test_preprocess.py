"""From files and arrays to samples at 16 kHz, with lengths; what cannot be read is named, skipped and counted."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo.errors import InputError, MissingLibraryError
from zoo.plugins.speech.io.preprocess import Preprocess, resampled

Write = Callable[..., Path]


def noise(t: int = 1_000, *shape: int) -> torch.Tensor:
    return 0.1 * torch.randn(t, *shape, generator=torch.Generator().manual_seed(0))


def test_a_file_becomes_a_batch_of_one(write: Write) -> None:
    samples, lengths = zoo.preprocess("speech-small")(write("x.wav"))
    assert samples.shape == (1, 3_200)
    assert lengths.tolist() == [3_200]


def test_files_and_arrays_become_a_batch_with_lengths(write: Write) -> None:
    file, array = str(write("x.flac")), noise()
    samples, lengths = Preprocess()([file, array, array.numpy()[:500]])
    assert lengths.tolist() == [3_200, 1_000, 500]
    assert torch.equal(samples[1, :1_000], array)
    assert torch.equal(samples[2, :500], array[:500])
    assert not samples[2, 500:].any()


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000])
def test_any_rate_becomes_16_kilohertz(write: Write, rate: int) -> None:
    exact, _ = Preprocess()(write("x.wav", seconds=0.4))
    samples, lengths = Preprocess()(write("y.wav", seconds=0.4, rate=rate))
    assert lengths.tolist() == [6_400]
    torch.testing.assert_close(samples[:, 400:-400], exact[:, 400:-400], atol=2e-3, rtol=0)


def test_a_rate_that_nobody_records_at_costs_no_memory() -> None:
    assert abs(len(resampled(noise(8_009), 8_009)) - 16_000) <= 10


def test_channels_become_their_mean(write: Write) -> None:
    one, _ = Preprocess()(write("x.wav", subtype="FLOAT"))
    two, _ = Preprocess()(write("y.wav", channels=2, subtype="FLOAT"))
    torch.testing.assert_close(two, one * 0.75)
    stereo = noise(1_000, 2)
    for sound in (stereo, stereo.T, stereo.numpy()):
        torch.testing.assert_close(Preprocess()(sound)[0][0], stereo.mean(1))


@pytest.mark.parametrize(("dtype", "factor"), [(torch.int16, 2**15), (torch.int32, 2**31), (torch.float64, 1)])
def test_whole_numbers_are_brought_to_one(dtype: torch.dtype, factor: int) -> None:
    x = noise()
    torch.testing.assert_close(Preprocess()((x.double() * factor).to(dtype))[0][0], x, atol=1e-4, rtol=0)


@pytest.mark.parametrize("order", ["<f4", ">f4", ">i2"])
def test_arrays_of_any_order_are_read_also_where_they_cannot_be_written(order: str) -> None:
    x = (noise().numpy() * (2**15 if order == ">i2" else 1)).astype(order)[::-1]
    x.flags.writeable = False
    torch.testing.assert_close(Preprocess()(x)[0][0], noise().flip(0), atol=1e-4, rtol=0)


def test_bytes_are_silent_at_128() -> None:
    assert not Preprocess()(np.full(1_000, 128, dtype=np.uint8))[0].any()


def test_an_array_may_tell_its_rate() -> None:
    x = noise()
    stated, _ = Preprocess()(x, rate=8_000)
    assert stated.shape == (1, 2_000)
    torch.testing.assert_close(Preprocess()((x, 8_000))[0], stated)
    torch.testing.assert_close(Preprocess()([(x, 8_000), x])[0][0], stated[0])


@pytest.mark.parametrize("kind", [np.int64, np.uint16])
def test_a_rate_may_be_a_number_of_numpy(write: Write, kind: Callable[[int], Any]) -> None:
    assert Preprocess()(noise(), rate=kind(8_000))[1].tolist() == [2_000]
    assert Preprocess()(write("x.wav", rate=8_000), rate=kind(8_000))[1].tolist() == [3_200]
    with pytest.raises(InputError, match=r"rate=.*16.* is no rate of samples: 1,000 to 768,000"):
        Preprocess()(noise(), rate=kind(16))


@pytest.mark.parametrize("t", [400, 430])
def test_a_sound_of_a_frame_is_read_in_training_at_every_speed_that_leaves_one(t: int) -> None:
    torch.manual_seed(0)
    durations = {int(Preprocess(train=True)(noise(t))[1]) for _ in range(20)}
    assert min(durations) == t
    assert len(durations) == 2


def test_a_sound_shorter_than_a_frame_is_refused_in_training_at_every_speed() -> None:
    for seed in range(10):
        torch.manual_seed(seed)
        with pytest.raises(InputError, match="a sound of 399 samples at 16000 Hz is shorter than one frame"):
            Preprocess(train=True)(noise(399))


def test_a_rate_that_is_not_the_files_is_refused(write: Write) -> None:
    path = write("x.wav", rate=8_000)
    assert Preprocess()(path, rate=8_000)[1].tolist() == [3_200]
    with pytest.raises(InputError, match=r"x\.wav' has 8000 Hz, and rate=16000 was stated"):
        Preprocess()(path, rate=16_000)
    with pytest.raises(InputError, match=r"x\.wav' has 8000 Hz, and rate=16000 was stated"):
        Preprocess()((path, 16_000))
    with pytest.raises(InputError, match="a sound has 8000 Hz, and rate=16000 was stated"):
        Preprocess()((noise(), 8_000), rate=16_000)


@pytest.mark.parametrize(
    ("sound", "rate", "text"),
    [
        (noise(), 0, "rate=0 is no rate"),
        (noise(), 16, "rate=16 is no rate"),
        (noise(399), None, "a sound of 399 samples at 16000 Hz is shorter than one frame, 25 ms: 400 samples"),
        (noise(199), 8_000, "a sound of 199 samples at 8000 Hz is shorter than one frame"),
        (noise(0), None, "a sound of 0 samples"),
        (noise().index_fill(0, torch.tensor(3), torch.nan), None, "a sound: nan at sample 3"),
        (noise().index_fill(0, torch.tensor(4), -torch.inf), None, "a sound: -inf at sample 4"),
        (noise(50, 50), None, r"samples of shape \(50, 50\): one sound is \(time,\)"),
        (noise(50, 2, 2), None, r"samples of shape \(50, 2, 2\)"),
        (noise() > 0, None, "samples are torch.bool"),
        (np.array(["a"]), None, "an array of <U1 is no sound"),
        (b"RIFF", None, "bytes is no sound: give a file"),
        ([], None, "an empty list of sounds"),
        ([noise(), noise(9)], None, "sound 1: a sound of 9 samples"),
    ],
)
def test_what_is_no_sound_is_refused(sound: Any, rate: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Preprocess()(sound, rate)


@pytest.mark.parametrize("sound", [torch.zeros(800), torch.ones(800), 1e4 * noise(), noise().sign()])
def test_silence_and_clipped_sounds_are_read_and_answered(sound: torch.Tensor) -> None:
    model = zoo.create("speech-tiny", depth=1, num_classes=3).eval()
    assert model(*zoo.preprocess("speech-tiny")(sound)).isfinite().all()


def test_what_cannot_be_read_is_named_skipped_and_counted(write: Write, tmp_path: Path) -> None:
    good, short, broken = write("good.wav"), write("short.wav", seconds=0.02), write("broken.wav")
    broken.write_bytes(broken.read_bytes()[:1_000])
    preprocess = Preprocess()
    with pytest.warns(UserWarning, match=r"3 of 4 sounds are skipped:\n.*short\.wav.*\n.*broken\.wav.*\n.*no\.wav"):
        _, lengths = preprocess([short, good, broken, tmp_path / "no.wav"], skip=True)
    assert lengths.tolist() == [3_200]
    assert [(each.place, Path(each.name.strip("'")).name) for each in preprocess.skipped] == [
        (0, "short.wav"),
        (2, "broken.wav"),
        (3, "no.wav"),
    ]
    assert "truncated" in preprocess.skipped[1].why
    preprocess(good)
    assert not preprocess.skipped
    with pytest.raises(InputError, match=r"sound 1: '.*short\.wav' of 320 samples at 16000 Hz"):
        preprocess([good, short])


def test_nothing_left_is_an_error(write: Write) -> None:
    with pytest.warns(UserWarning, match="1 of 1"), pytest.raises(InputError, match="no sound can be read, of 1"):
        Preprocess()([noise(9)], skip=True)


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.registry.entry_loading._installed", lambda module: False)
    with pytest.raises(MissingLibraryError, match="'preprocessing sounds' needs soundfile and torchaudio: pip install"):
        zoo.preprocess("speech-tiny")
    with pytest.raises(MissingLibraryError, match="'reading answers to sounds' needs tokenizers: pip install"):
        zoo.postprocess("speech-tiny")


def test_samples_are_counted_from_the_header_and_bytes_are_read_again(write: Write) -> None:
    assert Preprocess.amount(write("x.wav", seconds=0.4)) == (6_400, "samples")
    assert Preprocess.amount(write("y.wav", seconds=0.4, rate=8_000)) == (6_400, "samples")  # those it becomes
    data = BytesIO(write("x.wav").read_bytes())
    first, again = (Preprocess()(data)[0] for _ in range(2))
    assert torch.equal(first, again)
    with pytest.raises(InputError, match="cannot be read as sound"):
        Preprocess.amount(BytesIO(b"no sound"))
