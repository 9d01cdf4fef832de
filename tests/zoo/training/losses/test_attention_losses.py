"""Losses on the attention of a recurrent decoder, which are those of its maps."""

from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core.losses.alignment import doubly_stochastic, guided_attention
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.losses.attention_losses import DoublyStochastic, GuidedAttention


def nothing(forward: Any, batch: Batch, step: int) -> Tensor:
    return 0.0 * forward(*batch.inputs).sum()


def reader(**options: Any) -> tuple[Any, Batch]:
    model = zoo.create("rnn-attention-tiny", dim=12, **options).eval()
    source, lengths, target = zoo.example("rnn-attention-tiny")
    wanted = target.clone()
    wanted[1, 7:] = -100
    return model, Batch((source, lengths, target), wanted)


@pytest.mark.parametrize("options", [{}, {"score": "general", "feeding": False, "local": "p:9"}])
@pytest.mark.parametrize("target", ["1", "uniform"])
def test_a_recurrent_decoder_is_asked_to_read_everything(options: dict[str, Any], target: str) -> None:
    model, batch = reader(**options)
    (weights,) = model.attention_maps(*batch.inputs)
    queries, keys = torch.tensor([24, 7]), batch.inputs[1]
    loss = DoublyStochastic(nothing, model, 0.3, target)(model, batch, 0)
    torch.testing.assert_close(loss, 0.3 * doubly_stochastic(weights, queries, keys, target))
    loss.backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in model.decoder.alignment.parameters())


def test_its_attention_is_guided() -> None:
    model, batch = reader()
    (weights,) = model.attention_maps(*batch.inputs)
    expected = guided_attention(weights, torch.tensor([24, 7]), batch.inputs[1])
    torch.testing.assert_close(GuidedAttention(nothing, model, 1.0)(model, batch, 0), expected)


def test_a_model_that_reads_no_encoder_is_refused() -> None:
    with pytest.raises(ConfigError, match="doubly stochastic attention of RecurrentTranslator, which has no attention"):
        DoublyStochastic(nothing, zoo.create("rnn-tiny", dim=12), 0.1)
