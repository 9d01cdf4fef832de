"""Keywords and weights of the two parts, and what is refused when they are put together."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import zoo
from zoo import ConfigError
from zoo.core import Attention, Causal, open_gates
from zoo.plugins.joined.models import divided
from zoo.testing import JoiningConformance

ENCODER: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
DECODER: dict[str, Any] = {**ENCODER, "vocab_size": 12}


def join(encoder: str = "vit-micro", decoder: str = "decoder-tiny", **options: Any) -> Any:
    return zoo.join(encoder, decoder, **{"encoder_config": ENCODER, "decoder_config": DECODER, **options}).eval()


def test_keywords_go_to_the_part_that_has_them() -> None:
    others = {"image_size": 16, "decoder.depth": 3, "encoder.depth": 1, "max_len": 8, "dropout": None}
    first, second = divided(zoo.info("vit-micro"), zoo.info("decoder-tiny"), others, {"dim": 32})
    assert first == {"image_size": 16, "depth": 1}
    assert second == {"dim": 32, "depth": 3, "max_len": 8}


def test_an_encoder_of_one_vector_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"task='classify' of the encoder 'vit-micro' gives one answer.*'features'"):
        join(encoder_config={"task": "classify"})


def test_widths_that_differ_without_a_bridge_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"16 channels and a decoder of 32: their widths"):
        join(bridge="none", decoder_config={**DECODER, "dim": 32})


def test_pooling_to_more_vectors_than_a_picture_has_is_refused_before_it_is_read() -> None:
    with pytest.raises(ConfigError, match=r"pool:10' pools to more vectors than 'vit-micro' gives, 9"):
        join(bridge="pool:10")
    images, ids = zoo.example("vit-micro")[0], torch.tensor([[1, 4], [1, 5]])
    model = join(bridge="pool:9")
    assert [weights.shape[3] for weights in model.attention_maps(images, ids)] == [9, 2, 9]


@pytest.mark.parametrize(
    ("decoder", "options", "text"),
    [
        ("speech-micro", {"decoder_config": {"by": "ctc"}}, "CTC model has no decoder"),
        ("lstm-lm-micro", {"decoder_config": {}}, "RecurrentLayers cannot read"),
        ("rnn-attention-tiny", {"decoder_config": {"copy": True}}, "copy=False"),
    ],
)
def test_decoders_that_cannot_read_another_source_are_refused(decoder: str, options: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        join(decoder=decoder, **options)


def test_labels_of_a_decoder_are_refused_also_of_a_bert_that_could_have_them() -> None:
    for decoder, text in (
        ("bert-micro", "num_classes=3 of the decoder 'bert-micro', which writes tokens here and has no labels"),
        ("decoder-tiny", "takes no num_classes="),
    ):
        with pytest.raises(ConfigError, match=text):
            join(decoder=decoder, decoder_config={"num_classes": 3})


def test_a_bert_writes_what_it_would_with_causal_attention_as_long_as_the_gates_are_zero() -> None:
    model = join(decoder="bert-micro")
    alone: Any = zoo.create("bert-micro", task="masked-token", **DECODER).eval()
    new = {
        part: value for part, value in model.state_dict().items() if part.startswith(("target.", "decoder.", "head."))
    }
    own = {key.replace("target.", "stem.").replace("decoder.", "encoder."): value for key, value in new.items()}
    alone.load_state_dict({key: own[key] for key in alone.state_dict()})
    for part in alone.modules():
        if isinstance(part, Attention):
            part.pattern = Causal()
    images, ids = zoo.example("joined:vit-micro+bert-micro")[0], torch.tensor([[1, 4, 7], [1, 5, 9]])
    assert torch.equal(model(images, ids), alone(ids))
    assert model.new_parts == ("stem.bridge", "decoder.blocks.0.cross_norm", "decoder.blocks.0.cross")


@pytest.mark.parametrize(("size", "symbols"), [(30_522, (0, 101, 102)), (30_528, (0, 101, 102)), (12, (0, 1, 2))])
def test_a_bert_writes_with_the_symbols_of_its_vocabulary(size: int, symbols: tuple[int, ...]) -> None:
    assert tuple(join(decoder="bert-tiny", decoder_config={**DECODER, "vocab_size": size}).symbols) == symbols


class TestBert(JoiningConformance):
    """Its zero gate is tested above: alone it has another task."""

    encoders: ClassVar = {name: JoiningConformance.encoders[name] for name in ("vit-micro", "bert-micro", "graph-tiny")}
    decoders: ClassVar = {"bert-micro": DECODER}
    test_zero_gate = None  # type: ignore[assignment]


def test_the_attention_decoder_of_a_speech_model_is_reused() -> None:
    model = join(decoder="speech-micro", decoder_config={"by": "attention", "vocab_size": 12})
    assert model.new_parts == ("stem.bridge",)
    assert model(*zoo.example("vit-micro"), torch.tensor([[1, 4], [1, 5]])).shape == (2, 2, 12)


def test_symbols_are_the_tokenizers_and_refused_where_the_decoder_takes_none() -> None:
    assert tuple(join(symbols=[3, 4, 5]).symbols) == (3, 4, 5)
    with pytest.raises(ConfigError, match=r"symbols=\[3, 4, 5\] for the decoder 'speech-micro'.*0, 1, 2"):
        join(decoder="speech-micro", decoder_config={"by": "attention"}, symbols=[3, 4, 5])
    with pytest.raises(ConfigError, match=r"symbols=\[3, 4, 50\] with vocab_size=12"):
        join(symbols=[3, 4, 50])


def test_each_part_has_weights_of_its_own_and_what_is_new_is_listed(tmp_path: Path) -> None:
    encoder = zoo.create("vit-micro", num_classes=0, task="features", **ENCODER)
    decoder = zoo.create("decoder-tiny", **DECODER)
    where = str(zoo.weights.save(decoder, tmp_path))
    with pytest.warns(UserWarning, match=r"stem\.bridge, decoder\.blocks\.0\.cross_norm.* are new"):
        model = join(encoder_weights=encoder.state_dict(), decoder_weights=where)
    state = model.state_dict()
    assert all(torch.equal(state[f"stem.model.{key}"], value) for key, value in encoder.state_dict().items())
    assert all(torch.equal(state[key], value) for key, value in decoder.state_dict().items())
    assert "decoder_weights" not in model.spec.config


def test_a_part_may_be_a_folder_whose_record_is_kept(tmp_path: Path) -> None:
    decoder = zoo.create("decoder-tiny", **DECODER)
    where = zoo.weights.save(decoder, tmp_path / "decoder")
    model = join(decoder=f"local-dir:{where}", decoder_config=None)
    assert torch.equal(model.target.embed.weight, decoder.state_dict()["target.embed.weight"])
    assert model.spec.name == "joined:vit-micro+text:decoder-tiny"
    saved = zoo.weights.save(model, tmp_path / "whole")
    (where / "config.json").unlink()  # the whole is made without its parts' folders
    assert zoo.create(f"local-dir:{saved}").spec.config["decoder_config"]["vocab_size"] == 12


@pytest.mark.parametrize("decoder", ["decoder-tiny", "bert-micro"])
def test_int8_weights_answer_nearly_as_the_model(decoder: str) -> None:
    model = join(decoder=decoder)
    open_gates(model)
    images, ids = zoo.example("vit-micro")[0], torch.tensor([[1, 4, 7], [1, 5, 9]])
    small, wanted = zoo.quantize(model, "int8"), model(images, ids)
    assert 0 < (small(images, ids) - wanted).abs().max() < 0.1 * wanted.abs().max()
    assert small.generate(images, max_len=3).ids.shape[0] == 2


def test_a_pretrained_part_that_is_not_published_is_an_error() -> None:
    with pytest.raises(zoo.WeightsError, match="decoder-tiny"):
        zoo.create("joined:vit-micro+decoder-tiny", pretrained=True)
