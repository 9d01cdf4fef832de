"""Options of the recurrent translators, and that searching agrees with teacher forcing."""

from typing import Any

import pytest
import torch

import zoo
from zoo.core import (
    AttentiveDecoder,
    InputFeedingDecoder,
    Monotonic,
    Predictive,
    PresentStateDecoder,
    PreviousStateDecoder,
)
from zoo.errors import ConfigError

SMALL: dict[str, Any] = {"dim": 12, "vocab_size": 20}


@pytest.mark.parametrize(
    ("options", "decoder", "window"),
    [
        ({}, PreviousStateDecoder, type(None)),
        ({"score": "dot", "local": "m:3", "gate": True}, InputFeedingDecoder, Monotonic),
        ({"score": "location:40", "local": "p", "feeding": False}, PresentStateDecoder, Predictive),
        ({"score": "general", "copy": True, "cell": "gru", "depth": 2}, InputFeedingDecoder, type(None)),
        ({"choice": "hard"}, PreviousStateDecoder, type(None)),
        ({"bidirectional": True}, PreviousStateDecoder, type(None)),
    ],
)
@torch.no_grad()
def test_it_writes_greedily_what_teacher_forcing_finds_likeliest(
    options: dict[str, Any], decoder: type[AttentiveDecoder], window: type
) -> None:
    torch.manual_seed(0)
    model: Any = zoo.create("rnn-attention-tiny", **SMALL, **options).double().eval()
    assert decoder is type(model.decoder)
    assert type(model.decoder.alignment.window) is window
    source = torch.randint(3, 20, (2, 6)), torch.tensor([6, 3])
    greedy = model.generate(*source, max_len=5)
    assert torch.equal(model.generate(*source, max_len=5, beam=1).ids, greedy.ids)
    written = greedy.ids[:, 0]
    read = torch.cat([torch.full((2, 1), model.symbols.bos), written[:, :-1]], 1)
    for row, length in enumerate(greedy.lengths[:, 0].tolist()):
        best = model(source[0], source[1], read).argmax(-1)[row, :length]
        assert torch.equal(best, written[row, :length])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "sum"}, "score='sum' is not one of dot, general, concat, additive, location:PLACES"),
        ({"score": "location"}, "score='location' is not one of"),
        ({"local": "p:x"}, r"local='p:x' is not m\[:REACH\] or p\[:REACH\]"),
        ({"choice": "harder"}, "choice='harder' is not one of soft, hard"),
        ({"bidirectional": True, "dim": 7}, "dim=7 of a bidirectional encoder is not a multiple of 2"),
        ({"cell": "elman"}, "cell='elman' is not one of lstm, gru"),
    ],
)
def test_what_there_is_not_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        zoo.create("rnn-attention-tiny", **SMALL | options)
