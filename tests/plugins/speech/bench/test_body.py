"""The suite `speech`, and its cases of the encoder."""

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.bench.speed.suite import find_cases
from zoo.plugins.conformer.convert import to_zoo
from zoo.plugins.speech.bench import body


def test_the_cases_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = find_cases("zoo.plugins.speech.bench")
    assert len({case.name for case in found}) == len(found) >= 16
    assert all(0 < case.target <= 2.15 for case in found)


@pytest.mark.usefixtures("small", "float64")
def test_without_positions_both_bodies_compute_the_same_function() -> None:
    ours, theirs = (model.eval() for model in body.pair())
    weights = {key.removeprefix("encoder."): value for key, value in theirs.state_dict().items()}
    ours.load_state_dict({f"encoder.{key}": value for key, value in to_zoo(weights, ours).items()})
    x = torch.randn(2, 9, 8)
    torch.testing.assert_close(ours(x, None), theirs(x, None))


@pytest.mark.usefixtures("small")
def test_a_step_trains_both_on_the_frames_that_are_there() -> None:
    lengths = torch.tensor([6, 3])
    for model in body.pair("transformer-xl"):
        before = [p.detach().clone() for p in model.parameters()]
        x = torch.randn(2, 6, 8)
        seen: list[Tensor] = []

        def watch(_: nn.Module, args: object, y: Tensor, seen: list[Tensor] = seen) -> None:
            y.register_hook(seen.append)

        model.register_forward_hook(watch)
        body.train(model.train(), torch.optim.AdamW(model.parameters(), 0.1), x, lengths)
        assert not any(p.equal(old) for p, old in zip(model.parameters(), before, strict=True))
        assert x.grad is None
        (wanted,) = seen
        assert wanted.abs().sum(2).bool().tolist() == (torch.arange(6) < lengths[:, None]).tolist()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_the_jobs_of_the_body_run(step: bool, unequal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FRAMES", 8), ("LENGTHS", (8, 6, 4, 2))):
        monkeypatch.setattr(body, name, value)
    monkeypatch.setattr("zoo.info", lambda name: zoo.ModelSpec(name=name, entry="", modality="", example="",
                                                               config={"dim": 8}))  # fmt: skip
    for job in body.jobs(step, unequal):
        job()
