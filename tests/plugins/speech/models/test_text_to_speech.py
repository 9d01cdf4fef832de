"""Text to speech: steps agree with the whole, the end ends, padding does not matter, and a voice is learned."""

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core import ConfigError, InputError
from zoo.core.losses.alignment import guided_attention
from zoo.core.losses.loss import IGNORED
from zoo.data.corpus import Batch
from zoo.plugins.speech.models.text_to_speech import DEVIATION, MEAN, Synthesiser, steps_of
from zoo.training.loop import Objective
from zoo.training.losses.attention_losses import GuidedAttention

pytestmark = pytest.mark.usefixtures("float64")

IDS = torch.tensor([[4, 5, 6, 7, 2], [6, 5, 2, 0, 0]])
LENGTHS = torch.tensor([5, 3])
TEXTS = [
    text[: 2 + at % 5]
    for at, text in enumerate(torch.randint(3, 8, (200, 6), generator=torch.Generator().manual_seed(0)).tolist())
]


def tiny(**options: int) -> Synthesiser:
    torch.manual_seed(0)
    small = {"vocab_size": 8, "dim": 32, "depth": 2, "num_heads": 2, "mlp_dim": 64, "bands": 6, "reduction": 2}
    return Synthesiser(**small, dropout=0.0, before_dropout=0.0, **options)


def with_end(model: Synthesiser, score: float) -> Synthesiser:
    """Let every step give this score that it is the last."""
    with torch.no_grad():
        model.head.linear.weight[-1] = 0
        model.head.linear.bias[-1] = score
    return model


def test_what_is_written_step_by_step_is_what_the_whole_gives() -> None:
    model = with_end(tiny(), -1.0)
    spoken = model.generate(IDS, LENGTHS, max_steps=5)
    assert spoken.frames.shape == (2, 10, 6)
    steps = ((spoken.frames - MEAN) / DEVIATION).unflatten(1, (5, 2))
    whole = model.eval()(IDS, LENGTHS, steps)[..., :-1].unflatten(2, (2, 6))
    torch.testing.assert_close(whole, steps)


def test_a_model_that_reads_what_it_spoke_speaks_it_again() -> None:
    model = with_end(tiny(), -1.0)
    *text, steps = model.with_answer(IDS, LENGTHS, max_len=5)
    spoken = model.generate(IDS, LENGTHS, max_steps=5).frames
    torch.testing.assert_close(steps.flatten(1, 2) * DEVIATION + MEAN, spoken)
    torch.testing.assert_close(model.eval()(*text, steps)[..., :-1], steps.flatten(2))
    assert model.target.spacing == (0.02, "s")


def test_each_text_ends_on_its_own() -> None:
    model = tiny()
    together = model.generate(IDS, LENGTHS, max_steps=4)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model.generate(IDS[row : row + 1, :length], max_steps=4)
        torch.testing.assert_close(alone.lengths[0], together.lengths[row])
        n = int(alone.lengths)
        torch.testing.assert_close(alone.frames[0, :n], together.frames[row, :n])
    assert with_end(model, 1.0).generate(IDS, LENGTHS).lengths.tolist() == [2, 2]
    assert with_end(model, -1.0).generate(IDS, LENGTHS, max_steps=3).lengths.tolist() == [6, 6]


def test_a_step_reads_no_frame_of_its_own_and_later_ones() -> None:
    model, frames = tiny().eval(), torch.randn(2, 5, 2, 6)
    other = frames.clone()
    other[:, 2:] += 1
    y, changed = model(IDS, LENGTHS, frames), model(IDS, LENGTHS, other)
    torch.testing.assert_close(changed[:, :3], y[:, :3])
    assert (changed[:, 3:] - y[:, 3:]).abs().amax() > 1e-3


def test_the_loss_is_distance_plus_the_end_over_the_steps_that_are_asked() -> None:
    model, frames = tiny().eval(), torch.randn(2, 3, 2, 6)
    target = torch.tensor([[0, 0, 1], [0, 1, IGNORED]])
    y = model(IDS, LENGTHS, frames).detach()
    total = 0.0
    for row, step in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        probability = y[row, step, -1].sigmoid()
        ends = -5 * probability.log() if target[row, step] else -(1 - probability).log()
        total += float((y[row, step, :-1] - frames[row, step].flatten()).abs().mean() + ends)
    loss = model.training_loss((IDS, LENGTHS, frames), target).item()
    assert loss == pytest.approx(total / 5, rel=1e-5)


def test_what_lies_behind_a_text_reaches_neither_loss_nor_gradient() -> None:
    model, frames = tiny(), torch.randn(2, 3, 2, 6)
    target = torch.tensor([[0, 0, 1], [1, IGNORED, IGNORED]])
    usual = model.training_loss((IDS, LENGTHS, frames), target)
    frames[1, 1:] = torch.nan
    loss = model.training_loss((IDS, LENGTHS, frames), target)
    torch.testing.assert_close(loss, usual)
    loss.backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in model.parameters())


def test_frames_are_brought_to_steps_around_0() -> None:
    frames = torch.full((5, 6), MEAN)
    frames[4] += DEVIATION
    steps = steps_of(frames, 2)
    assert steps.shape == (3, 2, 6)
    torch.testing.assert_close(steps[:2], torch.zeros(2, 2, 6))
    torch.testing.assert_close(steps[2], torch.ones(2, 6))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"the last of shape \(2, 3, 6\): .*\(batch, steps, 2, 6\)"):
        tiny()(IDS, LENGTHS, torch.zeros(2, 3, 6))
    with pytest.raises(ConfigError, match=r"max_steps=9: a number from 1 to 7"):
        tiny(max_steps=7).generate(IDS, max_steps=9)
    with pytest.raises(ConfigError, match="num_classes=3 of a model that writes 12 numbers a step"):
        tiny().reset_classifier(3)


def test_a_text_becomes_samples() -> None:
    torch.manual_seed(0)
    model = zoo.create("speech-synthesis-tiny", depth=1, dim=16, num_heads=2, mlp_dim=32).eval()
    spoken = model.generate(*zoo.preprocess("speech-synthesis-tiny")(["seven", "one"]), max_steps=6)
    sounds = zoo.postprocess("speech-synthesis-tiny")(spoken)
    assert [len(sound) for sound in sounds] == [(n - 1) * 160 for n in spoken.lengths.tolist()]
    assert all(float(sound.abs().max()) <= 1 for sound in sounds)


def tones(texts: list[list[int]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give texts, and frames in which each character sounds for two steps in a band of its own."""
    steps = torch.full((len(texts), max(map(len, texts)) * 2, 2, 6), -1.0)
    target = torch.full(steps.shape[:2], IGNORED)
    ids, lengths = torch.zeros(len(texts), max(map(len, texts)) + 1, dtype=torch.long), []
    for row, text in enumerate(texts):
        ids[row, : len(text) + 1] = torch.tensor([*text, 2])
        lengths.append(len(text) + 1)
        target[row, : 2 * len(text)] = 0
        target[row, 2 * len(text) - 1] = 1
        for place, character in enumerate(text):
            steps[row, 2 * place : 2 * place + 2, :, character - 3] = 1.0
    return ids, torch.tensor(lengths), steps, target


def trained(steps: int, guidance: float) -> Synthesiser:
    model = tiny()
    objective: Objective = lambda forward, batch, step: forward.training_loss(*batch)  # noqa: E731
    if guidance:
        objective = GuidedAttention(objective, model, guidance)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50) * (1 - step / steps)
        ids, lengths, frames, target = tones([TEXTS[(step * 16 + at) % 180] for at in range(16)])
        objective(model, Batch((ids, lengths, frames), target), step).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


@pytest.mark.slow
def test_one_voice_is_learned() -> None:
    model = trained(600, 5.0)
    ids, lengths, frames, target = tones(TEXTS[180:])
    spoken = model.generate(ids, lengths)
    assert spoken.lengths.tolist() == (2 * (target != IGNORED).sum(1)).tolist()
    steps = ((spoken.frames - MEAN) / DEVIATION).unflatten(1, (-1, 2))
    valid = (target != IGNORED)[..., None, None].expand_as(frames)
    assert float(((steps - frames)[valid]).abs().mean()) < 0.15


@pytest.mark.slow
def test_guidance_brings_attention_to_the_diagonal() -> None:
    ids, lengths, frames, target = tones(TEXTS[180:])
    far = []
    for guidance in (0.0, 5.0):
        model = trained(120, guidance)
        maps = model.attention_maps(ids, lengths, frames)
        crossing = [each for each in maps if each.shape[2:] == (frames.shape[1], ids.shape[1])]
        far.append(sum(float(guided_attention(each, (target != IGNORED).sum(1), lengths)) for each in crossing))
    assert far[1] < 0.75 * far[0]
