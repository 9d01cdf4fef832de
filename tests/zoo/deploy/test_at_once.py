from typing import Any

import torch

import zoo
from zoo.deploy.at_once import AtOnce, Places


@torch.no_grad()
def test_the_places_of_an_answer_have_the_scores_of_the_whole() -> None:
    model: Any = zoo.create("nat-base", depth=1, dim=32, num_heads=2, mlp_dim=32, vocab_size=60).eval()
    source, lengths, target = zoo.example("nat-base", 2)
    source, target = source % 60, target % 56 + 4
    places, *kept = Places(model)(source, lengths)
    slots = torch.ones(target.shape, dtype=torch.bool)
    torch.testing.assert_close(AtOnce(model)(slots, *kept), model(source, lengths, target), rtol=1e-4, atol=1e-5)
    written = model.generate(source, lengths)
    most = torch.arange(int(places.max())) < places[:, None]
    best = AtOnce(model)(most, *kept).argmax(-1)
    for row, (found, count) in enumerate(zip(written.ids[:, 0], written.lengths[:, 0], strict=True)):
        assert torch.equal(found[:count], best[row, :count])


@torch.no_grad()
def test_no_more_places_are_written_than_the_model_can() -> None:
    model: Any = zoo.create("nat-base", depth=1, dim=32, num_heads=2, mlp_dim=32, vocab_size=60).eval()
    source, lengths, _ = zoo.example("nat-base", 2)
    without = Places(model)(source % 60, lengths)[0]
    model.max_len = 3
    assert torch.equal(Places(model)(source % 60, lengths)[0], without.clamp(max=3))
    assert without.max() > 3
