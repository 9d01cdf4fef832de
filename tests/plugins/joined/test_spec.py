"""Records of joined models; what cannot be joined is refused before any work."""

import subprocess
import sys

import pytest

import zoo
from zoo import ConfigError, UnknownModelError
from zoo.plugins.joined.spec import joined_spec


def test_data_and_inputs_are_the_encoders_and_the_vocabulary_the_decoders() -> None:
    spec = zoo.info("joined:vit-micro+gpt2-small")
    assert (spec.modality, spec.reads, spec.task) == ("vision", "", "generate")
    assert spec.config["image_size"] == 24
    assert spec.config["vocab_size"] == 50_257
    assert spec.weights == zoo.info("gpt2-small").weights
    assert joined_spec("speech-micro", "decoder-tiny").reads == "sound"


def test_a_text_is_a_source_and_may_have_a_tokenizer_of_its_own() -> None:
    spec = joined_spec("bert-base", "gpt2-small")
    assert (spec.reads, spec.modality) == ("source", "text")
    assert (spec.config["source_vocab_size"], spec.config["vocab_size"]) == (30_522, 50_257)
    assert joined_spec("bert-micro", "speech-synthesis-tiny").modality == "speech"
    assert joined_spec("bert-micro", "speech-tiny").modality == "text"


def test_an_encoder_that_gives_no_vectors_is_refused_and_others_are_named() -> None:
    with pytest.raises(ConfigError, match=r"'gpt2-small' as the encoder gives no vectors.*generate.*bert-"):
        zoo.info("joined:gpt2-small+decoder-tiny")


def test_a_decoder_that_writes_nothing_is_refused_and_others_are_named() -> None:
    with pytest.raises(ConfigError, match=r"'textcnn-micro' as the decoder writes nothing.*decoder-tiny.*bert-tiny"):
        zoo.info("joined:vit-micro+textcnn-micro")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("joined:vit-micro", "'joined:vit-micro' names no decoder"),
        ("joined:+decoder-tiny", "names no encoder"),
        ("joined:a+b+c", r"'joined:a\+b\+c' joins 3 models: a join takes two, joined:ENCODER\+DECODER"),
        ("joined:vit-micro+joined:vit-micro+decoder-tiny", "is a joined model itself"),
    ],
)
def test_a_name_that_lacks_a_part_is_refused(name: str, text: str) -> None:
    with pytest.raises((ConfigError, UnknownModelError), match=text):
        zoo.info(name)


@pytest.mark.parametrize(
    ("name", "keyword"),
    [
        ("joined:vit-micro+decoder-tiny", "num_classes"),
        ("joined:vit-micro+decoder-tiny", "encoder.num_classes"),
        ("joined:speech-micro+decoder-tiny", "by"),
    ],
)
def test_a_keyword_of_a_head_is_refused_and_what_there_is_listed(name: str, keyword: str) -> None:
    with pytest.raises(ConfigError, match=f"no keyword '{keyword}': .* bridge, .* num_heads.* behind 'decoder.'"):
        zoo.create(name, **{keyword: 3})  # type: ignore[arg-type]


def test_an_unknown_part_is_named_with_its_place() -> None:
    with pytest.raises(UnknownModelError, match=r"(?s)its decoder: .*decoder-tinny.*decoder-tiny"):
        zoo.info("joined:vit-micro+decoder-tinny")


def test_a_name_is_described_without_torch() -> None:
    script = "import sys, zoo; zoo.info('joined:vit-micro+decoder-tiny'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
