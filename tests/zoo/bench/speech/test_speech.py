"""`zoo bench speed --suite speech`: its works are listed without being built, and both sides do the same."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.bench.speech import body, duration, features, realtime, relative
from zoo.bench.speed.suite import works
from zoo.plugins.conformer.convert import to_zoo
from zoo.plugins.shared.audio.streaming import SoundStream


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the works make models of two narrow blocks."""
    create: Callable[..., Any] = zoo.create

    def smaller(name: str, **options: Any) -> nn.Module:
        made: nn.Module = create(name, dim=8, depth=2, num_heads=2, mlp_dim=16, bands=20, **options)
        return made

    monkeypatch.setattr("zoo.create", smaller)


def test_the_works_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = works("speech")
    assert len({work.name for work in found}) == len(found) >= 16
    assert all(0 < work.target <= 2.15 for work in found)


@pytest.mark.usefixtures("small")
def test_without_positions_both_bodies_compute_the_same_function() -> None:
    ours, theirs = (model.eval() for model in body.pair())
    weights = {key.removeprefix("encoder."): value for key, value in theirs.state_dict().items()}
    ours.load_state_dict({f"encoder.{key}": value for key, value in to_zoo(weights, ours).items()})
    x = torch.randn(2, 9, 8)
    torch.testing.assert_close(ours(x, None), theirs(x, None), atol=1e-5, rtol=0)


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


@pytest.mark.usefixtures("small")
def test_the_window_and_full_attention_have_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "MINUTES", 0.1)
    ours, full = (job.args[0] for job in duration.beside_full("transformer-xl"))  # type: ignore[attr-defined]
    assert (ours.stem.pattern, full.stem.pattern) == (zoo.core.Window(16, 16), None)
    assert all(a.equal(b) for a, b in zip(ours.parameters(), full.parameters(), strict=True))
    short = duration.sound(0.01)
    torch.testing.assert_close(ours(short), full(short))


@pytest.mark.usefixtures("small")
def test_the_sound_is_twice_as_long_as_its_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "MINUTES", 0.02)
    whole, half = duration.doubled()
    assert whole.args[1].shape[1] == 2 * half.args[1].shape[1] == 19_200  # type: ignore[attr-defined]
    for job in (whole, half):
        job()


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_both_relative_attentions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative, "FRAMES", 7)
    for job in relative.jobs():
        job()


def test_both_features_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SECONDS", 1), ("CLIPS", 3), ("BATCH", 2)):
        monkeypatch.setattr(features, name, value)
    ours, theirs = (job() for job in features.jobs())
    assert isinstance(ours, list)
    assert isinstance(theirs, list)
    assert [len(batch) for batch in ours] == [2, 1]
    torch.testing.assert_close(torch.cat(ours), torch.stack(theirs), atol=3e-4, rtol=0)


@pytest.mark.usefixtures("small")
def test_a_stream_is_timed_over_the_whole_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "SECONDS", 1)
    heard: list[int] = []
    push = SoundStream.push

    def watched(stream: SoundStream, chunk: Tensor) -> Tensor:
        heard.append(len(chunk))
        return push(stream, chunk)

    monkeypatch.setattr(SoundStream, "push", watched)
    job, seconds = realtime.job(torch.bfloat16, 160)
    job()
    assert seconds == 1.0
    assert heard == [2560] * 6 + [640]
