"""Tokens: what is one, and what is not."""

import pytest
import torch

from zoo.core import InputError, Tokens
from zoo.core.tokens import tokens_of


def test_tokens_are_given_back() -> None:
    tokens = Tokens(torch.zeros(1, 2, 3))
    assert tokens_of(tokens) is tokens


@pytest.mark.parametrize(
    ("value", "text"),
    [(torch.zeros(2, 3, 8), r"a tensor of \(2, 3, 8\) where Tokens belong"), ([1], "a list where Tokens belong")],
)
def test_what_is_no_tokens_is_refused_with_its_kind(value: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        tokens_of(value)
