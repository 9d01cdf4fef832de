import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.errors import ConfigError, InputError, WeightsError
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.io.entries import encoder, postprocess

BYTES = Tokenizer.byte_level()


def place(folder: Path, labels: Any = None, tokenizer: Tokenizer = BYTES) -> dict[str, Any]:
    tokenizer.save(folder / "tokenizer.json")
    if labels is not None:
        (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    return {"repository": f"local-dir:{folder}", "vocab_size": tokenizer.vocab_size}


def test_what_was_generated_becomes_texts() -> None:
    class Generated:
        def best(self) -> list[list[int]]:
            return [BYTES.rows(["né"])[0], []]

    assert postprocess({})(Generated()) == ["né", ""]


def test_rows_of_ids_end_at_the_end() -> None:
    ids = torch.tensor([[1, 101, 2, 102], [101, 102, 103, 104]])
    assert postprocess({})(ids) == ["a", "abcd"] == postprocess({})(ids.tolist())


def test_scores_of_a_set_become_labels_with_probabilities_the_best_first(tmp_path: Path) -> None:
    post = postprocess(place(tmp_path, ["no", "yes", "perhaps"]))
    found: Any = post(torch.tensor([[0.0, 2.0, 1.0]]))[0]
    assert list(found) == ["yes", "perhaps", "no"]
    assert sum(found.values()) == pytest.approx(1)
    assert found["yes"] == pytest.approx(float(torch.tensor([0.0, 2.0, 1.0]).softmax(0)[1]))
    assert [list(each) for each in postprocess({})(torch.tensor([[0.0, 1.0]]))] == [["1", "0"]]


def test_each_word_gets_the_label_at_its_first_token(tmp_path: Path) -> None:
    config = place(tmp_path, ["X", "Y"])
    texts = ["ab c", "d"]
    ids, lengths = encoder(config, False)(texts)
    answer = torch.zeros(*ids.shape, 2)
    answer[0, 4, 1] = answer[0, 2, 1] = answer[1, 1, 1] = 1
    assert postprocess(config)(answer, texts) == [["X", "Y"], ["Y"]]
    assert postprocess(config)(answer[:1], "ab c") == [["X", "Y"]]
    assert postprocess(config)(answer, valid=lengths) == [["X", "X", "Y", "X", "Y", "X"], ["X", "Y", "X"]]
    assert postprocess(config)(answer, there=lengths) == postprocess(config)(answer, valid=lengths)
    assert postprocess(config)(answer)[1] == ["X", "Y", "X", "X", "X", "X"]


def test_masks_are_filled_with_the_best_token(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["a b c"], "wordpiece", 20)
    config = place(tmp_path, None, tokenizer) | {"task": "masked-token"}
    ids, _ = encoder(config, False)("a [MASK] c")
    answer = torch.zeros(*ids.shape, tokenizer.vocab_size)
    answer[..., tokenizer.rows(["b"])[0][0]] = 1
    assert postprocess(config)(answer, "a [MASK] c") == ["a b c"]
    with pytest.raises(InputError, match="the texts with their masks are needed too"):
        postprocess(config)(answer)


def test_an_answer_that_is_none() -> None:
    with pytest.raises(InputError, match=r"an answer of shape \(4,\) is neither one of labels nor of ids"):
        postprocess({})(torch.zeros(4))


def test_labels_that_do_not_fit(tmp_path: Path) -> None:
    config = place(tmp_path, ["no", "yes"])
    with pytest.raises(WeightsError, match=r"labels.json has 2 names, the model 3 labels"):
        postprocess(config | {"num_classes": 3})
    with pytest.raises(ConfigError, match=r"an answer of 3 labels: labels.json names 2"):
        postprocess(config)(torch.zeros(1, 3))
    with pytest.raises(WeightsError, match=r"labels.json is no list of names"):
        postprocess(place(tmp_path, {"no": 1}))
    (tmp_path / "labels.json").write_text("[")
    with pytest.raises(WeightsError, match=r"labels.json cannot be read"):
        postprocess(config)


def test_answers_and_texts_of_unequal_rows(tmp_path: Path) -> None:
    config = place(tmp_path, ["X", "Y"])
    for shape in ((2, 5, 2), (2, 2)):
        with pytest.raises(InputError, match="3 texts for an answer of 2 rows"):
            postprocess(config)(torch.zeros(shape), ["a", "b", "c"])


@pytest.mark.parametrize("config", [{"task": "features"}, {"num_classes": 0}])
def test_vectors_need_no_tokenizer_and_are_no_labels(config: dict[str, Any], tmp_path: Path) -> None:
    post = postprocess({"repository": f"local-dir:{tmp_path}", "vocab_size": 9, "dim": 4} | config)
    with pytest.raises(InputError, match="an answer of 4 numbers each holds vectors, not scores of labels"):
        post(torch.zeros(1, 4))
    with pytest.raises(WeightsError, match=r"has no tokenizer\.json"):
        postprocess({"repository": f"local-dir:{tmp_path}", "vocab_size": 9} | config | {"task": "masked-token"})


@pytest.mark.parametrize("shape", [(0, 2), (0, 5, 2), (1, 0, 2)])
def test_an_answer_without_anything(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=re.escape(f"an answer of shape {shape}: it holds no scores")):
        postprocess(place(tmp_path, ["X", "Y"]))(torch.zeros(shape))
