"""Models with int8 weights: which layers have them, what stays tied, what they answer, and what is refused."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from zoo.core import ConfigError, Generator, Int8Matrix, Linear, NextToken, TokenEmbed, is_quantized, quantize
from zoo.core.transforms.inference_copy import serving

Maker = Callable[..., Any]

IDS = torch.tensor([[3, 4, 5, 1], [6, 5, 4, 2]])


def answer(model: nn.Module, *inputs: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(*inputs)
    return found


def tied(writer: Maker) -> Generator:
    """Make a language model whose embedding is its head's matrix."""
    model: Generator = writer().float()
    assert isinstance(model.target, TokenEmbed)
    model.head = NextToken(8, 7, model.target.embed, bias=True)
    return model


def with_floats(model: Any) -> Any:
    """Give a model the floats that its int8 weights stand for, in float64."""
    made = deepcopy(model)
    for part in list(made.modules()):
        for name, matrix in list(part._modules.items()):
            if isinstance(matrix, Int8Matrix):
                del part._modules[name]
                part.register_parameter(name, nn.Parameter(matrix.dequantized()))
    return made.double()


@pytest.mark.parametrize("encoder", [False, True])
def test_answers_are_those_of_the_weights_that_int8_stands_for(writer: Maker, int8_way: str, encoder: bool) -> None:
    model = quantize(writer(encoder=encoder).float())
    inputs = (IDS, None, IDS) if encoder else (IDS,)
    wanted = answer(with_floats(model), *inputs)
    torch.testing.assert_close(answer(model, *inputs).double(), wanted, rtol=1e-3, atol=1e-3 * float(wanted.std()))


def test_all_linear_layers_are_int8_and_nothing_else(writer: Maker) -> None:
    model = quantize(writer(encoder=True))
    for name, part in model.named_modules():
        if isinstance(part, nn.Linear | NextToken):
            assert isinstance(part.weight, Int8Matrix), name
        elif not isinstance(part, Int8Matrix):
            assert not any(isinstance(inner, Int8Matrix) for inner in part._modules.values()), name
    assert "Int8Matrix(24, 8)" in repr(model.decoder.blocks[0].attention.qkv)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_embeddings_are_int8_where_that_is_asked_for(writer: Maker, int8_way: str) -> None:
    model = writer().float()
    made = quantize(model, embeddings=True)
    assert isinstance(made.target.embed.weight, Int8Matrix)
    assert made.quantization == {"dtype": "int8", "embeddings": True}
    torch.testing.assert_close(answer(made, IDS), answer(with_floats(made), IDS).float(), rtol=1e-3, atol=1e-2)


def test_a_tied_embedding_stays_tied(writer: Maker, int8_way: str) -> None:
    for model in (made := quantize(tied(writer)), deepcopy(made), pickle.loads(pickle.dumps(made))):
        matrix = model.target.embed.weight
        assert isinstance(matrix, Int8Matrix)
        assert model.head.matrix is matrix
        matrix.int8.zero_()  # not packed yet: both see it
        assert not model.target.embed(IDS).any()
        assert torch.equal(answer(model, IDS), model.head.bias.expand(2, 4, 7))


def test_the_original_stays_as_it_was_and_shares_nothing(writer: Maker) -> None:
    model = writer()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    made = quantize(model)
    for parameter in made.parameters():
        parameter.data.zero_()
    after = model.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert not is_quantized(model)


@pytest.mark.parametrize("encoder", [False, True])
def test_cached_decoding_is_uncached_decoding(writer: Maker, plain: Callable[..., list[int]], encoder: bool) -> None:
    model = quantize(writer(encoder=encoder).float())
    source = (IDS[:1], None) if encoder else ()
    found = model.generate(*source, *(() if encoder else (IDS[:1],)), max_len=8)
    assert found.best()[0] == [t for t in plain(model, [1] if encoder else IDS[0].tolist(), 8, *source) if t != 2]


def test_a_copy_for_serving_and_a_loaded_state_answer_the_same(writer: Maker, int8_way: str) -> None:
    model = quantize(writer().float())
    assert torch.equal(answer(serving(model), IDS), answer(model, IDS))
    other = quantize(writer(seed=1).float())
    answer(other, IDS)  # its matrices are packed
    other.load_state_dict(model.state_dict())
    assert torch.equal(answer(other, IDS), answer(model, IDS))


def test_gradients_reach_the_inputs(int8_way: str) -> None:
    layer = nn.Sequential(Linear(6, 9), nn.GELU(), nn.Linear(9, 4))
    made, x = quantize(layer), torch.randn(5, 6, requires_grad=True)
    twin = with_floats(made)
    (found,) = torch.autograd.grad(made(x).sum(), x)
    (wanted,) = torch.autograd.grad(twin(x.double()).sum(), x)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def test_weights_that_layers_share_stay_shared() -> None:
    model = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5))
    model[1].weight = model[0].weight
    made = quantize(model)
    assert made[0].weight is made[1].weight


def test_attention_of_torch_stays_as_it_is() -> None:
    model = nn.ModuleList([nn.MultiheadAttention(8, 2), nn.Linear(8, 8)])
    made = quantize(model)
    assert [name for name, part in made.named_modules() if isinstance(part, Int8Matrix)] == ["1.weight"]


def test_another_dtype_is_refused() -> None:
    with pytest.raises(ConfigError, match="dtype='int4': weights can be 'int8', and nothing else"):
        quantize(nn.Linear(2, 2), "int4")


def test_a_model_without_linear_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="Conv2d has no linear layers"):
        quantize(nn.Conv2d(1, 1, 1))


def test_a_quantised_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="Linear has int8 weights already"):
        quantize(quantize(nn.Linear(2, 2)))


@pytest.mark.parametrize("where", ["meta", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_model_elsewhere_is_refused(where: str) -> None:
    said = rf"Linear is on {where}: int8 weights are for CPUs.*model\.to\('cpu'\)"
    with pytest.raises(ConfigError, match=said):
        quantize(nn.Linear(2, 2, device=where))
