import json
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.weights.token_ids import fetch_tokenizer, model_symbols, special_tokens, tokenizer_name

TOKENIZER = {
    "model": {"vocab": {"a": 0, "[START]": 1, "[STOP]": 2}},
    "added_tokens": [{"id": 3, "content": "[HOLE]"}, {"id": 4, "content": "[FILL]"}],
}


def folder(path: Path, **files: Any) -> str:
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return f"local-dir:{path}"


@pytest.mark.parametrize(
    ("files", "symbols"),
    [
        ({"config": {"pad_token_id": 7, "bos_token_id": 5, "eos_token_id": 6}}, [7, 5, 6]),
        ({"config": {"eos_token_id": 6}, "generation_config": {"eos_token_id": [8, 9], "bos_token_id": 5}}, [8, 5, 8]),
        ({"config": {"eos_token_id": 0, "pad_token_id": 9, "decoder_start_token_id": 9}}, [9, 9, 0]),
        ({"config": {"eos_token_id": None, "pad_token_id": 1}}, None),
        ({}, None),
        ({"config": {"zoo_version": "0.1.0", "model_args": {"symbols": [4, 5, 6]}, "eos_token_id": 1}}, [4, 5, 6]),
        ({"config": {"zoo_version": "0.1.0"}, "special_tokens_map": {"eos_token": "a"}, "tokenizer": TOKENIZER}, None),
        ({"special_tokens_map": {"eos_token": {"content": "[STOP]"}}, "tokenizer": TOKENIZER}, [2, 2, 2]),
        (
            {
                "config": {"bos_token_id": 50_256, "eos_token_id": 50_256},  # as of a configuration nobody filled in
                "tokenizer_config": {"cls_token": "[START]", "sep_token": "[STOP]", "pad_token": "[FILL]"},
                "tokenizer": TOKENIZER,
            },
            [4, 1, 2],
        ),
        (
            {
                "tokenizer_config": {"eos_token": "</s>", "added_tokens_decoder": {"9": {"content": "</s>"}}},
                "tokenizer": {"model": {"vocab": [["<pad>", 0.0], ["a", -1.0]]}},
            },
            [9, 9, 9],
        ),
    ],
)
def test_padding_begin_and_end_are_those_of_the_files(
    files: dict[str, Any], symbols: list[int] | None, tmp_path: Path
) -> None:
    assert model_symbols(folder(tmp_path, **files), 10) == symbols


def test_an_end_outside_the_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="eos_token_id=50256 is outside vocab_size=10 and is not used"):
        assert model_symbols(folder(tmp_path, config={"eos_token_id": 50_256}), 10) is None


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"zoo_version": "0.1.0", "model_args": {"vocab_size": 260}}, "byte"),
        ({"zoo_version": "0.1.0", "model_args": {"vocab_size": 260, "symbols": [0, 1, 2]}}, "byte"),
        ({"zoo_version": "0.1.0", "model_args": {"vocab_size": 260, "symbols": [0, 0, 1]}}, ""),
        ({"zoo_version": "0.1.0", "model_args": {"vocab_size": 261}}, ""),
        ({"vocab_size": 260}, ""),
    ],
)
def test_models_of_bytes_need_no_file(config: dict[str, Any], wanted: str, tmp_path: Path) -> None:
    name = folder(tmp_path, config=config)
    assert tokenizer_name(name, zoo.info("transformer-tiny")) == wanted
    assert tokenizer_name(name, zoo.info("speech-tiny")) == ""  # a recogniser may have no tokens at all
    folder(tmp_path, tokenizer=TOKENIZER)
    assert tokenizer_name(name, zoo.info("transformer-tiny")) == str(tmp_path / "tokenizer.json")


def test_a_tokenizer_s_files_go_before_the_configuration(tmp_path: Path) -> None:
    beside = {"bos_token": "[START]", "mask_token": "[HOLE]", "unk_token": "gone"}
    name = folder(tmp_path, config={"bos_token_id": 0, "eos_token_id": 2}, tokenizer_config=beside, tokenizer=TOKENIZER)
    assert special_tokens(name) == {"bos": 1, "eos": 2, "mask": 3}
    assert fetch_tokenizer(name) == tmp_path / "tokenizer.json"
