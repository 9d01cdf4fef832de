"""Weights of other libraries: the same answers, where nothing is padded, and back."""

import re
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchaudio.models import Conformer
from transformers import ParakeetEncoder, ParakeetEncoderConfig, Wav2Vec2ConformerConfig
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoder

import zoo
from zoo import ConfigError, WeightsError
from zoo.core import Attention, Lengths, Tokens
from zoo.core.layers.transformer import Stack
from zoo.plugins.conformer.block import conformer_encoder
from zoo.plugins.conformer.convert import body, to_parakeet, to_torchaudio, to_zoo
from zoo.plugins.conformer.convolution import ConvolutionModule

pytestmark = pytest.mark.usefixtures("float64")

KERNEL = 5
SIZES: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 4, "mlp_dim": 24, "bands": 16}
ALIKE: dict[str, Any] = {"kernel_size": KERNEL, "position": "none"}


def randomised(module: Any) -> Any:
    """Move the parameters and statistics from where they start, so that a mix-up shows."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        for name, buffer in module.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 2)
    return module.eval()


def torchaudios(group: bool = False, first: bool = False) -> Any:
    return randomised(Conformer(16, 4, 24, 2, KERNEL, use_group_norm=group, convolution_first=first))


def wav2vec2(**options: Any) -> Wav2Vec2ConformerEncoder:
    usual: dict[str, Any] = {"hidden_act": "swish", "position_embeddings_type": "relative"}
    config = Wav2Vec2ConformerConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        conv_depthwise_kernel_size=KERNEL,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        **usual | options,
    )
    return randomised(Wav2Vec2ConformerEncoder(config))  # type: ignore[no-untyped-call]


def parakeet(bias: bool = True) -> ParakeetEncoder:
    config = ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        conv_kernel_size=KERNEL,
        convolution_bias=bias,
        num_mel_bins=16,
        subsampling_conv_channels=4,
    )
    return randomised(ParakeetEncoder(config))


def ours(theirs: Any) -> Stack:
    return body(theirs.state_dict(), 4).eval()


def same(found: Tensor, wanted: Tensor) -> None:
    assert found.abs().max() > 0.1
    torch.testing.assert_close(found, wanted)


def returned(back: dict[str, Tensor], theirs: nn.Module) -> None:
    wanted = {key: value for key, value in theirs.state_dict().items() if not key.startswith("subsampling.")}
    assert back.keys() == wanted.keys()
    assert all(torch.equal(back[key], wanted[key]) for key in wanted)


ORDERS = pytest.mark.parametrize("first", [False, True])


@ORDERS
@pytest.mark.parametrize("group", [False, True])
def test_torchaudios_conformer_gives_the_same_and_its_weights_return(group: bool, first: bool) -> None:
    theirs = torchaudios(group, first)
    x = torch.randn(2, 9, 16)
    wanted = theirs(x, torch.tensor([9, 9]))[0]
    told = body(theirs.state_dict(), 4, convolution_first=first).eval()
    for stack in (body(theirs).eval(), told):
        torch.testing.assert_close(stack(Tokens(x)).x, wanted)
        returned(to_torchaudio(stack), theirs)
    other = body(theirs.state_dict(), 4, convolution_first=not first).eval()
    assert (other(Tokens(x)).x - wanted).abs().max() > 0.01


def test_a_state_dict_alone_is_read_as_torchaudio_makes_its_conformer_by_default() -> None:
    theirs = torchaudios()
    x = torch.randn(2, 9, 16)
    same(body(theirs.state_dict(), 4).eval()(Tokens(x)).x, theirs(x, torch.tensor([9, 9]))[0])


@ORDERS
def test_a_model_by_name_has_its_convolution_first_where_it_is_told(first: bool) -> None:
    theirs = torchaudios(first=first)
    fresh: Any = zoo.create("conformer-small", convolution_first=first, **SIZES, **ALIKE)
    weights = {**fresh.state_dict(), **theirs.state_dict()}
    model: Any = zoo.create("conformer-small", convolution_first=first, weights=weights, **SIZES, **ALIKE).eval()
    stem = model.stem(0.1 * torch.randn(2, 4_000))
    same(model.encoder(stem).x, theirs(stem.x, torch.full((2,), stem.x.shape[1]))[0])


def test_only_torchaudios_convolution_may_stand_first() -> None:
    with pytest.raises(WeightsError, match="convolution_first=True: the weights are none of torchaudio's"):
        body(parakeet().state_dict(), 4, convolution_first=True)
    with pytest.raises(ConfigError, match="ConvolutionFirstBlock: Parakeet's attention stands in front"):
        to_parakeet(body(torchaudios(first=True)))
    with pytest.raises(WeightsError, match=r"make the model with convolution_first=False$"):
        zoo.create("conformer-small", weights=parakeet().state_dict(), convolution_first=True, **SIZES)


def test_modules_tell_their_heads_and_a_state_dict_does_where_it_has_positions() -> None:
    rotary = wav2vec2(position_embeddings_type="rotary")
    for theirs in (torchaudios(), wav2vec2(), rotary, parakeet()):
        assert body(theirs).blocks[0].attention.num_heads == 4
    for theirs in (wav2vec2(), rotary, parakeet()):
        assert body(theirs.state_dict()).blocks[0].attention.num_heads == 4
    for theirs in (torchaudios(), wav2vec2(position_embeddings_type=None)):
        with pytest.raises(WeightsError, match="give num_heads=, or the module"):
            body(theirs.state_dict())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hidden_act": "gelu"}, "hidden_act='gelu' of Wav2Vec2ConformerEncoder: the blocks here compute 'swish'"),
        ({"layer_norm_eps": 1e-3}, "layer_norm_eps=0.001 of Wav2Vec2ConformerEncoder"),
    ],
)
def test_what_their_weights_do_not_tell_is_read_off_the_module(options: dict[str, Any], text: str) -> None:
    with pytest.raises(WeightsError, match=re.escape(text)):
        body(wav2vec2(**options))


def test_weights_that_no_block_here_computes_with_are_refused() -> None:
    rotary = wav2vec2(position_embeddings_type="rotary", rotary_embedding_base=500).state_dict()
    with pytest.raises(WeightsError, match=r"embed_positions\.inv_freq is of another rotary_embedding_base"):
        body(rotary, 4)
    with pytest.raises(WeightsError, match=r"no blocks here compute with layers\.1\.adapter\.weight"):
        body(wav2vec2().state_dict() | {"layers.1.adapter.weight": torch.zeros(1)}, 4)


@pytest.mark.parametrize("prefix", ["", "encoder.", "wav2vec2_conformer.encoder."])
def test_wav2vec2_conformer_gives_the_same(prefix: str) -> None:
    theirs = wav2vec2()
    stack = body({prefix + key: value for key, value in theirs.state_dict().items()}, 4).eval()
    x = torch.randn(2, 9, 16)
    same(stack(Tokens(x)).x, theirs(x.clone()).last_hidden_state)


def test_wav2vec2_conformers_padding_leaks_and_ours_does_not() -> None:
    theirs = wav2vec2()
    x, lengths = torch.randn(2, 9, 16), torch.tensor([9, 6])

    def leak(padded: Tensor, alone: Tensor) -> float:
        return float((padded[1, :6] - alone[0]).detach().abs().max())

    mask = torch.arange(9) < lengths[:, None]
    padded = theirs(x.clone(), attention_mask=mask).last_hidden_state
    assert leak(padded, theirs(x[1:, :6].clone()).last_hidden_state) > 1e-3
    assert leak(ours(theirs)(Tokens(x, keys=Lengths(lengths))).x, ours(theirs)(Tokens(x[1:, :6])).x) < 1e-5


@pytest.mark.parametrize("bias", [True, False])
def test_parakeets_encoder_behind_its_subsampling_gives_the_same_and_its_weights_return(bias: bool) -> None:
    theirs = parakeet(bias)
    features = torch.randn(2, 80, 16)
    x = theirs.subsampling(features) * theirs.input_scale
    same(ours(theirs)(Tokens(x)).x, theirs(features).last_hidden_state)
    within = {f"encoder.{key}": value for key, value in theirs.state_dict().items()}  # as in ParakeetForCTC
    same(body(within, 4).eval()(Tokens(x)).x, ours(theirs)(Tokens(x)).x)
    if bias:
        returned(to_parakeet(ours(theirs)), theirs)


def test_parakeets_padding_is_left_out_as_ours() -> None:
    theirs = parakeet()
    features, frames = torch.randn(2, 80, 16), torch.tensor([80, 40])
    mask = torch.arange(80) < frames[:, None]
    found = theirs(features, attention_mask=mask)
    lengths = found.attention_mask.sum(1)
    assert lengths.tolist() == [10, 5]
    x = theirs.subsampling(features, mask) * theirs.input_scale
    y = ours(theirs)(Tokens(x, keys=Lengths(lengths))).x
    for row, n in enumerate(lengths.tolist()):
        same(y[row, :n], found.last_hidden_state[row, :n])


@pytest.mark.parametrize("attention", ["wav2vec2", "parakeet"])
def test_the_relative_attention_of_a_block_reads_as_theirs(attention: str) -> None:
    theirs: Any = wav2vec2() if attention == "wav2vec2" else parakeet()
    block: Any = ours(theirs).blocks[1]
    x = torch.randn(2, 7, 16)
    if attention == "wav2vec2":
        wanted = theirs.layers[1].self_attn(x, relative_position_embeddings=theirs.embed_positions(x))[0]
    else:
        wanted = theirs.layers[1].self_attn(x, theirs.encode_positions(x))[0]
    same(block.attention(Tokens(x)), wanted)
    moved = block.attention.position.u.detach() + 1, block.attention.position.v.detach() + 1
    block.attention.position.u.data, block.attention.position.v.data = moved
    assert (block.attention(Tokens(x)) - wanted).abs().max() > 1e-3


def test_an_even_kernel_is_an_odd_one_with_a_zero_in_front() -> None:
    even = randomised(
        conformer_encoder(16, 2, 4, 24, attention=Attention, convolution=partial(ConvolutionModule, kernel_size=4))
    )
    theirs = Conformer(16, 4, 24, 2, 5).eval()
    theirs.load_state_dict(to_torchaudio(even))
    x = torch.randn(2, 9, 16)
    same(even(Tokens(x)).x, theirs(x, torch.tensor([9, 9]))[0])


def test_a_model_by_name_takes_blocks_behind_its_own_stem() -> None:
    torch.manual_seed(0)
    theirs = torchaudios()
    torch.manual_seed(0)
    fresh: Any = zoo.create("conformer-small", **SIZES, **ALIKE)
    weights = {**fresh.state_dict(), **theirs.state_dict()}
    options: dict[str, Any] = {"task": "tag", "num_classes": 3, "convolution_first": False, **SIZES, **ALIKE}
    with pytest.warns(UserWarning, match=r"no weights for head\.linear\.weight, head\.linear\.bias"):
        model: Any = zoo.create("conformer-small", weights=weights, **options).eval()
    x = 0.1 * torch.randn(2, 4_000)
    stem = fresh.eval().stem(x)
    same(model.stem(x).x, stem.x)
    same(model.forward_features(x), theirs(stem.x, torch.full((2,), stem.x.shape[1]))[0])
    torch.testing.assert_close(model(x), model.head.linear(model.forward_features(x)))
    assert model.num_classes == 3


def test_blocks_alone_have_no_stem() -> None:
    with pytest.raises(WeightsError, match=r"none of a stem: make the model with stem='vectors', .* or give \{"):
        zoo.create(
            "conformer-small", weights=torchaudios().state_dict(), convolution_first=False, stem="mel", **SIZES, **ALIKE
        )
    with pytest.raises(WeightsError, match=r"no weights of a Conformer's blocks: none of conformer_layers\.0\.self"):
        body({"weight": torch.zeros(1)}, 4)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"kernel_size": 3, "position": "transformer-xl"}, "kernel_size=5, position='none'"),
        (ALIKE | {"norm": "layer"}, "norm='batch'"),
        (ALIKE | {"kernel_size": 7}, "kernel_size=5"),
        (ALIKE | {"convolution": "causal"}, "convolution='same'"),
    ],
)
def test_a_model_made_otherwise_is_refused_with_what_to_change(options: dict[str, Any], advice: str) -> None:
    with pytest.raises(WeightsError, match=re.escape(f"make the model with {advice}") + "$"):
        zoo.create("conformer-small", weights=torchaudios().state_dict(), convolution_first=False, **SIZES, **options)


def test_weights_without_a_place_there_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no name for blocks\.0\.attention\.position\.u"):
        to_torchaudio(ours(parakeet()))
    causal = conformer_encoder(
        16, 1, 4, 24, convolution=partial(ConvolutionModule, kernel_size=KERNEL, padding=(KERNEL - 1, 0))
    )
    with pytest.raises(ConfigError, match=r"padding=\(4, 0\): other libraries' kernels read to both sides alike"):
        to_parakeet(causal)


def test_our_own_weights_stay_as_they_are() -> None:
    stack = ours(wav2vec2())
    state = stack.state_dict()
    assert {key: value.data_ptr() for key, value in to_zoo(state, stack).items()} == {
        key: value.data_ptr() for key, value in state.items()
    }


def test_keys_that_no_table_knows_are_kept_so_that_loading_lists_them() -> None:
    stack = ours(wav2vec2())
    state = wav2vec2().state_dict() | {"layers.0.adapter.weight": torch.zeros(1), "quantizer.weight": torch.zeros(1)}
    with pytest.raises(RuntimeError, match=r"Unexpected.*layers\.0\.adapter\.weight.*quantizer\.weight"):
        stack.load_state_dict(to_zoo(state, stack))
