"""Writing all places at once: lengths, padding, rows, and a task that is learned."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Attention, ConfigError, Decoder, Encoder, Full, InputError, NextToken, Symbols, TokenEmbed
from zoo.core.generation.length_prediction import CutAtEnd, Length, LengthPredictor
from zoo.core.losses.loss import cross_entropy
from zoo.core.models.non_autoregressive import NonAutoregressive
from zoo.core.positions.absolute import position_encoding

pytestmark = pytest.mark.usefixtures("float64")

DIM, VOCAB = 8, 9
SOURCE, VALID = torch.tensor([[3, 4, 5, 6], [5, 3, 0, 0]]), torch.tensor([4, 2])
TARGET_IDS = torch.tensor([[1, 7, 8, 7, 3], [1, 3, 4, 0, 0]])
TARGET = torch.tensor([[7, 8, 7, 3, 2], [3, 4, 2, -100, -100]])


def model_with(length: Length | None = None, dim: int = DIM, seed: int = 0, **options: Any) -> Any:
    torch.manual_seed(seed)
    stem = TokenEmbed(VOCAB, dim)
    return NonAutoregressive(
        stem,
        Encoder(dim, 1, 2, 2 * dim),
        Decoder(dim, 2, 2, 2 * dim, cross=Attention, pattern=Full()),
        NextToken(dim, VOCAB, stem.embed),
        (length or LengthPredictor(dim, reach=3)).double(),  # it may have been made before the test
        position=position_encoding("sinusoidal", dim, (32,)),
        **options,
    ).eval()


@pytest.mark.parametrize(
    "length", [LengthPredictor(DIM, 3), CutAtEnd(2.0, 1)], ids=lambda length: type(length).__name__
)
def test_scores_stand_at_the_places_of_the_target(length: Length) -> None:
    model = model_with(length)
    inputs = (SOURCE, VALID, TARGET_IDS)
    scores = model(*inputs)
    assert scores.shape == (2, 5, VOCAB)
    x, states = model.forward_intermediates(*inputs)
    assert x.shape == (2, 5, DIM)
    torch.testing.assert_close(x, model.forward_features(*inputs))
    assert len(states) == 2
    torch.testing.assert_close(nn.functional.linear(x, model.stem.embed.weight)[0], scores[0])
    assert len(model.attention_maps(*inputs)) == 5
    assert (model.num_features, model.num_classes) == (DIM, VOCAB)


def test_an_answer_of_its_own_stands_behind_the_begin() -> None:
    model = model_with()
    *source, read = model.with_answer(SOURCE, VALID)
    best = model.generate(SOURCE, VALID).best()
    assert [row[: len(ids) + 1] for row, ids in zip(read.tolist(), best, strict=True)] == [[1, *ids] for ids in best]
    assert model(*source, read).shape[:2] == read.shape


def test_an_answer_that_fills_all_places_is_read_without_its_last_token() -> None:
    model = model_with(CutAtEnd(0.0, 3))
    (row, _), places = model.generate(SOURCE, VALID).best(), 3
    *source, read = model.with_answer(SOURCE, VALID)
    assert len(row) == places  # without an end
    assert read[0].tolist() == [1, *row[:-1]]
    assert model(*source, read).shape[:2] == read.shape


def test_only_the_number_of_target_tokens_matters() -> None:
    model, other = model_with(), torch.tensor([[1, 3, 3, 3, 3], [1, 8, 8, 0, 0]])
    torch.testing.assert_close(model(SOURCE, VALID, TARGET_IDS), model(SOURCE, VALID, other), atol=0, rtol=0)


@pytest.mark.parametrize(
    "length", [LengthPredictor(DIM, 3), CutAtEnd(1.5, 1)], ids=lambda length: type(length).__name__
)
def test_rows_are_as_each_alone_wherever_their_padding_stands(length: Length) -> None:
    model = model_with(length)
    left = torch.tensor([[3, 4, 5, 6], [8, 8, 5, 3]])
    mask = torch.tensor([[True] * 4, [False, False, True, True]])
    alone = model(SOURCE[1:, :2], None, TARGET_IDS[1:, :3])[0]
    for source, valid in ((SOURCE, VALID), (left, mask)):
        torch.testing.assert_close(model(source, valid, TARGET_IDS)[1, :3], alone)
        got, one = model.generate(source, valid), model.generate(SOURCE[1:, :2], None)
        assert got.best()[1] == one.best()[0]
        torch.testing.assert_close(got.scores[1], one.scores[0])


def test_a_source_is_copied_evenly() -> None:
    model = model_with()
    model.position = None
    source = model.stem(SOURCE, VALID)
    copied = model.copies(source, torch.tensor([6, 5]))
    torch.testing.assert_close(copied.x[0], source.x[0, [0, 0, 1, 2, 2, 3]])
    torch.testing.assert_close(copied.x[1, :5], source.x[1, [0, 0, 0, 1, 1]])
    torch.testing.assert_close(model.copies(source, torch.tensor([2, 1])).x[0], source.x[0, [0, 2]])


def test_the_loss_is_that_of_the_tokens_and_of_the_length() -> None:
    model = model_with()
    got = model.training_loss((SOURCE, VALID, TARGET_IDS), TARGET, 0.1)
    encoded = model.encode(SOURCE, VALID)
    wanted = torch.tensor([5 - 4 + 3, 3 - 2 + 3])
    lengths = nn.functional.cross_entropy(model.length(encoded), wanted)
    tokens = cross_entropy(model(SOURCE, VALID, TARGET_IDS), TARGET, 0.1)
    torch.testing.assert_close(got, tokens + lengths)
    got.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_lengths_beyond_reach_count_as_the_furthest() -> None:
    predictor, encoded = LengthPredictor(DIM, 1), model_with().encode(SOURCE, VALID)
    far, near = (predictor.loss(encoded, torch.tensor(asked)) for asked in ([20, 1], [5, 1]))
    torch.testing.assert_close(far, near)


def test_places_behind_the_end_are_taught_to_end() -> None:
    model = model_with(CutAtEnd(1.0, 3))
    got = model.training_loss((SOURCE, VALID, TARGET_IDS), TARGET)
    longer = torch.tensor([[1, 3, 3, 3, 3, 3, 3], [1, 3, 3, 3, 3, 0, 0]])
    whole = torch.tensor([[7, 8, 7, 3, 2, 2, 2], [3, 4, 2, 2, 2, -100, -100]])
    torch.testing.assert_close(got, cross_entropy(model(SOURCE, VALID, longer), whole))


def rigged(model: Any, scores: Tensor) -> Any:
    """Let a model's head say what it is told."""
    model.head.forward = lambda tokens: scores[: len(tokens.x), : tokens.x.shape[1]]
    return model


def test_an_answer_is_cut_at_its_first_end() -> None:
    wanted = torch.tensor([[4, 5, 2, 6, 2, 7, 8, 8], [2, 4, 4, 4, 4, 4, 4, 4]])
    scores = nn.functional.one_hot(wanted, VOCAB) * 9.0
    got = rigged(model_with(CutAtEnd(1.0, 3)), scores).generate(SOURCE, VALID)
    assert got.best() == [[4, 5], []]
    assert got.ids.tolist() == [[[4, 5, 2]], [[2, 0, 0]]]
    torch.testing.assert_close(got.scores, torch.full((2, 1), float(scores[0, 0].log_softmax(-1).max())))
    endless = nn.functional.one_hot(torch.full((2, 8), 4), VOCAB) * 9.0
    got = rigged(model_with(CutAtEnd(1.0, 3)), endless).generate(SOURCE, VALID)
    assert got.lengths.tolist() == [[7], [5]]
    assert rigged(model_with(CutAtEnd(1.0, 3)), endless).generate(SOURCE, VALID, max_len=2).best() == [[4, 4]] * 2
    assert rigged(model_with(CutAtEnd(1.0, 3), max_len=3), endless).generate(SOURCE, VALID).best() == [[4, 4, 4]] * 2


def test_of_several_lengths_the_likeliest_answer_is_taken() -> None:
    model = model_with(seed=2).requires_grad_(False)
    encoded = model.encode(SOURCE, VALID)
    lengths = model.length.propose(encoded, 5)
    got = model.generate(SOURCE, VALID, candidates=5)
    for row in range(2):
        answers = []
        for places in lengths[row].tolist():
            ids = torch.ones(1, places, dtype=torch.long)
            chance = model(SOURCE[row : row + 1], VALID[row : row + 1], ids).log_softmax(-1)[0].max(-1)
            n = chance.indices.tolist().index(2) + 1 if 2 in chance.indices else places
            answers.append((float(chance.values[:n].mean()), chance.indices[:n].tolist()))
        score, best = max(answers)
        assert float(got.scores[row, 0]) == pytest.approx(score, abs=1e-5)
        assert got.best()[row] == [token for token in best if token != 2]
    one = model.generate(SOURCE, VALID)
    assert (one.scores <= got.scores + 1e-6).all()
    likeliest = model.length(encoded).argmax(1) - 3 + VALID
    assert torch.equal(lengths[:, 0], likeliest.clamp(min=1))


def test_the_model_stays_as_it_was() -> None:
    model = model_with().train()
    model.stem.dropout.p = 0.9
    assert torch.equal(model.generate(SOURCE, VALID).scores, model.generate(SOURCE, VALID).scores)
    assert all(part.training for part in model.modules())


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"max_len": 0}, "max_len=0 is below 1"),
        ({"candidates": 0}, "candidates=0 is below 1"),
        ({"candidates": 8}, "candidates=8 of a predictor that tells 7 lengths apart"),
    ],
)
def test_wishes_that_cannot_be_are_refused(wish: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model_with().generate(SOURCE, VALID, **wish)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=re.escape("candidates=2 of CutAtEnd(factor=1.0, extra=1)")):
        model_with(CutAtEnd(1.0, 1)).generate(SOURCE, VALID, candidates=2)
    with pytest.raises(InputError, match=r"an answer of 3 tokens in row 1, where CutAtEnd\(.*\) writes 2"):
        model_with(CutAtEnd(1.0, 0)).training_loss((SOURCE, VALID, TARGET_IDS[:, :3]), TARGET[:, :3])
    with pytest.raises(InputError, match="an answer of 5 tokens: the model writes at most 4"):
        model_with(max_len=4)(SOURCE, VALID, TARGET_IDS)
    with pytest.raises(InputError, match="a source of 0 rows"):
        model_with().generate(SOURCE[:0], VALID[:0])
    with pytest.raises(
        InputError,
        match=r"1 given of the inputs of a model with an encoder .* then the ids of the target; .*with_answer",
    ):
        model_with()(SOURCE)
    with pytest.raises(ConfigError, match="its padding is no other symbol"):
        model_with(symbols=Symbols(2, 2, 2))
    with pytest.raises(ConfigError, match="reach=-1"):
        LengthPredictor(DIM, -1)
    with pytest.raises(ConfigError, match=r"factor=0\.0, extra=0"):
        CutAtEnd(0.0, 0)
    with pytest.raises(ConfigError, match="num_classes=3"):
        model_with().reset_classifier(3)


def copying(rows: int, generator: torch.Generator) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Draw rows of 2 to 6 tokens to copy."""
    lengths = torch.randint(2, 7, (rows,), generator=generator)
    valid = torch.arange(6) < lengths[:, None]
    source = torch.randint(3, VOCAB, (rows, 6), generator=generator).masked_fill(~valid, 0)
    target = torch.full((rows, 7), -100)
    target[:, :6] = source.masked_fill(~valid, -100)
    target[torch.arange(rows), lengths] = 2
    ids = torch.cat([torch.ones(rows, 1, dtype=torch.long), source], dim=1)
    return (source, lengths, ids), target


@pytest.mark.slow
@pytest.mark.parametrize("length", [LengthPredictor(32, 3), CutAtEnd(1.0, 2)], ids=["predicted", "cut"])
def test_copying_is_learned_with_either_way_to_find_the_length(length: Length) -> None:
    model, generator = model_with(length, dim=32), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(model.train().parameters(), 3e-3)
    for _ in range(600):
        optimiser.zero_grad()
        model.training_loss(*copying(64, generator)).backward()
        optimiser.step()
    (source, lengths, _), _ = copying(300, generator)
    best = model.generate(source, lengths).best()
    right = [row[:n] == one for row, n, one in zip(source.tolist(), lengths.tolist(), best, strict=True)]
    assert sum(right) / len(right) > 0.97


@pytest.mark.parametrize("length", [LengthPredictor(DIM, 3), CutAtEnd(1.0, 3)], ids=["predicted", "cut"])
def test_a_target_of_padding_only_says_nothing_and_asks_nothing(length: Length) -> None:
    model = model_with(length)
    blank, unasked = TARGET_IDS.clone(), TARGET.clone()
    blank[1], unasked[1] = 0, -100
    scores = model(SOURCE, VALID, blank)
    assert scores.isfinite().all()
    torch.testing.assert_close(scores[0], model(SOURCE, VALID, TARGET_IDS)[0])
    loss = model.training_loss((SOURCE, VALID, blank), unasked)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert model(SOURCE, VALID, torch.zeros_like(blank)).shape == (2, 5, VOCAB)


def test_wishes_of_other_writers_are_refused() -> None:
    for wish in ({"beam": 2}, {"temperature": 0.5}):
        ((name, value),) = wish.items()
        said = f"{name}={value} of a model that writes all places at once: it takes max_len and candidates"
        with pytest.raises(ConfigError, match=said):
            model_with().generate(SOURCE, VALID, **wish)
