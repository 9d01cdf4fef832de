"""Steps of a generation and the tree of a beam search, against what the model says step by step."""

import math
from collections.abc import Sequence

import pytest
import torch

from zoo.core import Attention, Decoder, Encoder, Generator, NextToken, TokenEmbed
from zoo.viz.explorer.generation import ALPHA, steps_of, write

pytestmark = pytest.mark.usefixtures("float64")
SOURCE = torch.tensor([[3, 4, 5]])


def writer(encoder: bool = True) -> Generator:
    embed = TokenEmbed(9, 8)
    decoder = Decoder(8, 2, 2, 16, cross=Attention if encoder else None)
    found = Encoder(8, 1, 2, 16) if encoder else None
    return Generator(embed, decoder, NextToken(9, 8, embed.embed), encoder=found).eval()


def names(ids: Sequence[int]) -> list[str]:
    return [f"t{place}" for place in ids]


@torch.no_grad()
@pytest.mark.parametrize("encoder", [True, False])
def test_candidates_are_the_probabilities_of_each_step(encoder: bool) -> None:
    model = writer(encoder)
    written = write(model, (SOURCE,), 4, 1, names)
    steps = steps_of(model, written.inputs, written.prompt, names, written.end)
    best = model.generate(SOURCE, max_len=4).best()[0]
    ids = written.inputs[-1][0].tolist()
    assert ids[written.prompt :] == best
    for count, step in enumerate(steps):
        read = torch.tensor([ids[: step["row"] + 1]])
        follows = model.follow(read, None, model.encode(SOURCE) if encoder else None)[0].softmax(-1)
        for name, probability, _ in step["candidates"]:
            assert probability == pytest.approx(float(follows[int(name[1:])]), abs=1e-5)
        taken = [name for name, _, is_taken in step["candidates"] if is_taken]
        end = [] if written.end is None else [f"t{written.end}"]
        assert taken == ([f"t{best[count]}"] if count < len(best) else end)
    assert [step["row"] for step in steps] == list(range(written.prompt - 1, len(ids)))


@pytest.mark.parametrize("encoder", [True, False])
def test_the_last_step_marks_the_end_that_a_beam_wrote_though_another_token_is_likelier(encoder: bool) -> None:
    torch.manual_seed(0)
    model = writer(encoder)
    for _ in range(200):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.7)
        written = write(model, (SOURCE,), 5, 4, names)
        steps = steps_of(model, written.inputs, written.prompt, names, written.end)
        if written.end is not None and steps[-1]["candidates"][0][0] != "t2":
            break
    assert [name for name, _, taken in steps[-1]["candidates"] if taken] == ["t2"]
    assert steps[-1]["candidates"][0][2] == 0
    cut = write(model, (SOURCE,), 1, 1, names)
    last = steps_of(model, cut.inputs, cut.prompt, names, cut.end)[-1]["candidates"]
    assert sum(taken for _, _, taken in last) == (cut.end is not None)


@torch.no_grad()
def test_the_tree_holds_each_beam_with_its_probability() -> None:
    model = writer()
    written = write(model, (SOURCE,), 4, 3, names)
    tree = written.tree
    context = model.encode(SOURCE)

    def path(place: int) -> list[int]:
        above = path(tree[place]["parent"]) if tree[place]["parent"] >= 0 else []
        return [*above, int(tree[place]["token"][1:])]

    found = model.generate(SOURCE, max_len=4, beam=3, n_best=3, length_penalty=ALPHA)
    for place, node in enumerate(tree):
        ids = path(place)
        if node["total"] is None:
            continue
        total = 0.0
        for count in range(len(ids)):
            read = torch.tensor([[model.symbols.bos, *ids[:count]]])
            total += float(model.follow(read, None, context)[0].log_softmax(-1)[ids[count]])
        assert node["total"] == pytest.approx(total, abs=1e-4)
    ended = sorted(node["score"] for node in tree if node["score"] is not None)
    assert ended == pytest.approx(sorted(score for score in found.scores[0].tolist() if score > -math.inf), abs=1e-4)
    best = [place for place, node in enumerate(tree) if node["best"]]
    assert path(best[-1])[: len(found.best()[0])] == found.best()[0] or any(
        path(place)[: len(found.best()[0])] == found.best()[0] for place in best
    )


def test_what_is_written_behind_a_padded_prompt_follows_its_last_token() -> None:
    model = writer(False)
    padded = torch.tensor([[3, 4, 5, 0, 0]])
    alone, other = (write(model, given, 3, 1, names) for given in ((SOURCE,), (padded, torch.tensor([3]))))
    assert torch.equal(alone.inputs[0], other.inputs[0])
