import re
from pathlib import Path

import pytest
import tokenizers
import torch
from tokenizers import models, pre_tokenizers

import zoo
from zoo.errors import ConfigError, InputError, WeightsError
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer
from zoo.plugins.text.io.entries import encoder, postprocess, prompt, source
from zoo.plugins.text.io.preprocess import frame_of, limit_of
from zoo.registry.lookup import registry

BYTES = Tokenizer.byte_level()


def saved(tokenizer: Tokenizer, folder: Path) -> dict[str, object]:
    tokenizer.save(folder / "tokenizer.json")
    return {"repository": f"local-dir:{folder}", "vocab_size": tokenizer.vocab_size}


def gpt() -> Tokenizer:
    vocabulary = {"<|endoftext|>": 0, "a": 1, "b": 2}
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, "<|endoftext|>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Tokenizer(backend)


def test_an_encoder_reads_texts_between_begin_and_end() -> None:
    ids, lengths = encoder({}, False)(["ab", ""])
    assert ids.tolist() == [[1, 101, 102, 2], [1, 2, 0, 0]]
    assert lengths.tolist() == [4, 2]


def test_a_source_has_an_end() -> None:
    ids, lengths = source({}, False)("ab")
    assert ids.tolist() == [[101, 102, 2]]
    assert lengths.tolist() == [3]


def test_a_prompt_has_a_begin_and_padding_on_the_left() -> None:
    ids, valid = prompt({}, False)(["ab", ""])
    assert ids.tolist() == [[1, 101, 102], [0, 0, 1]]
    assert valid.tolist() == [[True] * 3, [False, False, True]]


def test_a_prompt_is_bare_where_one_symbol_is_begin_and_end_but_never_empty(tmp_path: Path) -> None:
    prepare = prompt(saved(gpt(), tmp_path), False)
    assert prepare("a b")[0].tolist() == [[1, 2]]
    assert prepare("")[0].tolist() == [[0]]
    ids, valid = prepare(["a b", "", "b"])
    assert [row[kept].tolist() for row, kept in zip(ids, valid, strict=True)] == [[1, 2], [0], [2]]


def test_the_template_of_a_tokenizer_goes_before_the_usual_frame() -> None:
    pieces = Tokenizer.train(["a b"], "wordpiece", 20)
    assert frame_of(pieces, "source") == Frame((1,), (2,))
    assert frame_of(BYTES.with_frame(Frame((), (2, 2))), "encoder") == Frame((), (2, 2))


def test_texts_are_cut_to_learned_positions_only_when_asked() -> None:
    prepare = encoder({"max_len": 4, "position": "learned"}, False)
    with pytest.raises(InputError, match=r"the text of 5 tokens is longer than the 4 that fit: .* by truncate=True"):
        prepare("abc")
    assert prepare("abc", truncate=True)[0].tolist() == [[1, 101, 102, 2]]
    assert prepare("abc", max_len=3, truncate=True)[0].tolist() == [[1, 101, 2]]
    assert limit_of({"max_len": 4, "position": "sinusoidal"}) is None


def test_no_text_at_all() -> None:
    with pytest.raises(InputError, match="an empty batch: there is no text"):
        source({}, False)([])


def test_a_vocabulary_that_is_not_the_model_s(tmp_path: Path) -> None:
    config = saved(gpt(), tmp_path)
    said = (
        f"the tokenizer of 'local-dir:{tmp_path}' has 3 tokens, more than the model's vocab_size=2: they are not of one"
    )
    with pytest.raises(ConfigError, match=re.escape(said)):
        prompt(config | {"vocab_size": 2}, False)
    with pytest.raises(ConfigError, match="of 'bytes' has 260 tokens, more than the model's vocab_size=100"):
        prompt({"vocab_size": 100}, False)


@pytest.mark.parametrize("vocab_size", [3, 4, 127, 128, 50_000])
def test_a_smaller_vocabulary_serves_a_larger_model_whose_other_tokens_write_nothing(
    vocab_size: int, tmp_path: Path
) -> None:
    config = saved(gpt(), tmp_path) | {"vocab_size": vocab_size}
    assert prompt(config, False)("a b")[0].tolist() == [[1, 2]]
    read = postprocess(config)
    assert read([[1, vocab_size - 1]]) == read([[1, 2] if vocab_size == 3 else [1]])
    with pytest.raises(InputError, match=f"token {vocab_size}: the tokenizer has {vocab_size}"):
        read([[1, vocab_size]])


def test_weights_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"has no tokenizer\.json"):
        source({"repository": f"local-dir:{tmp_path}"}, False)


def test_a_model_of_bytes_that_was_saved_alone_reads_and_writes_them(tmp_path: Path) -> None:
    torch.manual_seed(0)
    zoo.weights.save(zoo.create("decoder-tiny", dim=16, depth=1, num_heads=2), tmp_path)
    ((text, answers),) = zoo.Pipeline(str(tmp_path)).generate(["abc"], max_len=3)
    assert text == "abc"
    assert len(answers) == 1
    config = zoo.info(f"local-dir:{tmp_path}").config | {"repository": f"local-dir:{tmp_path}"}
    assert prompt(config, False)("a")[0].tolist() == [[1, 4 + ord("a")]]
    with pytest.raises(WeightsError, match=r"has no tokenizer\.json"):
        prompt(config | {"vocab_size": 261}, False)("a")


def test_a_model_is_prepared_texts_as_it_says_that_it_reads_them() -> None:
    specs = {spec.name: spec for spec in registry().models if spec.modality == "text"}
    assert specs["transformer-tiny"].reads == "source"
    assert specs["bert-tiny"].reads == "encoder"
    assert specs["decoder-tiny"].reads == "prompt"
    assert not specs["marian-base"].reads
    for spec in specs.values():
        entry = f"{spec.reads}_of_pairs" if spec.name.startswith("bert-") else spec.reads
        assert spec.preprocess == (f"zoo.plugins.text.io.entries:{entry}" if entry else None)


def test_a_name_without_a_tag_reads_as_its_published_weights_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tokenizer.byte_level().save(tmp_path / "tokenizer.json")
    asked: list[str] = []

    def fetch(reference: str) -> Path:
        asked.append(reference)
        return tmp_path / "tokenizer.json"

    monkeypatch.setattr("zoo.plugins.text.io.preprocess.fetch_tokenizer", fetch)
    prepare = zoo.preprocess("bert-base")
    assert not asked  # nothing is fetched before there is something to read
    assert prepare("a")[0].tolist() == [[1, 101, 2]]
    assert asked == ["hf-hub:google-bert/bert-base-uncased"]


def test_no_room_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="the text of 3 tokens is longer than the 0 that fit"):
        source({}, False)("ab", max_len=0)
    with pytest.raises(ConfigError, match="max_len=0 leaves no room for a text"):
        source({}, False)("ab", max_len=0, truncate=True)
