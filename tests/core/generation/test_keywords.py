import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core import ConfigError

IDS = torch.tensor([[3, 4, 5]])


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"num_beams": 3}, "num_beams=3 given to generate, which does not take it. Did you mean 'beam'?"),
        ({"max_new_tokens": 5}, "Did you mean 'max_len'?"),
        ({"nbest": 2}, "Did you mean 'n_best'?"),
        ({"repetition_penalty": 1.2}, "which does not take it. It takes max_len, beam, length_penalty, n_best"),
    ],
)
def test_wishes_in_other_words_are_refused_by_ours(writer: Callable[..., Any], wish: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        writer().generate(IDS, **wish)


def test_a_wish_that_only_a_search_has_is_none_of_steps(writer: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"beam=2 given to generate_steps, which does not take it\. It takes max_len"):
        writer().generate_steps(IDS, beam=2)
