"""Recurrent language models: tied weights, and that all ways of writing agree with reading at once."""

from typing import Any

import pytest
import torch

import zoo
from zoo.errors import ConfigError

NAMES = ("lstm-lm-tiny", "gru-lm-tiny")
each_model = pytest.mark.parametrize("name", NAMES)


def made(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create(name, **({"vocab_size": 12, "dim": 8} | options)).eval()


@each_model
def test_the_embedding_is_the_output_s_too(name: str) -> None:
    model = made(name)
    assert model.head.matrix is model.target.embed.weight


@each_model
@torch.no_grad()
def test_greedy_writing_takes_what_reading_at_once_finds_best(name: str) -> None:
    model, prompt = made(name), torch.tensor([[1, 5, 7, 4], [1, 9, 0, 0]])
    lengths = torch.tensor([4, 2])
    written = model.generate(prompt, lengths, max_len=6)
    stepped = torch.stack(list(model.generate_steps(prompt, lengths, max_len=6)), 1)
    for row, length in enumerate(lengths.tolist()):
        ids = prompt[row : row + 1, :length]
        for step in range(6):
            best = int(model(ids)[0, -1].argmax())
            assert best == int(written.ids[row, 0, step]) == int(stepped[row, step])
            if best == model.symbols.eos:
                break
            ids = torch.cat([ids, torch.tensor([[best]])], 1)


@each_model
@torch.no_grad()
def test_the_scores_of_a_beam_are_those_of_reading_at_once(name: str) -> None:
    model, prompt = made(name).double(), torch.tensor([[1, 5, 7]])
    found = model.generate(prompt, max_len=4, beam=3, n_best=3, length_penalty=0.0)
    for answer, score in zip(found.ids[0], found.scores[0], strict=True):
        length = next((at + 1 for at, id in enumerate(answer.tolist()) if id == model.symbols.eos), len(answer))
        answer = answer[:length]
        read = model(torch.cat([prompt[0], answer[:-1]])[None])[0, 2:].log_softmax(-1)
        assert float(score) == pytest.approx(float(read.gather(1, answer[:, None]).sum()), abs=1e-6)


@each_model
def test_the_same_seed_draws_the_same_text(name: str) -> None:
    model, prompt = made(name), torch.tensor([[1, 5]])
    first, again = (model.generate(prompt, max_len=8, temperature=1.0, seed=3).ids for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize(
    ("options", "text"), [({"cell": "rnn"}, "cell='rnn' is not one of lstm, gru"), ({"depth": 0}, "depth=0")]
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        made("lstm-lm-tiny", **options)
