"""`Generator`: the surface of a model, what it refuses, and steps that agree with the whole."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core import (
    Attention,
    Causal,
    Chunk,
    ConfigError,
    Decoder,
    Encoder,
    Generator,
    InputError,
    NextToken,
    TokenEmbed,
    Window,
)
from zoo.core.engine.tracing import watch
from zoo.core.patterns.pattern import Pattern

pytestmark = pytest.mark.usefixtures("float64")

Maker = Callable[..., Any]

IDS = torch.tensor([[3, 4, 5], [6, 5, 4]])


def test_what_comes_later_and_what_is_padded_in_the_source_changes_nothing(writer: Maker) -> None:
    model, lengths = writer(encoder=True), torch.tensor([2, 3])
    target = torch.tensor([[1, 4, 5], [1, 3, 3]])
    scores = model(IDS, lengths, target)
    source, changed = IDS.clone(), target.clone()
    source[0, 2], changed[:, 2] = 6, 6
    assert scores.shape == (2, 3, 7)
    torch.testing.assert_close(model(source, lengths, target), scores, atol=0, rtol=0)
    torch.testing.assert_close(model(IDS, lengths, changed)[:, :2], scores[:, :2], atol=0, rtol=0)
    assert not torch.allclose(model(source, None, target), scores)


@pytest.mark.parametrize("encoder", [False, True])
def test_features_and_states_are_what_the_head_reads(writer: Maker, encoder: bool) -> None:
    model = writer(encoder=encoder)
    inputs = (IDS, None, torch.tensor([[1, 4], [1, 3]])) if encoder else (IDS,)
    x, states = model.forward_intermediates(*inputs, indices=[0, -1])
    torch.testing.assert_close(x, model.forward_features(*inputs))
    torch.testing.assert_close(states[1], x)
    assert len(states) == 2
    head = model.head
    torch.testing.assert_close(x @ head.weight.T + head.bias, model(*inputs))
    maps = model.attention_maps(*inputs)
    assert len(maps) == (5 if encoder else 2)
    for weights in maps:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert (model.num_features, model.num_classes) == (8, 7)


def test_a_model_that_reads_its_own_answer_finds_each_of_its_tokens_again(writer: Maker) -> None:
    model = writer(encoder=True)
    *source, read = model.with_answer(IDS, torch.tensor([3, 2]), max_len=6)
    answers = model.generate(*source, max_len=6)
    assert [row[: length + 1] for row, length in zip(read.tolist(), answers.lengths[:, 0].tolist(), strict=True)] == [
        [1, *row] for row in answers.best()
    ]
    found = model(*source, read).argmax(-1).tolist()
    assert [row[:length] for row, length in zip(found, answers.lengths[:, 0].tolist(), strict=True)] == answers.best()
    assert writer().with_answer(IDS) == (IDS,)


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary"])
@torch.no_grad()
def test_what_follows_on_a_state_is_what_the_whole_says(writer: Maker, position: str) -> None:
    model = writer(position=position)
    ids, lengths = torch.tensor([[3, 4, 5, 6], [4, 4, 3, 5]]), torch.tensor([2, 1])
    state = model.decoder.state(2)
    one = model.follow(ids[:, :2], state, None, lengths)
    two = model.follow(torch.tensor([[5, 6], [3, 3]]), state, None, torch.tensor([1, 2]))
    three = model.follow(torch.tensor([[6, 3], [0, 4]]), state, None, torch.tensor([[True, True], [False, True]]))
    for row, stages in enumerate(([[3, 4], [5], [6, 3]], [[4], [3, 3], [4]])):
        read: list[int] = []
        for got, more in zip((one, two, three), stages, strict=True):
            read += more
            torch.testing.assert_close(got[row], model(torch.tensor([read]))[0, -1])


def test_a_source_of_another_kind_goes_through_its_own_stem() -> None:
    class Sound(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            from zoo.core import Tokens

            return Tokens(x)

    model = Generator(
        TokenEmbed(7, 8),
        Decoder(8, 1, 2, 8, cross=Attention),
        NextToken(8, 7),
        encoder=Encoder(8, 1, 2, 8),
        stem=Sound(),
    )
    model.eval()
    source, other, ids = torch.randn(2, 5, 8), torch.randn(2, 5, 8), torch.tensor([[1, 3], [1, 4]])
    scores = model(source, ids)
    assert scores.shape == (2, 2, 7)
    assert not torch.allclose(model(other, ids), scores)
    both = model.generate(torch.cat([source, other]), max_len=3, beam=2)
    torch.testing.assert_close(model.generate(source, max_len=3, beam=2).scores, both.scores[:2])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"beam": 0}, "beam=0: at least one answer is followed"),
    ({"n_best": 0}, "n_best=0: at least one answer is given"),
    ({"beam": 2, "n_best": 3}, "n_best=3 is more than beam=2: follow at least as many"),
    ({"n_best": 2, "top_k": 5}, "n_best=2 with top_k=5: draws have no best; give the row several times"),
    ({"length_penalty": float("nan")}, "length_penalty=nan is no number"),
    ({"temperature": -0.5}, r"temperature=-0.5 is not in [0, ∞); 0 chooses the best token"),
    ({"temperature": float("inf")}, r"temperature=inf is not in [0, ∞)"),
    ({"top_p": 0.0}, "top_p=0.0 is not in (0, 1]"),
    ({"top_p": 1.5}, "top_p=1.5 is not in (0, 1]"),
    ({"top_k": 0}, "top_k=0: at least one token is drawn from"),
    (
        {"beam": 4, "temperature": 0.7, "top_p": 0.5},
        "beam=4 with temperature=0.7, top_p=0.5: a search draws nothing; leave that out, or beam=1",
    ),
    ({"max_len": 0}, "max_len=0: at least one token is written"),
    ({"max_len": None}, "max_len=None of a model that can write any number of tokens: say how many at most"),
    ({"prompt": IDS}, "prompt= of a model without an encoder: its inputs are the prompt"),
]


@pytest.mark.parametrize(("wish", "text"), REFUSED, ids=[str(wish) for wish, _ in REFUSED])
def test_wishes_that_cannot_be_are_refused(writer: Maker, wish: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        writer().generate(IDS, **{"max_len": 3, **wish})


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ((IDS, torch.tensor([2, 0])), "row 1 of the prompt is padding only: give it at least one token"),
        ((torch.tensor([[3, 4], [0, 0]]),), "row 1 of the prompt is padding only"),
        ((IDS, torch.tensor([[True] * 3, [False] * 3])), "row 1 of the prompt is padding only"),
        ((IDS[:, :0],), "row 0 of the prompt is padding only"),
        ((IDS[:0],), "a prompt of 0 rows"),
        ((IDS[0],), "a prompt of shape (3,) of torch.int64: ids are (batch, length) whole numbers"),
        ((torch.tensor([[3, 7]]),), "token 7 at place 1 of row 0: the vocabulary has 7, 0 … 6"),
        ((IDS, torch.tensor([2, 4])), "Lengths must lie in 0 … 3"),
        ((IDS, torch.tensor([[True, True]])), "Valid needs a boolean mask of (2, 3)"),
        ((), "0 inputs of a model without an encoder: give ids, and which are there"),
        ((torch.full((2, 9), 3), torch.tensor([4, 9])), "a prompt of 9 tokens in row 1: the model holds 9"),
    ],
)
@pytest.mark.parametrize("beam", [1, 2])
def test_prompts_one_cannot_go_on_from_are_refused(
    writer: Maker, inputs: tuple[Any, ...], text: str, beam: int
) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        writer(max_len=9).generate(*inputs, max_len=3, beam=beam)


def test_a_stream_refuses_at_the_call(writer: Maker) -> None:
    with pytest.raises(ConfigError, match="top_k=0"):
        writer().generate_steps(IDS, max_len=3, top_k=0)
    with pytest.raises(InputError, match="padding only"):
        writer().generate_steps(IDS[:, :0], max_len=3)


def test_a_prompt_of_other_rows_than_the_source_is_refused(writer: Maker) -> None:
    with pytest.raises(InputError, match="a prompt of 3 rows for a source of 2: give one for each, or one for all"):
        writer(encoder=True).generate(IDS, None, max_len=3, prompt=torch.ones(3, 1, dtype=torch.long))


def test_a_source_without_a_target_is_refused(writer: Maker) -> None:
    with pytest.raises(
        InputError,
        match=r"1 given of the inputs of a model with an encoder .* then the ids of the target; .*with_answer",
    ):
        writer(encoder=True)(IDS)


def test_another_vocabulary_is_refused(writer: Maker) -> None:
    writer().reset_classifier(7)
    with pytest.raises(ConfigError, match="num_classes=9 of a model that writes tokens: its vocabulary has 7"):
        writer().reset_classifier(9)


@pytest.mark.parametrize("name", ["beam", "n_best", "max_len", "top_k"])
def test_numbers_of_things_are_whole(writer: Maker, name: str) -> None:
    generate: Any = inspect.unwrap(Generator.generate)  # the hook of the tests has refused the type before
    with pytest.raises(ConfigError, match=re.escape(f"{name}=2.5 is no whole number")):
        generate(writer(), IDS, **{"max_len": 3, name: 2.5})


POSITIONS = ["none", "sinusoidal", "learned", "floater", "rotary", "alibi", "relative", "transformer-xl", "shaw"]
DOCUMENTS = torch.tensor([[1] * 40 + [2] * 1 + [3] * 30 + [4] * 50 + [0] * 2, [3] * 60 + [5] * 63])


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("pattern", [Causal(), Window(5, 0)])
def test_documents_packed_into_a_row_are_read_as_if_each_were_alone(
    writer: Maker, position: str, pattern: Pattern
) -> None:
    model = writer(position=position, pattern=pattern, max_len=64)
    assert model.packs()
    ids = torch.randint(1, 7, DOCUMENTS.shape, generator=torch.Generator().manual_seed(0))
    scores = model(ids, DOCUMENTS)
    for row, numbers in enumerate(DOCUMENTS):
        for number in numbers.unique()[numbers.unique() > 0]:
            own = numbers == number
            torch.testing.assert_close(scores[row, own], model(ids[row : row + 1, own])[0], atol=1e-10, rtol=0)


def test_scores_between_documents_are_never_made(writer: Maker) -> None:
    model, queries = writer(position="rotary", max_len=1024), []
    with watch(lambda plan, problem: queries.append((problem.batch, problem.queries))):
        model(torch.ones(2, 800, dtype=torch.long), torch.arange(8).repeat_interleave(100).add(1).expand(2, 800))
    assert queries == [(16, 100)] * 2


def test_what_mixes_documents_does_not_pack(writer: Maker) -> None:
    assert not writer(encoder=True).packs()
    assert not writer(mean=True).packs()
    assert not writer(pattern=Chunk(4)).packs()


def test_a_prompt_is_one_document_in_each_row(writer: Maker) -> None:
    with pytest.raises(InputError, match="several documents in a row of the prompt"):
        writer().generate(IDS, torch.tensor([[1, 1, 2], [1, 1, 1]]), max_len=2)
    padded = writer().generate(IDS, torch.tensor([[0, 1, 1], [1, 1, 1]]), max_len=2)
    alone = writer().generate(IDS, torch.tensor([[False, True, True], [True] * 3]), max_len=2)
    assert padded.best() == alone.best()
