import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import zoo
from zoo.core import ConfigError, InputError, check_input_keywords

IDS = torch.tensor([[3, 4, 5]])


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"num_beams": 3}, "num_beams=3 given to generate, which does not take it. Did you mean 'beam'?"),
        ({"max_new_tokens": 5}, "Did you mean 'max_len'?"),
        ({"nbest": 2}, "Did you mean 'n_best'?"),
        ({"min_new_tokens": 2}, "Did you mean 'min_len'?"),
        ({"logits_processor": []}, "Did you mean 'processors'?"),
        ({"stop_strings": ["."]}, "Did you mean 'stop'?"),
        ({"diversity": 1.2}, "which does not take it. It takes max_len, beam, length_penalty, n_best"),
    ],
)
def test_wishes_in_other_words_are_refused_by_ours(writer: Callable[..., Any], wish: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        writer().generate(IDS, **wish)


def test_a_wish_that_only_a_search_has_is_none_of_steps(writer: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"beam=2 given to generate_steps, which does not take it\. It takes max_len"):
        writer().generate_steps(IDS, beam=2)


@pytest.mark.parametrize(
    ("name", "keyword", "inputs", "meant"),
    [
        ("decoder-tiny", "input_ids", "ids, ", "ids"),
        ("transformer-tiny", "decoder_input_ids", "ids, ", "target"),
        ("vit-micro", "pixel_values", "images", "images"),
        ("resnet-micro", "pixel_values", "images", "images"),
        ("resnet-micro", "image", "images", "images"),
        ("speech-tiny", "input_values", "sounds, lengths", "sounds"),
        ("speech-tiny", "attention_mask", "sounds, lengths", "lengths"),
        ("graph-tiny", "edge_indices", "x, edge_index, edge_attr, batch", "edge_index"),
    ],
)
def test_a_keyword_of_forward_is_an_error_that_names_the_inputs(
    name: str, keyword: str, inputs: str, meant: str
) -> None:
    model = zoo.create(name, device="meta")
    start = rf"{keyword}= given to a model, which takes its inputs by position: model\({inputs}"
    with pytest.raises(InputError, match=rf"{start}.*\)\. Did you mean '{meant}'\?$"):
        model(**{keyword: torch.zeros(1)})


def test_a_keyword_like_no_input_gets_no_suggestion() -> None:
    with pytest.raises(InputError, match=r"labels= given to a model, .*: model\(images\)\.$"):
        check_input_keywords({"labels": 3}, ["images"])
    check_input_keywords({}, ["images"])
