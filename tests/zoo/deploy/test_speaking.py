from typing import Any

import torch

import zoo
from zoo.deploy.decoding import Encode
from zoo.deploy.speaking import Speak

TINY: dict[str, Any] = {"depth": 2, "dim": 32, "num_heads": 2, "mlp_dim": 32}


@torch.no_grad()
def test_steps_with_their_cache_are_the_model_over_all_steps() -> None:
    model: Any = zoo.create("speech-synthesis-tiny", **TINY).eval()
    *text, frames = zoo.example("speech-synthesis-tiny", 3)
    expected = model(*text, frames)
    before = torch.nn.functional.pad(frames[:, :-1], (0, 0, 0, 0, 1, 0))
    encode, speak = Encode(model), Speak(model)
    context, past, begin = encode(*text), speak.empty(3), 0
    for end in (4, 5, frames.shape[1]):
        written, ends, *past = speak(before[:, begin:end], *past, *context)
        torch.testing.assert_close(written.flatten(2), expected[:, begin:end, :-1], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ends, expected[:, begin:end, -1], rtol=1e-4, atol=1e-5)
        begin = end
