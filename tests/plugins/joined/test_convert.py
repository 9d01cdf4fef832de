"""Parity with Hugging Face's joined models, under their random weights, in float64."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import zoo

_config: Any = transformers.GPT2Config
GPT = _config(vocab_size=20, n_embd=16, n_layer=2, n_head=2, n_positions=16, add_cross_attention=True, is_decoder=True)
BERT: Any = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
BERT |= {"intermediate_size": 64, "max_position_embeddings": 16, "initializer_range": 0.3}
DECODER = {"vocab_size": 20, "dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 64, "max_len": 16}
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def vit(dim: int) -> Any:
    config = transformers.ViTConfig(
        hidden_size=dim,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=16,
        patch_size=8,
        initializer_range=0.3,
    )
    return transformers.ViTModel(config)


def vision(dim: int) -> tuple[Any, Any]:
    """Give theirs, and ours with its weights."""
    theirs: Any = transformers.VisionEncoderDecoderModel(encoder=vit(dim), decoder=transformers.GPT2LMHeadModel(GPT))
    theirs.eval()
    own = {"dim": dim, "depth": 2, "num_heads": 2, "mlp_dim": 32, "image_size": 16, "patch_size": 8, "eps": 1e-12}
    ours = zoo.join("vit-small", "gpt2-small", weights=theirs.state_dict(), encoder_config=own, decoder_config=DECODER)
    return theirs, ours.eval()


def same(ours: Tensor, theirs: Tensor) -> None:
    assert (ours - theirs).abs().max() < 1e-9 * theirs.abs().max()


@pytest.mark.parametrize("dim", [24, 16])
def test_a_picture_is_described_as_by_vision_encoder_decoder_model(dim: int) -> None:
    theirs, ours = vision(dim)
    images = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        wanted = theirs(pixel_values=images, decoder_input_ids=IDS).logits
        same(ours(images, IDS), wanted)
        assert not torch.allclose(wanted, theirs(pixel_values=-images, decoder_input_ids=IDS).logits)


def test_it_writes_what_vision_encoder_decoder_model_writes() -> None:
    theirs, ours = vision(24)
    images = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        wanted = theirs.generate(
            pixel_values=images,
            decoder_start_token_id=1,
            max_new_tokens=6,
            do_sample=False,
            eos_token_id=2,
            pad_token_id=0,
        )
    written = ours.generate(images, max_len=6)
    assert any(written.best())
    for row, ids in zip(wanted[:, 1:].tolist(), written.best(), strict=True):
        assert ids == (row[: row.index(2)] if 2 in row else row)


def bert(encoder: Any) -> Any:
    """Give an encoder before a causal BERT, all weights drawn, biases and norms too."""
    decoder = transformers.BertLMHeadModel(transformers.BertConfig(**BERT, is_decoder=True, add_cross_attention=True))
    kind = transformers.VisionEncoderDecoderModel if isinstance(encoder, transformers.ViTModel) else None
    theirs: Any = (kind or transformers.EncoderDecoderModel)(encoder=encoder, decoder=decoder)
    with torch.no_grad():
        for weights in theirs.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
    return theirs.eval()


def test_a_picture_is_described_by_a_causal_bert_as_by_bert_lm_head_model() -> None:
    theirs = bert(vit(24))
    own = {"dim": 24, "depth": 2, "num_heads": 2, "mlp_dim": 32, "image_size": 16, "patch_size": 8, "eps": 1e-12}
    ours: Any = zoo.join("vit-small", "bert-tiny", weights=theirs.state_dict(), encoder_config=own,
                         decoder_config=DECODER).eval()  # fmt: skip
    images = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        same(ours(images, IDS), theirs(pixel_values=images, decoder_input_ids=IDS).logits)
        symbols = {"decoder_start_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
        wanted = theirs.generate(pixel_values=images, max_new_tokens=6, do_sample=False, **symbols)
    for row, ids in zip(wanted[:, 1:].tolist(), ours.generate(images, max_len=6).best(), strict=True):
        assert ids == (row[: row.index(2)] if 2 in row else row)


def test_a_text_is_rewritten_by_a_causal_bert_as_by_encoder_decoder_model() -> None:
    theirs = bert(transformers.BertModel(transformers.BertConfig(**BERT | {"vocab_size": 30})))
    ours: Any = zoo.join("bert-tiny", "bert-tiny", weights=theirs.state_dict(), decoder_config=DECODER,
                         encoder_config=DECODER | {"vocab_size": 30}).eval()  # fmt: skip
    ids, lengths = torch.randint(30, (2, 7)), torch.tensor([7, 4])
    mask = (torch.arange(7) < lengths[:, None]).long()
    with torch.no_grad():
        wanted = theirs(input_ids=ids, attention_mask=mask, decoder_input_ids=IDS).logits
        same(ours(ids, lengths, IDS), wanted)


@pytest.mark.parametrize("norm", ["group", "layer"])
def test_a_sound_is_written_down_as_by_speech_encoder_decoder_model(norm: str) -> None:
    layers = norm == "layer"
    config = transformers.Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[8] * 7,
        feat_extract_norm=norm, conv_bias=layers, do_stable_layer_norm=layers, mask_time_prob=0.0,
        initializer_range=0.3,
    )  # fmt: skip
    theirs: Any = transformers.SpeechEncoderDecoderModel(
        encoder=transformers.Wav2Vec2Model(config), decoder=transformers.GPT2LMHeadModel(GPT)
    )
    theirs.eval()
    own: dict[str, Any] = {"dim": 32, "depth": 2, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}
    own |= {"conv_norm": "layer", "norm": "pre"} if layers else {}
    ours: Any = zoo.join(
        "wav2vec2-base", "gpt2-small", weights=theirs.state_dict(), encoder_config=own, decoder_config=DECODER
    )
    sounds, lengths = torch.randn(2, 2_000), torch.tensor([2_000, 1_333])
    mask = (torch.arange(2_000) < lengths[:, None]).long() if layers else None  # theirs of group norms takes no mask
    with torch.no_grad():
        wanted = theirs(input_values=sounds * (1 if mask is None else mask), attention_mask=mask, decoder_input_ids=IDS)
        same(ours.eval()(sounds, lengths if layers else None, IDS), wanted.logits)


def test_what_the_decoder_lacks_is_named() -> None:
    theirs, _ = vision(24)
    state = {key: value for key, value in theirs.state_dict().items() if "crossattention" not in key}
    own = {"dim": 24, "depth": 2, "num_heads": 2, "mlp_dim": 32, "image_size": 16, "patch_size": 8}
    with pytest.raises((KeyError, zoo.WeightsError), match=r"cross"):
        zoo.join("vit-small", "gpt2-small", weights=state, encoder_config=own, decoder_config=DECODER)
