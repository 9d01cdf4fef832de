"""`StopStrings`: end an answer where its text holds a string.

Axes: r rows, n tokens that each has read.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from zoo.core.errors import ConfigError

StoppingCriterion = Callable[[Int[Tensor, "r n"]], Bool[Tensor, " r"]]
"""Tells which rows end with their last token, by the tokens they have read, prompt and answer without padding."""
Decode = Callable[[list[list[int]]], Sequence[str]]
"""Gives the texts of rows of ids, as `decode_batch` of a tokenizer."""

BESIDE = 8
"""Tokens without a text, such as symbols, that may stand inside of a stop string."""


class StopStrings:
    """End a row as soon as its last token completes one of the strings.

    The convention is Hugging Face's: the token that completes a string stays in the answer, also where its text goes on
    behind the string; the string may begin in the prompt, but what the prompt holds alone ends nothing.

    Args:
        strings: one, or several.
        decode: gives the texts of rows of ids: `zoo.preprocess(name).tokenizer.decode_batch`.

    Raises:
        ConfigError: If there is no string, or one is empty.
    """

    def __init__(self, strings: str | Sequence[str], decode: Decode) -> None:
        self.strings = [strings] if isinstance(strings, str) else list(strings)
        if not self.strings or not all(self.strings):
            raise ConfigError(f"stop={self.strings}: an empty string stands everywhere; give at least one character")
        self.decode = decode
        self.most = max(len(each.encode()) for each in self.strings) + BESIDE

    def __call__(self, ids: Int[Tensor, "r n"]) -> Bool[Tensor, " r"]:
        """Tell which rows end; the strings have at most a token for each byte, so no more are decoded."""
        rows = ids[:, -self.most :].tolist()
        texts = zip(self.decode(rows), self.decode([row[:-1] for row in rows]), strict=True)
        return torch.tensor([self._completed(*pair) for pair in texts], device=ids.device)

    def _completed(self, text: str, before: str) -> bool:
        """Tell whether a string ends in what the last token adds, which begins where the texts part."""
        pairs = enumerate(zip(text, before, strict=False))
        known = next((at for at, (new, old) in pairs if new != old), min(len(text), len(before)))
        return any(text.find(each, max(0, known - len(each) + 1)) >= 0 for each in self.strings)
