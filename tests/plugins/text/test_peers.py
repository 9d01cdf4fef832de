"""The peers of text models: what makes a comparison fair besides the weights, which `test_convert.py` compares."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import ConfigError
from zoo.plugins.text.models.transformer import Bert, Gpt, Transformer
from zoo.plugins.text.peers import bert_peer, gpt2_peer, torch_peer

pytestmark = pytest.mark.usefixtures("float64", "on_device")

SIZES: dict[str, Any] = {"vocab_size": 20, "dim": 8, "depth": 2, "num_heads": 2, "mlp_dim": 12, "max_len": 9}
PAIRS: list[tuple[Callable[..., Any], Callable[[Any], nn.Module]]] = [
    (Bert, bert_peer),
    (Gpt, gpt2_peer),
    (Transformer, torch_peer),
]


def given(model: nn.Module) -> tuple[Any, ...]:
    ids = torch.arange(12).view(2, 6) + 3
    return (ids, None, ids) if isinstance(model, Transformer) else (ids, None)


@pytest.mark.parametrize(("make", "peer_of"), PAIRS)
@pytest.mark.parametrize("training", [True, False])
def test_a_peer_trains_where_the_model_does(
    make: Callable[..., Any], peer_of: Callable[[Any], nn.Module], training: bool
) -> None:
    peer = peer_of(make(**SIZES).train(training))
    assert {part.training for part in peer.modules()} == {training}


@pytest.mark.parametrize(("make", "peer_of"), PAIRS)
def test_a_peer_drops_as_often_as_the_model_and_no_weights(
    make: Callable[..., Any], peer_of: Callable[[Any], nn.Module]
) -> None:
    peer = peer_of(make(**SIZES, dropout=0.25))
    rates = [part.p for name, part in peer.named_modules() if isinstance(part, nn.Dropout) and part.p > 0]
    assert set(rates) == {0.25}
    assert len(rates) >= 1 + 2 * 2  # behind the embedding, and twice a block
    weights = [part.dropout for part in peer.modules() if isinstance(part, nn.MultiheadAttention)]
    assert not any(weights)


@pytest.mark.parametrize(("make", "peer_of"), PAIRS)
def test_a_peer_without_dropout_is_the_same_function_in_training(
    make: Callable[..., Any], peer_of: Callable[[Any], nn.Module]
) -> None:
    model = make(**SIZES, dropout=0.0).train()
    torch.testing.assert_close(peer_of(model)(*given(model)), model(*given(model)))


@pytest.mark.parametrize(("make", "peer_of"), PAIRS)
def test_a_peers_norms_have_the_models_eps(make: Callable[..., Any], peer_of: Callable[[Any], nn.Module]) -> None:
    peer = peer_of(make(**SIZES, eps=1e-3))
    assert {part.eps for part in peer.modules() if isinstance(part, nn.LayerNorm)} == {1e-3}


@pytest.mark.parametrize(("make", "peer_of"), PAIRS)
def test_a_step_of_the_peer_moves_no_weight_of_the_model(
    make: Callable[..., Any], peer_of: Callable[[Any], nn.Module]
) -> None:
    options = {"output_bias": True} if make is Transformer else {}
    model = make(**SIZES, **options)
    ours = {parameter.data_ptr() for parameter in model.parameters()}
    peer = peer_of(model)
    assert not any(parameter.data_ptr() in ours for parameter in peer.parameters())


def test_an_activation_that_torch_has_not_is_refused() -> None:
    model: Any = Transformer(**SIZES)

    def odd(x: Tensor) -> Tensor:
        return x

    for stack in (model.encoder, model.decoder):
        for block in stack.blocks:
            block.mlp.activation = odd
    with pytest.raises(ConfigError, match=r"odd.* has no counterpart for torch\.nn\.Transformer"):
        torch_peer(model)
