"""Pairs of texts, as Hugging Face's BERT reads them."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

import zoo
from zoo import InputError
from zoo.pipeline import Pipeline
from zoo.plugins.shared.text.tokenizer import Tokenizer

PAIRS: list[Any] = [("a first text", "and another"), ("b", "c"), "a single one"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Save a classifier of Hugging Face's, and a tokenizer with its templates."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 32,
    }
    labels: dict[str, Any] = {"num_labels": 3}
    config = BertConfig(vocab_size=260, max_position_embeddings=40, **labels, **sizes)
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    learned = Tokenizer.train(["a first text and another", "b c a single one"] * 3, "wordpiece", 60)
    backend: Backend = learned.backend
    special = [(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def ours(folder: Path) -> str:
    """Save the same weights as ours, with the tokenizer."""
    sizes: dict[str, Any] = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "vocab_size": 260, "max_len": 40}
    saved = zoo.weights.save(zoo.create("bert-tiny", weights=str(folder), **sizes), folder / "ours")
    shutil.copy(folder / "tokenizer.json", saved)
    return str(saved)


def test_pairs_are_answered_as_by_hugging_face(folder: Path) -> None:
    theirs = BertForSequenceClassification.from_pretrained(folder).train(False)
    read: Any = PreTrainedTokenizerFast
    tokens = read(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    pipeline = Pipeline(ours(folder))
    ids, lengths, segments = pipeline.inputs(PAIRS)
    for row, pair in enumerate(PAIRS):
        given = tokens(*(pair if isinstance(pair, tuple) else (pair,)), return_tensors="pt", return_token_type_ids=True)
        count = int(lengths[row])
        assert ids[row, :count].tolist() == given["input_ids"][0].tolist()
        assert segments[row, :count].tolist() == given["token_type_ids"][0].tolist()
        with torch.no_grad():
            wanted = theirs(**given).logits.softmax(-1)[0]
        found = pipeline.answers(PAIRS)[row]
        torch.testing.assert_close(torch.tensor([found[str(n)] for n in range(3)]), wanted, atol=1e-5, rtol=0)


def test_pairs_that_are_too_long_and_models_that_read_one_text_are_told(folder: Path) -> None:
    with pytest.raises(InputError, match=r"the text of \d+ tokens is longer than the 40 that fit"):
        Pipeline(ours(folder)).inputs([("a " * 30, "b " * 30)])
    with pytest.raises(InputError, match="a pair of texts of a model that reads one"):
        zoo.preprocess("lstm-micro")([("a", "b")])
