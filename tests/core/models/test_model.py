"""The composition of stem, encoder and head."""

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Classify, ConfigError, Encoder, Model, Tokens
from zoo.core.losses.loss import cross_entropy, squared_error
from zoo.core.models.model import has_own_loss, resolve_indices

pytestmark = pytest.mark.usefixtures("float64")


class Points(nn.Module):
    """A stem for sets of points."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(2, 8)

    def forward(self, points: Tensor) -> Tokens:
        return Tokens(self.project(points))


def model() -> Model:
    return Model(Points(), Encoder(8, 3, 2, 16), Classify(8, 4, "mean")).eval()


def test_forward_is_head_of_encoder_of_stem() -> None:
    m, x = model(), torch.randn(2, 5, 2)
    torch.testing.assert_close(m(x), m.head(m.encoder(m.stem(x))))
    assert m(x).shape == (2, 4)
    assert m.forward_features(x).shape == (2, 5, 8)
    assert (m.num_features, m.num_classes) == (8, 4)


def test_a_set_without_positions_has_no_order() -> None:
    m, x = model(), torch.randn(2, 5, 2)
    torch.testing.assert_close(m(x), m(x.flip(1)))


def test_intermediates_end_in_the_features() -> None:
    m, x = model(), torch.randn(2, 5, 2)
    features, states = m.forward_intermediates(x)
    assert len(states) == 3
    torch.testing.assert_close(features, m.forward_features(x))
    torch.testing.assert_close(states[-1], features)
    torch.testing.assert_close(m.forward_intermediates(x, indices=[-3])[1][0], states[0])


def test_attention_maps_of_each_layer_sum_to_one() -> None:
    maps = model().attention_maps(torch.randn(2, 5, 2))
    assert [m.shape for m in maps] == [(2, 2, 5, 5)] * 3
    torch.testing.assert_close(torch.stack(maps).sum(-1), torch.ones(3, 2, 2, 5))


def test_reset_classifier_gives_another_number_of_labels() -> None:
    m, x = model(), torch.randn(2, 5, 2)
    m.reset_classifier(0)
    torch.testing.assert_close(m(x), m.forward_features(x).mean(1))
    m.reset_classifier(7)
    assert m(x).shape == (2, 7)
    assert m.num_classes == 7


def test_the_loss_is_the_criterion_of_the_answer_where_a_model_has_none_of_its_own() -> None:
    m, x, target = model(), torch.randn(2, 5, 2), torch.tensor([3, 1])
    torch.testing.assert_close(m.training_loss((x,), target, 0.1), cross_entropy(m(x), target, 0.1))
    m.criterion, numbers = squared_error, torch.randn(2, 4)
    torch.testing.assert_close(m.training_loss((x,), numbers), squared_error(m(x), numbers))


def test_a_loss_of_its_own_is_known_also_of_modules_that_are_no_composition() -> None:
    class Own(Model):
        def training_loss(self, inputs: tuple[Tensor, ...], target: Tensor, smoothing: float = 0.0) -> Tensor:
            return self(*inputs).sum()

    class Foreign(nn.Module):
        def training_loss(self) -> None: ...

    assert not has_own_loss(model())
    assert not has_own_loss(nn.Linear(1, 1))
    assert has_own_loss(Own(Points(), Encoder(8, 1, 2, 16), Classify(8, 4, "mean")))
    assert has_own_loss(Foreign())


def test_take_reads_none_numbers_and_lists() -> None:
    assert resolve_indices(None, 3) == [0, 1, 2]
    assert resolve_indices(2, 3) == [1, 2]
    assert resolve_indices([0, -1], 3) == [0, 2]
    with pytest.raises(ConfigError, match=r"indices=\[3\] of a model with 3 blocks"):
        resolve_indices([3], 3)
    with pytest.raises(ConfigError, match="of a model with 3 blocks"):
        resolve_indices(4, 3)


def test_pooled_features_are_what_the_classifier_reads_or_the_mean() -> None:
    m, x = model(), torch.randn(2, 5, 2)
    torch.testing.assert_close(m.head.scores(m.pooled_features(x)), m(x))
    m.head = nn.Identity()
    torch.testing.assert_close(m.pooled_features(x), m.forward_features(x).mean(1))
