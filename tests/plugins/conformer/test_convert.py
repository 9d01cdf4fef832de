"""Weights of other libraries: the same answers, where nothing is padded."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchaudio.models import Conformer
from transformers import ParakeetEncoder, ParakeetEncoderConfig, Wav2Vec2ConformerConfig
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoder

from zoo.core import Attention, Lengths, Tokens
from zoo.core.transformer import Stack
from zoo.plugins.conformer.block import conformer_encoder
from zoo.plugins.conformer.convert import to_zoo
from zoo.plugins.conformer.convolution import ConvolutionModule
from zoo.plugins.conformer.norm import FrameBatchNorm, FrameGroupNorm

KERNEL = 5


def randomised(module: Any) -> Any:
    """Move the parameters and statistics from where they start, so that a mix-up shows."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        for name, buffer in module.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 2)
    return module.eval()


def wav2vec2() -> Wav2Vec2ConformerEncoder:
    config = Wav2Vec2ConformerConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        hidden_act="swish",
        conv_depthwise_kernel_size=KERNEL,
        position_embeddings_type="relative",
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    return randomised(Wav2Vec2ConformerEncoder(config))  # type: ignore[no-untyped-call]


def like_wav2vec2() -> Stack:
    convolution = partial(ConvolutionModule, kernel_size=KERNEL, bias=False)
    blocks = conformer_encoder(16, 2, 4, 24, convolution=convolution).blocks
    return Stack(blocks, nn.LayerNorm(16)).eval()


@pytest.mark.parametrize("group", [False, True])
def test_torchaudios_conformer_gives_the_same(group: bool) -> None:
    theirs = randomised(Conformer(16, 4, 24, 2, KERNEL, use_group_norm=group))
    convolution = partial(ConvolutionModule, kernel_size=KERNEL, norm=FrameGroupNorm if group else FrameBatchNorm)
    ours = conformer_encoder(16, 2, 4, 24, attention=Attention, convolution=convolution).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict()))
    x = torch.randn(2, 9, 16)
    torch.testing.assert_close(ours(Tokens(x)).x, theirs(x, torch.tensor([9, 9]))[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("prefix", ["", "encoder.", "wav2vec2_conformer.encoder."])
def test_wav2vec2_conformer_gives_the_same(prefix: str) -> None:
    theirs, ours = wav2vec2(), like_wav2vec2()
    ours.load_state_dict(to_zoo({prefix + key: value for key, value in theirs.state_dict().items()}))
    x = torch.randn(2, 9, 16)
    torch.testing.assert_close(ours(Tokens(x)).x, theirs(x.clone()).last_hidden_state, atol=1e-5, rtol=0)


def test_wav2vec2_conformers_padding_leaks_and_ours_does_not() -> None:
    theirs, ours = wav2vec2(), like_wav2vec2()
    ours.load_state_dict(to_zoo(theirs.state_dict()))
    x, lengths = torch.randn(2, 9, 16), torch.tensor([9, 6])

    def leak(padded: Tensor, alone: Tensor) -> float:
        return float((padded[1, :6] - alone[0]).detach().abs().max())

    mask = torch.arange(9) < lengths[:, None]
    padded = theirs(x.clone(), attention_mask=mask).last_hidden_state
    assert leak(padded, theirs(x[1:, :6].clone()).last_hidden_state) > 1e-3
    assert leak(ours(Tokens(x, keys=Lengths(lengths))).x, ours(Tokens(x[1:, :6])).x) < 1e-5


@pytest.mark.parametrize("bias", [True, False])
def test_parakeets_encoder_behind_its_subsampling_gives_the_same(bias: bool) -> None:
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
    theirs = randomised(ParakeetEncoder(config))
    ours = conformer_encoder(16, 2, 4, 24, convolution=partial(ConvolutionModule, kernel_size=KERNEL, bias=bias)).eval()
    converted = to_zoo(theirs.state_dict())
    ours.load_state_dict({key: value for key, value in converted.items() if not key.startswith("subsampling.")})
    within = to_zoo({f"encoder.{key}": value for key, value in theirs.state_dict().items()})  # as in ParakeetForCTC
    assert {key for key in within if key.startswith("blocks.")} == ours.state_dict().keys()
    features = torch.randn(2, 80, 16)
    x = theirs.subsampling(features) * theirs.input_scale
    torch.testing.assert_close(ours(Tokens(x)).x, theirs(features).last_hidden_state, atol=1e-5, rtol=0)


def test_our_own_weights_stay_as_they_are() -> None:
    state = like_wav2vec2().state_dict()
    assert {key: value.data_ptr() for key, value in to_zoo(state).items()} == {
        key: value.data_ptr() for key, value in state.items()
    }


def test_keys_that_no_table_knows_are_kept_so_that_loading_lists_them() -> None:
    state = wav2vec2().state_dict() | {"layers.0.adapter.weight": torch.zeros(1), "quantizer.weight": torch.zeros(1)}
    with pytest.raises(RuntimeError, match=r"Unexpected.*layers\.0\.adapter\.weight.*quantizer\.weight"):
        like_wav2vec2().load_state_dict(to_zoo(state))
