"""Vocabularies of CTC: the texts of transformers' tokenizer, and what is not read."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from zoo.core.generation.ctc_greedy import greedy
from zoo.core.special_tokens import Symbols
from zoo.errors import ConfigError, WeightsError
from zoo.plugins.shared.text.ctc_labels import ctc_labels
from zoo.plugins.shared.text.tokenizer import Tokenizer

ENGLISH = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
BLANK_LAST = [*"abc", "|", "é", "ts", "[UNK]", "[PAD]"]
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "english": (ENGLISH, {}),
    "blank last": (BLANK_LAST, {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": None, "eos_token": None}),
    "lower case": (ENGLISH, {"do_lower_case": True}),
    "another delimiter": (["<pad>", "_", *"abc"], {"word_delimiter_token": "_", "unk_token": None}),
}


def saved(folder: Path, tokens: list[str], **options: Any) -> transformers.Wav2Vec2CTCTokenizer:
    """Save a vocabulary as transformers does, and give its tokenizer."""
    (folder / "tokens.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    made = transformers.Wav2Vec2CTCTokenizer(str(folder / "tokens.json"), **options)  # type: ignore[no-untyped-call]
    made.save_pretrained(folder)
    return made


def ours(folder: Path, outputs: int | None = None) -> tuple[Tokenizer, Symbols]:
    told = ctc_labels(f"local-dir:{folder}", outputs)
    return Tokenizer.of_labels(told["labels"], told["blank"]), Symbols(told["blank"], -1, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_emitted_is_written_as_by_transformers(kind: str, tmp_path: Path) -> None:
    tokens, options = KINDS[kind]
    theirs = saved(tmp_path, tokens, **options)
    tokenizer, symbols = ours(tmp_path, len(tokens))
    scores = torch.randn(20, 30, len(tokens), generator=torch.Generator().manual_seed(0))
    scores[..., [symbols.pad, tokens.index(options.get("word_delimiter_token", "|"))]] += 1
    wanted = theirs.batch_decode(scores.argmax(-1))
    assert tokenizer.transcripts(greedy(scores, torch.full((20,), 30), symbols).best()) == wanted
    assert any(" " in text for text in wanted)


def test_the_files_of_the_first_releases_name_the_special_tokens(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "|": 1, "[PAD]": 2}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": {"content": "[PAD]"}}))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<s>": 3, "</s>": 4}))
    where = f"local-dir:{tmp_path}"
    assert ctc_labels(where, 3) == {"labels": ["a", "|", "[PAD]"], "blank": 2}
    assert ctc_labels(where) == {"labels": ["a", "|", "[PAD]", "<s>", "</s>"], "blank": 2}
    assert ctc_labels(where, 6)["labels"][5] == "<5>"  # filled up


def test_texts_are_read_as_by_transformers(tmp_path: Path) -> None:
    theirs = saved(tmp_path, BLANK_LAST, **KINDS["blank last"][1])
    tokenizer, _ = ours(tmp_path)
    texts = ["abc cab", "éats", "axb"]
    assert tokenizer.rows(texts) == theirs(texts).input_ids
    assert tokenizer.rows(["ABC É"]) == tokenizer.rows(["abc é"])  # in the only case that it has
    assert 6 in tokenizer.symbols.intersection(*tokenizer.rows(["x"]))  # unknown


def test_of_several_languages_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"eng": {"<pad>": 0, "a": 1}, "deu": {"<pad>": 0, "ä": 1}}))
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"target_lang": "deu"}))
    assert ctc_labels(f"local-dir:{tmp_path}")["labels"] == ["<pad>", "ä"]
    config.write_text(json.dumps({"target_lang": "fra"}))
    with pytest.raises(WeightsError, match=r"target_lang='fra' .* none of the 2 languages in vocab\.json"):
        ctc_labels(f"local-dir:{tmp_path}")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            {"tokenizer_class": "Wav2Vec2PhonemeCTCTokenizer"},
            "Wav2Vec2PhonemeCTCTokenizer' is not read",
        ),
        ({"pad_token": "[PAD]"}, r"pad_token='\[PAD\]', the blank, is none of 3 tokens"),
        ({"word_delimiter_token": "a"}, "word_delimiter_token='a' beside a token '|'"),
    ],
)
def test_what_is_not_read_is_named(told: dict[str, Any], text: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"<pad>": 0, "a": 1, "|": 2}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(told))
    with pytest.raises(WeightsError, match=text):
        ctc_labels(f"local-dir:{tmp_path}")


def test_there_may_be_no_vocabulary(tmp_path: Path) -> None:
    assert ctc_labels(f"local-dir:{tmp_path}") == {}


def test_a_saved_vocabulary_is_read_again(tmp_path: Path) -> None:
    tokenizer = Tokenizer.of_labels(["-", "|", "A", "ts"])
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.labels == tokenizer.labels == ["-", "|", "A", "ts"]
    assert (again.pad, again.bos, again.eos) == (0, 0, 0)
    rows = tokenizer.rows(["a ats"])
    assert again.rows(["a ats"]) == rows == [[2, 1, 2, 3]]
    assert again.decode_batch(rows) == ["A Ats"]
    assert Tokenizer.byte_level().labels == []


def test_labels_are_texts_of_their_own() -> None:
    with pytest.raises(ConfigError, match="'A' is there twice, or no text"):
        Tokenizer.of_labels(["-", "A", "A"])
