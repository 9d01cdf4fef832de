"""Observers see each step of a search."""

import torch

from zoo.core import Decoder, Generator, NextToken, TokenEmbed
from zoo.core.generation.observing import observe


def test_an_observer_sees_the_answers_that_are_followed_and_changes_nothing() -> None:
    embed = TokenEmbed(9, 8)
    model = Generator(embed, Decoder(8, 1, 2, 16), NextToken(9, 8, embed.embed)).eval()
    ids = torch.tensor([[1, 4]])
    seen: list[tuple[int, ...]] = []
    with observe(lambda beams, running: seen.append((*beams.shape, *running.shape))):
        found = model.generate(ids, max_len=3, beam=2)
    assert [step[2] for step in seen] == list(range(1, len(seen) + 1))
    assert {step[:2] for step in seen} == {(1, 2)}
    assert torch.equal(model.generate(ids, max_len=3, beam=2).ids, found.ids)
    assert len(seen) <= 3
