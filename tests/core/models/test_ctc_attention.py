"""Both ways of transcribing together: the loss by its weights, and the best of all transcripts by both scores."""

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Attention, Decoder, Encoder, Joint, NextToken, TokenEmbed
from zoo.core.errors import ConfigError, InputError
from zoo.core.losses.ctc import ctc_loss
from zoo.core.losses.loss import cross_entropy

VOCAB, DIM = 5, 8
SOURCE = torch.tensor([[7, 3, 9], [4, 6, 0]])
LENGTHS = torch.tensor([3, 2])
IDS = torch.tensor([[1, 3, 4], [1, 4, 0]])
TARGET = torch.tensor([[3, 4, 2], [4, 2, -100]])


def both(ctc_weight: float = 0.3) -> Joint:
    torch.manual_seed(0)
    decoder, target = Decoder(DIM, 2, 2, 16, cross=Attention), TokenEmbed(VOCAB, DIM)
    encoder, stem = Encoder(DIM, 1, 2, 16), TokenEmbed(10, DIM)
    heads = NextToken(DIM, VOCAB, bias=True), NextToken(DIM, VOCAB, bias=True)
    model = Joint(target, decoder, *heads, encoder=encoder, stem=stem, ctc_weight=ctc_weight).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return model


def test_the_losses_add_up_by_their_weights() -> None:
    model = both(0.2)
    inputs = (SOURCE, LENGTHS, IDS)
    written = cross_entropy(model(*inputs), TARGET, 0.1)
    emission = ctc_loss(*model.emit(SOURCE, LENGTHS), TARGET).sum() / 5
    torch.testing.assert_close(model.training_loss(inputs, TARGET, 0.1), 0.2 * emission + 0.8 * written)


def test_a_loss_reaches_every_parameter() -> None:
    model = both().train()
    model.training_loss((SOURCE, LENGTHS, IDS), TARGET, 0.1).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def every_transcript(model: Joint, told: Callable[..., list[float]], source: Tensor) -> list[tuple[list[int], Any]]:
    """Give each transcript that a source can have, with what the vectors and the decoder say of it."""
    scores, lengths = model.emit(source)
    found = []
    for said in itertools.chain.from_iterable(itertools.product((3, 4), repeat=n) for n in range(len(source[0]) + 1)):
        with suppress(InputError):  # equal neighbours without room for a blank
            emission = -ctc_loss(scores, lengths, torch.tensor([said], dtype=torch.long))[0].item()
            found.append((list(said), (emission, sum(told(model, [1], [*said, 2], source)))))
    return found


def test_the_best_of_all_transcripts_by_both_scores_is_found(told: Callable[..., list[float]]) -> None:
    model = both()
    all_of_row = [every_transcript(model, told, SOURCE[row : row + 1, :length]) for row, length in enumerate([3, 2])]
    for share in (None, 0.0, 0.6, 1.0):
        weight = 0.3 if share is None else share
        found = model.generate(SOURCE, LENGTHS, beam=40, n_best=3, ctc_weight=share)
        for row, every in enumerate(all_of_row):
            wanted = [(weight * emission + (1 - weight) * written, said) for said, (emission, written) in every]
            wanted = sorted(wanted, reverse=True)[:3]
            rows = zip(found.ids[row].tolist(), found.lengths[row].tolist(), strict=True)
            assert [ids[:count] for ids, count in rows] == [said for _, said in wanted]
            torch.testing.assert_close(found.scores[row].tolist(), [score for score, _ in wanted])


def test_the_decoder_changes_what_is_taken() -> None:
    model = both()
    written, emitted = (model.generate(SOURCE, LENGTHS, beam=40, ctc_weight=share) for share in (0.0, 1.0))
    assert written.best() != emitted.best()
    assert [found.ids.shape[2] for found in (written, emitted)] == [written.lengths.max(), emitted.lengths.max()]


def test_a_row_is_transcribed_as_alone() -> None:
    model = both()
    together = model.generate(SOURCE, LENGTHS, beam=4, n_best=2)
    alone = model.generate(SOURCE[1:, :2], beam=4, n_best=2)
    assert together.best()[1] == alone.best()[0]
    torch.testing.assert_close(together.scores[1], alone.scores[0])


def test_a_beam_of_one_is_the_likeliest_alignment_scored_by_both() -> None:
    model = both()
    found = model.generate(SOURCE[:1], beam=1)
    context = model.encode(SOURCE[:1])
    assert found.lengths.shape == (1, 1)
    assert found.ids.shape[2] == int(found.lengths)
    assert found.scores.item() < model.score(context, found).item() * 0.7


@pytest.mark.parametrize("weight", [0.0, 1.0, 1.5])
def test_neither_way_goes_without_a_share_of_the_training(weight: float) -> None:
    with pytest.raises(ConfigError, match=rf"ctc_weight={weight} is not in \(0, 1\)"):
        both(weight)


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"ctc_weight": -0.1}, r"ctc_weight=-0\.1 is not in \[0, 1\]"),
        ({"temperature": 1.0}, "temperature=1.0"),
        ({"num_beams": 3}, "num_beams=3.*beam"),
        ({"beam": 2, "n_best": 3}, "n_best=3 is more than beam=2"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(wish: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        both().generate(SOURCE, LENGTHS, **wish)
