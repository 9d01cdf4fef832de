import json
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data.corpus import Corpus, open_corpus
from zoo.errors import ConfigError, DataError
from zoo.plugins.text.data.multi_label_corpus import MultiLabelCorpus

BERT = zoo.info("bert-micro")
SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def jigsaw(tmp_path: Path) -> str:
    """Write comments that have any of two labels, by their words; of every ninth nobody knows the second."""
    rows = ["id,comment_text,rude,late"]
    for number in range(60):
        rude, late = number % 2, (number // 2) % 2
        words = f"comment {number} {'fool' * rude} {'tardy' * late}"
        rows.append(f"{number},{words},{rude},{'' if number % 9 == 0 else late}")
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n")
    return f"labelled:{tmp_path}/train.csv?text=comment_text&labels=rude,late"


def opened(data: str) -> Any:
    return open_corpus(data, BERT, tokenizer="byte")


def test_columns_of_labels_are_a_corpus_of_the_task_multi_label(jigsaw: str) -> None:
    corpus = opened(jigsaw)
    assert isinstance(corpus, Corpus)
    assert isinstance(corpus, MultiLabelCorpus)
    assert corpus.overrides() == {"vocab_size": 260, "task": "multi-label", "num_classes": 2}
    assert (corpus.metric, sum(corpus.sizes.values())) == ("micro F1", 60)
    (ids, lengths), target = corpus.batch(torch.arange(corpus.sizes["train"]), torch.Generator())
    for row, length, told in zip(ids, lengths, target, strict=True):
        text = corpus.tokenizer.decode(row[1 : length - 1])
        assert told[0] == ("fool" in text)
        assert told[1].isnan() if int(text.split()[1]) % 9 == 0 else told[1] == ("tardy" in text)


def test_a_table_gives_the_same_labels(jigsaw: str) -> None:
    table = opened(jigsaw.replace("labelled:", "csv:"))
    assert table.labels == ["rude", "late"]
    seen: dict[str, Any] = {}
    for corpus in (table, opened(jigsaw)):
        for split in ("train", "validation", "test"):
            for (ids, lengths), target in corpus.held_out(split, 8):
                for row, length, told in zip(ids, lengths, target.nan_to_num(5).tolist(), strict=True):
                    assert seen.setdefault(corpus.tokenizer.decode(row[1 : length - 1]), told) == told
    assert len(seen) == 60


def test_a_model_learns_and_predicts_any_number_of_labels(jigsaw: str, tmp_path: Path) -> None:
    trained = zoo.train("bert-micro", jigsaw, out=tmp_path / "run", steps=2, batch_size=8, tokenizer="byte", **SIZES)
    assert set(trained.scores) >= {"micro F1", "macro F1", "exact match", "mAP", "loss"}
    assert json.loads((tmp_path / "run" / "labels.json").read_text()) == ["rude", "late"]
    name = f"local-dir:{tmp_path}/run"
    model = zoo.create(name, pretrained=True).eval()
    assert model.spec.task == "multi-label"
    with torch.no_grad():
        scores = model(*zoo.preprocess(name)(["a fool"]))
    (found,) = zoo.postprocess(name)(scores)
    assert found == pytest.approx({"rude": float(scores[0, 0].sigmoid()), "late": float(scores[0, 1].sigmoid())})


def test_the_loss_is_a_binary_cross_entropy_of_each_known_label(jigsaw: str) -> None:
    corpus = opened(jigsaw)
    target = torch.tensor([[1.0, torch.nan], [0, 1]])
    loss = corpus.loss(torch.zeros(2, 2), target, 0.0)
    assert float(loss) == pytest.approx(torch.tensor(2.0).log().item())


@pytest.mark.usefixtures("few_texts")
def test_topics_are_labels_for_an_encoder_and_a_text_for_a_model_that_writes() -> None:
    corpus = open_corpus("topics", BERT)
    assert corpus.task == "multi-label"
    counts = torch.cat([target for _, target in corpus.held_out("test", 256)]).sum(1)
    assert counts.min() >= 1
    assert counts.max() > 1
    assert open_corpus("topics", zoo.info("transformer-tiny")).task == "generate"


def test_wrong_labels_are_errors(jigsaw: str) -> None:
    with pytest.raises(DataError, match=r"id='\d+'"):
        opened(jigsaw.replace("rude,late", "rude,id"))
    with pytest.raises(ConfigError, match="take an encoder"):
        open_corpus(jigsaw, zoo.info("decoder-tiny"))
