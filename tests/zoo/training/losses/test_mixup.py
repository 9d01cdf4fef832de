from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Beta
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss, one_hot

import zoo
from zoo.core.losses.loss import cross_entropy
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training import Callback, Request
from zoo.training.config import Settings
from zoo.training.losses.mixup import Mixup, mixed, partners
from zoo.training.losses.objectives import TeacherForcing, objective_for

OPTIONS: dict[str, Any] = {"steps": 4, "batch_size": 8, "validations": 2, "precision": "32-true", "accelerator": "cpu"}
UNREAD = torch.tensor([0, 2, -100, 1, -100])


def settings(**given: Any) -> Any:
    return Settings(**{"steps": 1, "label_smoothing": 0.0, "mixup": 2.0} | given)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bert-micro", {"num_classes": 3}),
        ("gru-micro", {"num_classes": 3}),
        ("bert-micro", {"num_classes": 3, "task": "tag"}),
        ("decoder-tiny", {"depth": 1}),
        ("conformer-micro", {"num_classes": 3}),
        ("speech-micro", {"num_classes": 3}),
        ("graph-tiny", {"num_classes": 2, "target": "numbers", "units": [[1.0, 2.0], [3.0, 0.5]]}),
        ("graph-tiny", {"num_classes": 3, "task": "tag"}),
        ("vit-micro", {"num_classes": 3}),
    ],
)
def test_mixing_what_is_answered_is_mixing_what_the_last_layer_reads(name: str, options: dict[str, Any]) -> None:
    model: Any = zoo.create(name, **options).double().eval()
    inputs = zoo.example(name, batch_size=4)
    inputs = tuple(x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in inputs)
    plain = model(*inputs)
    if options.get("target") == "numbers":
        target: Tensor = torch.randn_like(plain)
    else:
        target = torch.randint(plain.shape[-1], plain.shape[:-1]).masked_fill((plain == 0).all(-1), -100)  # of padding
    torch.manual_seed(1)
    answer, _ = mixed(plain, target, 0.3)
    torch.manual_seed(1)
    known = ~target.isnan().any(-1) if target.is_floating_point() else target != -100
    order = partners(known.flatten())

    def mix(layer: nn.Module, given: tuple[Any, ...]) -> Any:
        read = given[0] if isinstance(given[0], Tensor) else given[0].x
        rows = read.reshape(-1, read.shape[-1])
        both = (0.3 * rows + 0.7 * rows[order]).view_as(read)
        return (both if isinstance(given[0], Tensor) else given[0].with_x(both),)

    head = model.get_classifier() if name != "graph-tiny" or "units" not in options else model.head.head.linear
    with_hook = head.register_forward_pre_hook(mix)
    expected = model(*inputs)
    with_hook.remove()
    assert not torch.allclose(expected, plain)
    torch.testing.assert_close(answer[known], expected[known])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_loss_is_that_of_shares_of_classes(share: float, quadrants: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Beta, "sample", lambda self: torch.tensor(share))
    scores = torch.randn(5, 3, dtype=torch.float64)
    found = Mixup(TeacherForcing(quadrants, 0.1), nn.Identity(), 1.0)(lambda x: x, Batch((scores,), UNREAD), 0)
    torch.manual_seed(0)  # as the seed is when a test begins, but for the scores
    torch.randn(5, 3, dtype=torch.float64)
    order = partners(UNREAD >= 0)
    wanted = one_hot(UNREAD.clamp(min=0), 3) * (UNREAD >= 0)[:, None]
    both = share * scores + (1 - share) * scores[order], share * wanted + (1 - share) * wanted[order]
    torch.testing.assert_close(found, cross_entropy(*both, 0.1))


def test_places_with_a_target_are_mixed_with_such_places_alone() -> None:
    known = torch.tensor([True, False, True, True, False, False, True])
    seen = {tuple(partners(known).tolist()) for _ in range(200)}
    for order in seen:
        assert sorted(order) == list(range(7))
        assert torch.equal(known[list(order)], known)
    assert len(seen) > 60  # of 24 * 6
    _, other = mixed(torch.randn(5, 3), UNREAD, 0.5)
    assert torch.equal(other == -100, UNREAD == -100)
    assert sorted(other.tolist()) == sorted(UNREAD.tolist())


@pytest.mark.parametrize("loss", [binary_cross_entropy_with_logits, mse_loss])
def test_labels_and_numbers_that_nobody_knows_are_not_mixed(loss: Any) -> None:
    nan = float("nan")
    target = torch.tensor([[1.0, nan], [0.0, 1.0], [nan, nan], [1.0, 0.0]])
    plain = torch.randn(4, 2)
    answer, other = mixed(plain, target, 0.25)
    changed = answer != plain
    assert not changed[2].any()
    assert not changed[0, 1]
    assert torch.equal(other.isnan(), target.isnan())
    known = ~target.isnan()
    assert loss(answer[known], other[known]).isfinite()
    whole, partner = mixed(plain, target.nan_to_num(0), 0.25)
    torch.testing.assert_close(whole.mean(0), plain.mean(0))  # each is in two mixtures, with shares that sum to 1
    assert sorted(partner.flatten().tolist()) == sorted(target.nan_to_num(0).flatten().tolist())


@pytest.mark.parametrize("by", ["ctc", "joint"])
def test_sounds_are_mixed_where_the_loss_is_that_of_the_model(
    quadrants: Any, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(Beta, "sample", lambda self: torch.tensor(0.25))
    model: Any = zoo.create("conformer-micro", task="generate", by=by, vocab_size=9, dropout=0.0).eval()
    sounds, lengths = torch.randn(2, 9_000), torch.tensor([9_000, 5_000])
    sounds[1, 5_000:] = 0
    target = torch.tensor([[3, 4, 2], [8, 2, -100]])
    objective = Mixup(TeacherForcing(quadrants), model, 1.0)
    torch.manual_seed(1)
    order = torch.randperm(2)
    assert order.tolist() == [1, 0]
    torch.manual_seed(1)
    ids = torch.tensor([[1, 3, 4], [1, 8, 0]])
    found = objective(model, Batch((sounds, lengths, ids), target), 0)
    both = 0.25 * sounds + 0.75 * sounds.flip(0), torch.tensor([9_000, 9_000])
    own = model.training_loss((*both, ids), target)
    other = model.training_loss((*both, ids.flip(0)), target.flip(0))
    torch.testing.assert_close(found, 0.25 * own + 0.75 * other)
    found.backward()
    assert all(each.grad is not None for each in model.encoder.parameters())


def test_class_weights_and_a_loss_of_the_user_are_asked_for_both_targets(quadrants: Any) -> None:
    model = nn.Linear(3, 4)
    model.num_classes = 4  # type: ignore[assignment]
    batch = Batch((torch.randn(6, 3),), torch.tensor([0, 1, 2, 3, 0, 1]))

    def value(loss: Any = None, **given: Any) -> float:
        torch.manual_seed(0)
        return float(objective_for(quadrants, model, settings(**given), loss)(model, batch, 0).detach())

    plain = value()
    assert value(class_weights="balanced") == pytest.approx(plain)  # as many examples of each class
    assert value(lambda answer, target: 2 * cross_entropy(answer, target)) == pytest.approx(2 * plain)
    assert value(mixup=None) != pytest.approx(plain)


def test_it_goes_on_bit_for_bit(quadrants: Any, tiny: dict[str, Any], tmp_path: Path) -> None:
    class Stops(Callback):
        def on_step(self, step: int, loss: Tensor) -> None:
            self.steps = step

        def request(self) -> Request:
            return Request(stop=self.steps == 2)

        steps = 0

    given: dict[str, Any] = OPTIONS | tiny | {"mixup": 0.5}
    whole = zoo.train("vit-micro", quadrants, **given)
    zoo.train("vit-micro", quadrants, out=tmp_path, callbacks=[Stops()], overwrite=True, **given)
    again = zoo.train("vit-micro", quadrants, out=tmp_path, resume=True, **given)
    a, b = whole.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.slow
def test_examples_of_each_modality_are_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data

    drawn = np.random.default_rng(0)
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    rows = 24
    classes = ["even" if row % 2 else "odd" for row in range(rows)]
    data: dict[str, list[Any]] = {
        "bert-micro": [f"the {['dull', 'fine'][row % 2]} tea of day {row}" for row in range(rows)],
        "speech-micro": [(drawn.normal(size=4_000).astype("float32"), 16_000) for _ in range(rows)],
        "graph-tiny": [Data(torch.randn(3, 4), edges) for _ in range(rows)],
        "vit-micro": [drawn.integers(255, size=(8, 8, 3)).astype("uint8") for _ in range(rows)],
    }
    numbers = [float(number) for number in drawn.normal(size=rows)]
    cases: list[tuple[str, list[Any], list[Any]]] = [(name, given, classes) for name, given in data.items()]
    cases += [("transformer-tiny", data["bert-micro"], classes), ("graph-tiny", data["graph-tiny"], numbers)]
    size = {"dim": 8, "depth": 1, "num_heads": 2, "mlp_dim": 8, "dropout": 0.0}
    for name, given, targets in cases:
        pairs = list(zip(given, targets, strict=True))
        options = OPTIONS | size | {"steps": 1, "validations": 1, "optimizer": "sgd", "learning_rate": 0.1}
        found = []
        for mixup, share in ((None, 1.0), (0.9, 1.0), (0.9, 0.5)):
            with monkeypatch.context() as patch:
                patch.setattr(Beta, "sample", lambda self, *shape, share=share: torch.tensor(share))
                found.append(zoo.train(name, pairs, mixup=mixup, **options).model.state_dict())
        plain, alone, both = found
        for key, value in plain.items():
            torch.testing.assert_close(alone[key], value, rtol=1e-4, atol=1e-5)
        assert not all(torch.equal(plain[key], both[key]) for key in plain), (name, targets[0])


def test_what_cannot_be_mixed_is_refused(quadrants: Any, tiny: dict[str, Any]) -> None:
    size = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    writers = [zoo.create("speech-synthesis-tiny", **size)]  # type: ignore[arg-type]
    for name in ("speech-synthesis-tiny", "nat-base"):
        writers.append(zoo.join("speech-micro", name, encoder_config=size, decoder_config=size))
    for writer in writers:
        told = f"mixup=2.0 of {type(writer).__name__}, which computes its loss itself: only sounds that are transcribed"
        with pytest.raises(ConfigError, match=told):
            objective_for(quadrants, writer, settings())
    joint: Any = zoo.create("conformer-micro", task="generate", by="joint", vocab_size=9)
    with pytest.raises(ConfigError, match="with a loss on where its decoder looks"):
        objective_for(quadrants, joint, settings(guided_attention=1.0))
    for answer, target in ((torch.randn(3), torch.tensor([0, 1, 2])), (torch.randn(3, 1), torch.randn(3))):
        with pytest.raises(ConfigError, match=r"mixup of an answer of shape \(3"):
            mixed(answer, target, 0.5)
    hard = zoo.create("vit-micro", attention="hard", **tiny)
    with pytest.raises(ConfigError, match=r"mixup=2.0 of VisionTransformer with hard attention"):
        objective_for(quadrants, hard, settings(reinforce=1.0))
