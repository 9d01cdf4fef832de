"""Constraints of generation against Hugging Face's own, by tiny models with the same random weights."""

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from torch import Tensor

import zoo
from zoo.core import ConfigError, Generator, StopStrings, quantize
from zoo.plugins.text.convert import to_zoo
from zoo.plugins.text.models.transformer import Gpt, Transformer

pytestmark = pytest.mark.usefixtures("float64")

Maker = Callable[..., Any]
SIZES: dict[str, Any] = {"vocab_size": 14, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 40}
EOS = 0
SYMBOLS = (13, 13, EOS)
VALID = torch.tensor([[False, False, True, True, True], [True] * 5, [False, False, False, False, True]])
IDS = torch.randint(1, 13, (3, 5), generator=torch.Generator().manual_seed(1)).masked_fill(~VALID, 13)
STEPS = 9
SEED, SCALE = 6, 0.45
"""Weights with which each constraint changes what is written."""


class Pair(NamedTuple):
    """A model of ours and Hugging Face's with the same weights, and their inputs for the same rows."""

    ours: Generator
    theirs: Any
    inputs: tuple[Any, ...]
    given: dict[str, Tensor]


def randomised(model: Any) -> Any:
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for x in {id(x): x for x in model.parameters()}.values():
            x.add_(torch.randn(x.shape, generator=generator) * SCALE)
    model.generation_config.update(pad_token_id=13, eos_token_id=EOS, forced_eos_token_id=None)
    return model.double().eval()


@pytest.fixture(scope="module")
def decoder_alone() -> Pair:
    config = transformers.GPT2Config(
        vocab_size=14, n_embd=24, n_layer=2, n_head=3, n_inner=32, n_positions=40, bos_token_id=13, eos_token_id=EOS
    )
    theirs = randomised(transformers.GPT2LMHeadModel(config))
    ours = Gpt(**SIZES, symbols=SYMBOLS).double().eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    return Pair(ours, theirs, (IDS, VALID), {"input_ids": IDS, "attention_mask": VALID.long()})


@pytest.fixture(scope="module")
def with_encoder() -> Pair:
    theirs = randomised(transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=14, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=40,
        activation_function="swish", scale_embedding=True, pad_token_id=13, eos_token_id=EOS, decoder_start_token_id=13,
    )))  # fmt: skip
    theirs.model.decoder.embed_positions.weight.data.copy_(theirs.model.encoder.embed_positions.weight.data)
    options: dict[str, Any] = {"position": "learned", "activation": "silu", "output_bias": True, "eps": 1e-5}
    ours = Transformer(**SIZES, **options, symbols=SYMBOLS).double().eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    source, valid = IDS.flip(1), VALID.flip(1)
    return Pair(ours, theirs, (source, valid.sum(1)), {"input_ids": source, "attention_mask": valid.long()})


def lowered(ids: Tensor, scores: Tensor) -> Tensor:
    """Depend on the last token, as a processor of a caller."""
    return scores - 2.0 * torch.nn.functional.one_hot((ids[:, -1] + 1) % scores.shape[1], scores.shape[1])


def theirs_of(options: dict[str, Any]) -> dict[str, Any]:
    names = {"min_len": "min_new_tokens", "processors": "logits_processor", "max_len": "max_new_tokens"}
    return {names.get(name, name): value for name, value in options.items()}


def never_padding(ids: Tensor, scores: Tensor) -> Tensor:
    """Forbid the symbol of padding, which Hugging Face's n-grams would see before prompts of unequal lengths."""
    return scores.index_fill(1, torch.tensor([13]), -torch.inf)


CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "penalty": {"repetition_penalty": 1.8},
    "reward": {"repetition_penalty": 0.6},
    "bigrams": {"no_repeat_ngram_size": 2},
    "trigrams": {"no_repeat_ngram_size": 3},
    "minimum": {"min_len": 5},
    "processors": {"processors": [never_padding, lowered]},
    "all": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "min_len": 4, "processors": [lowered, never_padding]},
}
CASES = {name: {"processors": [never_padding]} | case for name, case in CASES.items()}


@pytest.fixture(params=["decoder_alone", "with_encoder"])
def pair(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def answers(theirs: Tensor, prompt: int) -> list[list[int]]:
    """Give the new tokens before the end, or before padding."""
    rows = [row[prompt:] for row in theirs.tolist()]
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def prompt_of(pair: Pair) -> int:
    return 1 if pair.ours.encoder is not None else 5


@pytest.mark.parametrize("case", CASES)
def test_greedy_search_is_that_of_hugging_face(pair: Pair, case: str) -> None:
    options = CASES[case] | {"max_len": STEPS}
    found = pair.ours.generate(*pair.inputs, **options)
    wanted = pair.theirs.generate(**pair.given, **theirs_of(options), do_sample=False)
    assert found.best() == answers(wanted, prompt_of(pair))
    free = pair.ours.generate(*pair.inputs, max_len=STEPS, processors=never_padding).best()
    assert (found.best() == free) == (case == "none")


@pytest.mark.parametrize("case", CASES)
def test_beams_are_those_of_hugging_face_with_their_scores(pair: Pair, case: str) -> None:
    options = CASES[case] | {"max_len": STEPS, "length_penalty": 0.0}
    found = pair.ours.generate(*pair.inputs, **options, beam=4, n_best=3)
    beams = {"num_beams": 4, "num_return_sequences": 3, "early_stopping": "never", "return_dict_in_generate": True}
    wanted = pair.theirs.generate(**pair.given, **theirs_of(options), **beams, output_scores=True, do_sample=False)
    rows = zip(found.ids.flatten(0, 1).tolist(), found.lengths.flatten().tolist(), strict=True)
    assert [row[:length] for row, length in rows] == answers(wanted.sequences, prompt_of(pair))
    torch.testing.assert_close(found.scores.flatten(), wanted.sequences_scores.double(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("drawn", [{}, {"top_k": 5, "top_p": 0.9}])
@pytest.mark.parametrize("case", ["none", "all"])
def test_draws_by_the_same_numbers_are_those_of_hugging_face(
    pair: Pair, case: str, drawn: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = torch.Generator().manual_seed(5)

    def inverse(chance: Tensor, num_samples: int) -> Tensor:
        at = torch.rand(len(chance), generator=numbers, dtype=torch.float64)
        order = (
            chance.sort(dim=-1, descending=True, stable=True).indices if drawn else torch.arange(14).expand_as(chance)
        )
        sums = chance.double().gather(1, order).cumsum(-1)
        return order.gather(1, torch.searchsorted(sums, at[:, None] * sums[:, -1:], right=True))

    monkeypatch.setattr(torch, "multinomial", inverse)
    options = CASES[case] | {"max_len": STEPS, "temperature": 1.4} | drawn
    found = pair.ours.generate(*pair.inputs, **options, seed=5)
    wanted = pair.theirs.generate(**pair.given, **theirs_of(options | {"top_k": drawn.get("top_k", 0)}), do_sample=True)
    assert found.best() == answers(wanted, prompt_of(pair))


def test_processors_of_hugging_face_work_here(pair: Pair) -> None:
    theirs: Any = [transformers.RepetitionPenaltyLogitsProcessor(1.8), transformers.NoRepeatNGramLogitsProcessor(2)]
    for beam in (1, 3):
        ours = pair.ours.generate(*pair.inputs, max_len=STEPS, beam=beam, processors=theirs)
        own = pair.ours.generate(*pair.inputs, max_len=STEPS, beam=beam, repetition_penalty=1.8, no_repeat_ngram_size=2)
        assert ours.best() == own.best()


def text_of(rows: list[list[int]]) -> list[str]:
    """Write two letters for each token, so that a string may begin or end within one."""
    return ["".join("abcdefghijklmn"[token] + "xyz"[token % 3] for token in row) for row in rows]


@pytest.mark.parametrize("beam", [1, 3])
def test_rows_end_with_the_token_that_completes_a_stop_string_as_in_hugging_face(pair: Pair, beam: int) -> None:
    class Stop(transformers.StoppingCriteria):
        def __call__(self, ids: Any, scores: Any, **_: Any) -> Any:
            return stop(ids)

    given: dict[str, Any] = {"max_len": STEPS, "length_penalty": 0.0, "processors": [never_padding]}
    free = pair.ours.generate(*pair.inputs, **given, beam=beam).best()
    pieces = ["".join(text_of([row])[0][3:6]) for row in free if len(row) > 3]
    stop = StopStrings(pieces, text_of)
    found = pair.ours.generate(*pair.inputs, **given, beam=beam, stop=stop)
    options = {"num_beams": beam, "early_stopping": "never"} if beam > 1 else {}
    wanted = pair.theirs.generate(
        **pair.given, **theirs_of(given), do_sample=False, **options, stopping_criteria=[Stop()]
    )
    rows = [[token for token in row if token != 13] for row in answers(wanted, prompt_of(pair))]
    assert found.best() == rows
    assert found.best() != free
    before = [[13]] * 3
    if pair.ours.encoder is None:
        before = [row[on].tolist() for row, on in zip(IDS, VALID, strict=True)]
    whole = text_of([[*prompt, *row] for prompt, row in zip(before, found.best(), strict=True)])
    assert any(text[-4:].find(piece) >= 0 for text in whole for piece in pieces)


@pytest.mark.parametrize(
    ("tokens", "ends"),
    [
        (["x", "a", "b"], True),
        (["xa", "bc"], True),
        (["a", "b", "c"], False),  # it is complete before the last token
        (["ab"], True),
        (["xyzab", "a"], False),
        (["a", "", "b"], True),
        (["a", "b", ""], False),
    ],
)
def test_a_stop_string_ends_with_the_last_token(tokens: list[str], ends: bool) -> None:
    stop = StopStrings(["never", "ab"], lambda rows: ["".join(tokens[place] for place in row) for row in rows])
    assert stop(torch.arange(len(tokens))[None]).tolist() == [ends]


def test_steps_are_what_is_generated_at_once_with_constraints(pair: Pair) -> None:
    options = CASES["all"] | {"max_len": STEPS, "stop": StopStrings("cz", text_of)}
    steps = torch.stack(list(pair.ours.generate_steps(*pair.inputs, **options)), dim=1)
    torch.testing.assert_close(steps, pair.ours.generate(*pair.inputs, **options).ids[:, 0])


@pytest.mark.parametrize("beam", [1, 3])
def test_a_row_is_what_it_is_alone_and_no_processor_sees_padding(pair: Pair, beam: int) -> None:
    seen: list[Tensor] = []

    def look(ids: Tensor, scores: Tensor) -> Tensor:
        seen.append(ids)
        return scores

    options = CASES["all"] | {"processors": [lowered, never_padding, look], "max_len": STEPS, "beam": beam}
    found = pair.ours.generate(*pair.inputs, **options)
    first = 1 if pair.ours.encoder is not None else 0
    assert not any(bool((ids[:, first : int(VALID.sum(1).min())] == 13).any()) for ids in seen)
    ids, valid = pair.given["input_ids"], pair.given["attention_mask"].bool()
    for row in range(3):
        alone = ids[row][valid[row]][None]
        assert pair.ours.generate(alone, None, **options).best() == found.best()[row : row + 1]


def test_recomputing_decoders_and_int8_obey_too(writer: Maker) -> None:
    for model in (writer(mean=True), quantize(writer().float())):
        found = model.generate(torch.tensor([[3, 4], [5, 6]]), max_len=8, min_len=4, no_repeat_ngram_size=2, beam=2)
        for prompt, row in zip(([3, 4], [5, 6]), found.best(), strict=True):
            pairs = list(zip([*prompt, *row][:-1], [*prompt, *row][1:], strict=True))
            assert len(pairs) == len(set(pairs))
            assert len(row) >= 4


@pytest.mark.parametrize("name", ["rnn-attention-tiny", "joined:vit-micro+decoder-tiny"])
def test_recurrent_and_joined_models_obey_too(name: str) -> None:
    model: Any = zoo.create(name).eval()
    source = zoo.example(name)[:-1]
    for beam in (1, 2):
        found = model.generate(*source, max_len=8, min_len=5, no_repeat_ngram_size=1, beam=beam, length_penalty=0.0)
        assert all(len(row) == len(set(row)) >= 5 for row in found.best())
        if beam == 1:
            scored = model.target_scores(*source, target=found)
            torch.testing.assert_close(scored.scores, found.scores)


def dying(ids: Tensor, scores: Tensor) -> Tensor:
    return scores.masked_fill(ids[:, :1] == 5, -torch.inf)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"min_len": -1}, "min_len=-1 is below 0"),
    ({"min_len": 4}, "min_len=4 is above max_len=3"),
    ({"min_len": 2.5}, "min_len=2.5 is no whole number"),
    ({"temperature": "hot"}, "temperature='hot' is no number"),
    ({"top_p": True}, "top_p=True is no number"),
    ({"repetition_penalty": "1.2"}, "repetition_penalty='1.2' is no number"),
    ({"seed": 1.5}, "seed=1.5 is no whole number"),
    ({"repetition_penalty": 0.0}, "repetition_penalty=0.0 is not in (0, ∞); 1 changes nothing"),
    ({"no_repeat_ngram_size": -2}, "no_repeat_ngram_size=-2: an n-gram has at least one token"),
    ({"stop": "."}, "stop='.': zoo.core.StopStrings('.', tokenizer.decode_batch) ends at strings"),
    ({"stop": lambda ids: True}, "returned True for "),
    ({"processors": [3]}, "processors=3: a processor is called with (ids, scores) and returns scores"),
    (
        {"processors": lambda ids, scores: scores[:, :3]},
        "the processor <lambda> returned torch.float64 of (2, 3) for scores of (2, 7): give scores of that shape back",
    ),
    ({"processors": lambda ids, scores: None}, "the processor <lambda> returned None for scores of (2, 7)"),
    ({"processors": lambda ids, scores: scores * torch.nan}, "the processor <lambda> returned NaN for row 0"),
    ({"processors": dying}, "the processor dying leaves no token for row 1 behind 2 tokens: all scores are -inf"),
]


@pytest.mark.parametrize("beam", [1, 2])
@pytest.mark.parametrize(("wish", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_wishes_that_cannot_be_are_refused(writer: Maker, wish: dict[str, Any], text: str, beam: int) -> None:
    generate: Any = inspect.unwrap(Generator.generate)  # the hook of the tests has refused wrong types before
    with pytest.raises(ConfigError, match=re.escape(text)):
        generate(writer(), torch.tensor([[3, 4], [5, 6]]), **{"max_len": 3, "beam": beam, **wish})


def test_a_minimum_needs_room_behind_the_longest_prompt(writer: Maker) -> None:
    with pytest.raises(ConfigError, match=r"min_len=4 is above max_len=3$"):
        writer().generate(torch.tensor([[3, 4]]), max_len=3, min_len=4)
    with pytest.raises(ConfigError, match=r"min_len=4 is above the 3 tokens .* behind the prompt of row 1"):
        writer(max_len=6).generate(torch.tensor([[3, 4, 3], [5, 6, 3]]), torch.tensor([1, 3]), max_len=9, min_len=4)


def test_a_beam_without_a_token_ends_and_the_others_go_on(writer: Maker) -> None:
    def one_way(ids: Tensor, scores: Tensor) -> Tensor:
        return scores.masked_fill((ids[:, -1:] == 4) & (ids[:, :1] > 0), -torch.inf)

    free = writer(seed=1).generate(torch.tensor([[3, 5]]), max_len=6, beam=3, n_best=3)
    found = writer(seed=1).generate(torch.tensor([[3, 5]]), max_len=6, beam=3, n_best=3, processors=one_way)
    assert any(4 in row[:-1] for row in free.ids[0].tolist())
    assert not any(
        4 in row[: length - 1] for row, length in zip(found.ids[0].tolist(), found.lengths[0].tolist(), strict=True)
    )
