"""What vectors emit as a model: its loss, its transcripts, and who may change them."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Ctc, Encoder, NextToken, TokenEmbed, Tokens
from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.beam_search import Beam
from zoo.core.generation.ctc_beam_search import prefix_beam
from zoo.core.generation.ctc_greedy import greedy
from zoo.core.losses.ctc import ctc_loss
from zoo.core.special_tokens import Symbols

VOCAB, DIM = 6, 8
SOURCE = torch.tensor([[7, 3, 9, 2, 5, 8], [4, 4, 6, 1, 0, 0]])
LENGTHS = torch.tensor([6, 4])
IDS = torch.tensor([[1, 3, 5], [1, 4, 4]])
TARGET = torch.tensor([[3, 5, 2], [4, 2, -100]])


def reader(dropout: float = 0.0) -> Ctc:
    torch.manual_seed(0)
    stem, encoder = TokenEmbed(10, DIM), Encoder(DIM, 2, 2, 16, dropout=dropout)
    model = Ctc(stem, encoder, NextToken(DIM, VOCAB, bias=True)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return model


def test_ids_behind_a_source_are_not_read() -> None:
    model = reader()
    scores = model(SOURCE, LENGTHS)
    assert scores.shape == (2, 6, VOCAB)
    assert torch.equal(model(SOURCE, LENGTHS, IDS), scores)
    torch.testing.assert_close(model(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool)), model(SOURCE))
    assert torch.equal(model.forward_features(SOURCE, LENGTHS, IDS), model.forward_features(SOURCE, LENGTHS))
    last, states = model.forward_intermediates(SOURCE, LENGTHS, IDS, indices=[-1])
    assert torch.equal(states[0], last)


def test_the_loss_is_by_tokens_that_are_asked_so_that_batches_add_up() -> None:
    model = reader()
    whole = model.training_loss((SOURCE, LENGTHS, IDS), TARGET)
    rows = ctc_loss(*model.emit(SOURCE, LENGTHS), TARGET)
    torch.testing.assert_close(whole, rows.sum() / 5)
    alone = [model.training_loss((SOURCE[i : i + 1], LENGTHS[i : i + 1]), TARGET[i : i + 1]) for i in (0, 1)]
    torch.testing.assert_close(whole, alone[0] * 3 / 5 + alone[1] * 2 / 5)


def test_a_loss_reaches_every_parameter() -> None:
    model = reader().train()
    model.training_loss((SOURCE, LENGTHS, IDS), TARGET, 0.1).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_row_too_short_for_its_transcript_is_named() -> None:
    with pytest.raises(InputError, match=r"row 1: a transcript of 3 tokens, \[4, 4, 4\], needs 5 vectors.*there are 4"):
        reader().training_loss((SOURCE, LENGTHS, IDS), torch.tensor([[3, 5, 2, -100], [4, 4, 4, 2]]))


def test_transcripts_are_those_of_the_searches() -> None:
    model = reader()
    scores, lengths = model.emit(SOURCE, LENGTHS, IDS)
    assert lengths.tolist() == LENGTHS.tolist()
    assert model.generate(SOURCE, LENGTHS).best() == greedy(scores, lengths).best()
    found, wanted = model.generate(SOURCE, LENGTHS, beam=4, n_best=3), prefix_beam(scores, lengths, Beam(4, 3))
    assert torch.equal(found.ids, wanted.ids)
    torch.testing.assert_close(found.scores, wanted.scores)


@pytest.mark.parametrize("beam", [1, 5])
def test_a_row_is_transcribed_as_alone_wherever_its_padding_stands(beam: int) -> None:
    model = reader()
    together = model.generate(SOURCE, LENGTHS, beam=beam)
    alone = model.generate(SOURCE[1:, :4], beam=beam)
    front = torch.cat([torch.zeros(1, 2, dtype=torch.long), SOURCE[1:, :4]], dim=1)
    shifted = model.generate(front, torch.arange(6)[None] >= 2, beam=beam)
    assert together.best()[1] == alone.best()[0] == shifted.best()[0]
    torch.testing.assert_close(together.scores[1], alone.scores[0])
    torch.testing.assert_close(shifted.scores, alone.scores)


def test_it_transcribes_without_dropout_and_gradients_and_stays_in_training() -> None:
    model = reader(dropout=0.5).train()
    first, second = model.generate(SOURCE, LENGTHS), model.generate(SOURCE, LENGTHS)
    assert torch.equal(first.scores, second.scores)
    assert not first.scores.requires_grad
    assert all(part.training for part in model.modules())


def test_a_transcript_is_cut() -> None:
    model = reader()
    whole = model.generate(SOURCE, LENGTHS, beam=3, n_best=2)
    short = model.generate(SOURCE, LENGTHS, beam=3, n_best=2, max_len=1)
    assert int(whole.lengths.max()) > 1
    assert torch.equal(short.ids, whole.ids[..., :1])
    assert torch.equal(short.lengths, whole.lengths.clamp(max=1))


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"num_beams": 3}, "num_beams=3.*beam"),
        ({"temperature": 0.5}, "temperature=0.5"),
        ({"beam": 0}, "beam=0: at least one"),
        ({"beam": 2, "n_best": 3}, "n_best=3 is more than beam=2"),
        ({"max_len": 0}, "max_len=0: at least one token"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(wish: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        reader().generate(SOURCE, LENGTHS, **wish)


def test_the_blank_is_no_other_symbol() -> None:
    model = reader()
    with pytest.raises(ConfigError, match="the padding is the blank of what vectors emit"):
        Ctc(model.stem, model.encoder, model.head, symbols=Symbols(2, 1, 2))


def test_another_vocabulary_is_refused() -> None:
    with pytest.raises(ConfigError, match="its vocabulary has 6"):
        reader().reset_classifier(5)


def test_numbers_behind_a_source_are_no_ids() -> None:
    model = reader()
    model.stem = Louder()
    x, loudness = torch.randn(2, 3, DIM, dtype=torch.float64), torch.rand(2, 3, dtype=torch.float64)
    assert not torch.equal(model(x, loudness), model(x, torch.ones_like(loudness)))


class Louder(torch.nn.Module):
    """Take vectors times a number each."""

    def forward(self, x: Tensor, loudness: Tensor) -> Tokens:
        return Tokens(x * loudness[..., None])
