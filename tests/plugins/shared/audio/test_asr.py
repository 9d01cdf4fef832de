"""Recognition three ways: what is composed, and that each learns to read tones."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Ctc, Encoder, Generator, Joint
from zoo.core.errors import ConfigError
from zoo.plugins.shared.audio.asr import WAYS, recogniser
from zoo.plugins.shared.audio.config import SoundConfig
from zoo.plugins.shared.audio.stems.frame_stem import FrameStem

pytestmark = pytest.mark.usefixtures("float64")

SIZES = {"dim": 32, "depth": 2, "num_heads": 2, "mlp_dim": 64}
RATE = 16_000
TONES = (300.0, 600.0, 1_200.0, 2_400.0)
"""Hertz of tokens 3, 4, …."""


def listener(by: str, dropout: float = 0.0, **options: Any) -> Any:
    torch.manual_seed(0)
    frames = SoundConfig(dim=32, bands=20, position="sinusoidal", window="full", dropout=0.0)
    stem, encoder = FrameStem(frames), Encoder(*SIZES.values())
    sizes: dict[str, Any] = {"vocab_size": len(TONES) + 3, "by": by, "dropout": dropout} | SIZES
    return recogniser(stem, encoder, SoundConfig(**(sizes | options)))


def sounds(lengths: list[int]) -> tuple[Tensor, Tensor]:
    noise = 0.1 * torch.randn(len(lengths), max(lengths), generator=torch.Generator().manual_seed(1))
    return noise, torch.tensor(lengths)


def test_each_way_is_a_composition_of_the_engine() -> None:
    parts: dict[str, set[str]] = {"ctc": set(), "attention": {"decoder"}, "joint": {"decoder", "emitter"}}
    kinds: tuple[type[nn.Module], ...] = (Ctc, Generator, Joint)
    for by, kind in zip(WAYS, kinds, strict=True):
        model = listener(by)
        assert isinstance(model, kind)
        assert {"decoder", "emitter"} & dict(model.named_children()).keys() == parts[by]


def test_a_decoder_has_half_as_many_blocks_if_nobody_says() -> None:
    assert len(listener("attention").decoder.blocks) == 1
    assert len(listener("joint", decoder_depth=3).decoder.blocks) == 3
    assert listener("joint", ctc_weight=0.25).ctc_weight == 0.25


@pytest.mark.parametrize("by", WAYS)
def test_a_sound_is_transcribed_as_alone(by: str) -> None:
    model = listener(by).double().eval()
    x, lengths = sounds([8_000, 5_000])
    x[1, 5_000:] = torch.nan
    together, alone = model.generate(x, lengths, max_len=9), model.generate(x[1:, :5_000], max_len=9)
    assert together.best()[1] == alone.best()[0]
    torch.testing.assert_close(together.scores[1], alone.scores[0])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"by": "transducer"}, "by='transducer' is not one of ctc, attention, joint"),
        ({"vocab_size": 3}, "vocab_size=3: at least 4"),
    ],
)
def test_what_is_no_recognition_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        listener(**({"by": "ctc"} | options))


def spoken(rows: list[list[int]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Say tokens as tones of 120 ms with silence between; give sounds, lengths, ids and target."""
    time = torch.arange(int(0.12 * RATE)) / RATE
    pieces = {token: 0.3 * torch.sin(2 * torch.pi * hertz * time) for token, hertz in enumerate(TONES, start=3)}
    silence = torch.zeros(int(0.06 * RATE))
    made = [torch.cat([silence, *(part for token in row for part in (pieces[token], silence))]) for row in rows]
    x = torch.nn.utils.rnn.pad_sequence(made, batch_first=True)
    longest = max(map(len, rows)) + 1
    ids = torch.tensor([[1, *row, *[0] * (longest - 1 - len(row))] for row in rows])
    target = torch.tensor([[*row, 2, *[-100] * (longest - 1 - len(row))] for row in rows])
    noise = 1e-3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    return x + noise, torch.tensor([len(each) for each in made]), ids, target


def loss_of(model: Any, inputs: tuple[Tensor, ...], target: Tensor) -> Tensor:
    loss: Tensor = model.training_loss(inputs, target)
    return loss


@pytest.mark.slow
@pytest.mark.parametrize("by", WAYS)
def test_a_handful_of_tones_is_learned_without_an_error(by: str) -> None:
    rows = [[3, 4, 5, 6], [6, 5, 4, 3], [3, 3, 4], [5], [4, 6, 4, 6], [6, 6, 6], [5, 3], [4, 5, 5, 3]]
    x, lengths, ids, target = spoken(rows)
    model = listener(by).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(400):
        optimizer.zero_grad()
        loss_of(model, (x, lengths, ids), target).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 25 == 24 and model.generate(x, lengths, max_len=9).best() == rows:
            break
    for beam in (1, 4):
        assert model.generate(x, lengths, max_len=9, beam=beam).best() == rows
