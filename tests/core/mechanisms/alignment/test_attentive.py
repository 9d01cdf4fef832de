"""Laws of recurrent decoders with attention: which state asks, what is fed, what the gate does."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Tokens

KINDS = ("present", "feeding", "previous")
Make = Callable[..., Any]


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_weights_are_those_that_the_answer_is_made_of(
    kind: str, make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind)
    weights = decoder.weights(target, source)
    valid = source.valid()
    assert valid is not None
    assert weights.shape == (3, 1, 4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert not weights.masked_select(~valid[:, None, None].expand_as(weights)).any()
    found = []
    decoder.combine.register_forward_pre_hook(lambda _, given: found.append(given[0][..., :6]))
    decoder.gate.register_forward_hook(lambda _, given, share: torch.ones_like(share))
    decoder(target, source)
    expected = decoder.weights(target, source)[:, 0] @ source.without_padding().x
    torch.testing.assert_close(torch.cat(found[:4] if len(found) > 2 else found[:1], 1), expected)


@pytest.mark.parametrize(("kind", "token_asks"), [("present", True), ("feeding", True), ("previous", False)])
@torch.no_grad()
def test_bahdanau_asks_with_the_state_before_the_token_and_luong_with_that_behind_it(
    kind: str, token_asks: bool, make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind)
    before, after = (decoder.weights(tokens, source)[:, 0] for tokens in (target, other_last(target)))
    torch.testing.assert_close(before[:, :-1], after[:, :-1])
    assert torch.equal(before[:, -1], after[:, -1]) is not token_asks
    nothing_read = Tokens(torch.zeros_like(target.x[:, :1]))
    assert (
        torch.equal(decoder.weights(nothing_read, source), decoder.weights(target, source)[:, :, :1]) is not token_asks
    )


def other_last(tokens: Tokens) -> Tokens:
    x = tokens.x.clone()
    x[:, -1] += 1
    return tokens.with_x(x)


@torch.no_grad()
def test_previous_state_follows_the_equations_of_the_paper(make_decoder: Make, source: Tokens, target: Tokens) -> None:
    decoder = make_decoder("previous", "concat", cell="gru")
    score, h = decoder.alignment.score.additive, decoder.first(source.x[:1, -1]).tanh()
    rnn, expected = decoder.cell.rnn, []
    for x in target.x[:1].unbind(1):
        e = torch.stack([score.v[0] @ (score.w1[0] @ h[0] + score.w2[0] @ s).tanh() for s in source.x[0]])
        c = decoder.gate.linear(h).sigmoid() * (e.softmax(0) @ source.x[0])
        h = rnn(torch.cat([x, c], -1)[:, None], h[None].contiguous())[1][0]
        expected.append(decoder.combine(torch.cat([c, h], -1)).tanh())
    torch.testing.assert_close(decoder(target, source).x[:1], torch.stack(expected, 1))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_the_gate_is_asked_with_the_state_before_the_token(
    kind: str, make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder, given, states = make_decoder(kind, cell="gru"), list[Tensor](), list[Tensor]()
    decoder.gate.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    decoder.cell.register_forward_hook(lambda _, inputs, answer: states.append(answer[0]))
    decoder(target, source)
    asked, reached = torch.cat(given, 1), torch.cat(states, 1)
    torch.testing.assert_close(asked[:, 1:], reached[:, :-1])
    torch.testing.assert_close(asked[:, 0], decoder.first(last_of(source)).tanh())


def last_of(source: Tokens) -> Tensor:
    valid = source.valid()
    assert valid is not None
    return torch.stack([row[there][-1] for row, there in zip(source.x, valid, strict=True)])


@torch.no_grad()
def test_input_feeding_gives_the_cell_the_answer_before(make_decoder: Make, source: Tokens, target: Tokens) -> None:
    decoder, given = make_decoder("feeding"), list[Tensor]()
    decoder.cell.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    answer = decoder(target, source).x
    fed = torch.cat(given, 1)[..., 6:]
    assert not fed[:, 0].any()
    torch.testing.assert_close(fed[:, 1:], answer[:, :-1])


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_closed_gate_hides_the_source_and_leaves_the_weights(
    kind: str, make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind)
    decoder.first.weight.zero_()  # the first state tells nothing
    decoder.gate.linear.weight.zero_()
    decoder.gate.linear.bias.fill_(-1e4)
    other = source.with_x(source.x + 1)
    torch.testing.assert_close(decoder(target, source).x, decoder(target, other).x)
    weights = decoder.weights(target, source)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_weights_leave_the_state_as_it_is(kind: str, make_decoder: Make, source: Tokens, target: Tokens) -> None:
    decoder = make_decoder(kind)
    state = decoder.state(3)
    decoder(target, source, state)
    kept = {name: x.clone() for name, x in state.layers[0].own.tensors.items()}
    decoder.weights(target, None, state)
    assert all(torch.equal(x, kept[name]) for name, x in state.layers[0].own.tensors.items())
    assert state.lengths.tolist() == [4, 4, 4]
