from typing import Any

import pytest
import torch

from zoo.core import ConfigError, HardAlignment, cross_attention_maps, record_alignments
from zoo.plugins.caption.models.recurrent import RecurrentCaptioner

IMAGES, IDS = torch.randn(2, 3, 8, 12), torch.randint(4, 9, (2, 5))


def made(**changes: Any) -> RecurrentCaptioner:
    torch.manual_seed(0)
    return RecurrentCaptioner(vocab_size=9, image_size=(8, 12), dim=16, **changes)


@pytest.mark.parametrize("stem", ["cnn", "patches"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_soft_weights_of_each_step_are_over_the_places_of_the_map(stem: str, cell: str) -> None:
    model = made(stem=stem, cell=cell).eval()
    (weights,) = cross_attention_maps(model, IMAGES, IDS)
    assert weights.shape == (2, 1, 5, 6)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 1, 5))
    assert model(IMAGES, IDS).shape == (2, 5, 9)


def test_hard_attention_reads_one_place_and_in_training_a_drawn_one() -> None:
    model = made(choice="hard")
    assert isinstance(model.decoder.alignment, HardAlignment)
    (weights,) = cross_attention_maps(model.eval(), IMAGES, IDS)
    assert ((weights == 0) | (weights == 1)).all()
    with record_alignments(model.train(), torch.zeros(2, dtype=torch.bool)) as seen:
        model(IMAGES, IDS)
    assert torch.cat(seen.log_probabilities, 1).shape == (2, 5)


def test_writing_step_by_step_gives_what_the_whole_caption_gives() -> None:
    model = made().double().eval()
    images = IMAGES.double()
    ids = torch.cat([torch.ones(2, 1, dtype=torch.long), IDS], dim=1)
    context = model.encode(images)
    state = model.decoder.state(2)
    with torch.no_grad():
        steps = [model.follow(ids[:, at : at + 1], state, context if at == 0 else None) for at in range(ids.shape[1])]
        assert torch.allclose(torch.stack(steps, 1), model(images, ids), atol=1e-9)


def test_the_gate_can_be_left_out_and_another_choice_is_refused() -> None:
    assert made(gate=False).decoder.gate is None
    with pytest.raises(ConfigError, match="choice='sof' is not one of soft, hard"):
        made(choice="sof")
