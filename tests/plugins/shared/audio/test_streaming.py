"""Sounds answered while they come: as the whole, however they are cut; what is kept, how late, and what is refused."""

import gc
from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.ctc_streaming import Transcript
from zoo.core.scoring.bias import Bias
from zoo.core.streaming.stages import Stream

pytestmark = pytest.mark.usefixtures("float64")

SIZES = {"dim": 24, "depth": 2, "num_heads": 2, "mlp_dim": 32, "normalise": "running", "dropout": 0.0}
POSITIONS = ["rotary", "transformer-xl", "relative", "alibi", "shaw", "sinusoidal", "none"]


def speech(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("speech-tiny", **{**SIZES, "window": [80, 0], "task": "tag", "num_classes": 3, **options}).eval()


def speech_of_identities() -> Any:
    """Put a layer that cannot stream in the place of each attention."""
    model = speech()
    for block in model.encoder.blocks:
        block.attention = torch.nn.Identity()
    return model


def conformer(**options: Any) -> Any:
    torch.manual_seed(0)
    model = zoo.create("conformer-tiny", **{**SIZES, "window": [80, 0], "kernel_size": 6, **options}, task="features")
    with torch.no_grad():
        for name, buffer in model.named_buffers():  # running statistics that do something
            if name.endswith(("running_mean", "running_var")):
                buffer.add_(0.5 * torch.rand_like(buffer))
    return model.eval()


def sounds(b: int, t: int) -> Tensor:
    return 0.1 * torch.randn(b, t, generator=torch.Generator().manual_seed(1))


def cuts(t: int, kind: str) -> list[int]:
    """Give sizes of chunks that are t samples together."""
    if kind == "whole":
        return [t]
    if kind == "random":
        points = torch.randint(0, t, (12,), generator=torch.Generator().manual_seed(t)).sort().values
        return torch.diff(points, prepend=torch.tensor([0]), append=torch.tensor([t])).tolist()
    if kind == "ones":
        return [1_300, *[1] * 330, t - 1_630]  # a vector is complete at 1,520
    size = int(kind)
    return [size] * (t // size) + [t % size] * (t % size > 0)


def streamed(model: Any, x: Tensor, kind: str) -> Tensor:
    with model.stream(len(x)) as s:
        answers = [s.push(chunk) for chunk in x.split(cuts(x.shape[1], kind), dim=1)]
    return torch.cat([*answers, s.rest], dim=1)


def check(model: Any, x: Tensor, kind: str, near: float = 1e-10) -> None:
    with torch.no_grad():
        whole = model(x)
    assert whole.shape[1] > 5
    torch.testing.assert_close(streamed(model, x, kind), whole, atol=near * float(whole.abs().max()), rtol=0)


@pytest.mark.parametrize(
    "window", [[160, 40], *(pytest.param(window, marks=pytest.mark.slow) for window in ([80, 0], [80, 80]))]
)
@pytest.mark.parametrize("position", POSITIONS)
def test_chunks_of_speech_are_answered_as_the_whole(position: str, window: list[int]) -> None:
    check(speech(position=position, window=window), sounds(2, 7_013), "random")


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("convolution", ["causal", "same"])
@pytest.mark.parametrize("window", [[80, 0], [120, 80]])
def test_chunks_of_a_conformer_are_answered_as_the_whole(window: list[int], convolution: str, norm: str) -> None:
    check(conformer(window=window, convolution=convolution, norm=norm), sounds(2, 7_013), "random")


@pytest.mark.parametrize("kind", ["ones", "640", "1777", "whole"])
def test_chunks_of_any_size_are_answered_as_the_whole(kind: str) -> None:
    check(speech(window=[80, 40], position="transformer-xl"), sounds(1, 4_007), kind)
    check(conformer(window=[80, 40], convolution="same"), sounds(1, 4_007), kind)


@pytest.mark.parametrize("t", [400, 401, 559, 560, 1_039, 1_040, 1_841])
def test_the_end_of_a_sound_is_answered_wherever_it_lies(t: int) -> None:
    for model in (speech(window=[80, 80]), conformer(window=[80, 80], convolution="same")):
        with torch.no_grad():
            torch.testing.assert_close(streamed(model, sounds(1, t), "97"), model(sounds(1, t)))


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-4), (torch.bfloat16, 0.1)])
def test_weights_of_lower_precision_answer_as_the_whole_within_it(dtype: torch.dtype, near: float) -> None:
    x = sounds(2, 9_013).float()
    check(speech(window=[160, 40], position="transformer-xl").to(dtype), x, "random", near)
    check(conformer(convolution="same").to(dtype), x, "random", near)


@pytest.mark.parametrize("attention", ["chunk:3,1", "chunk:2", "window:2,1"])
def test_the_pattern_of_the_attention_streams_too(attention: str) -> None:
    check(speech(window="full", attention=attention), sounds(1, 9_013), "random")


def test_a_recogniser_spells_while_it_listens() -> None:
    model = speech(window=[80, 40], task="generate", by="ctc", vocab_size=8, num_classes=0)
    with torch.no_grad():
        model.head.weight.mul_(20)  # emits more than one token
    x, transcript = sounds(1, 9_013), Transcript(model.symbols)
    with model.stream() as s:
        parts = [transcript.push(s.push(chunk))[0] for chunk in x.split(1_000, dim=1)]
    parts += transcript.push(s.rest)
    written = model.generate(x)
    assert torch.cat(parts).tolist() == written.ids[0, 0, : written.lengths[0, 0]].tolist()
    assert written.lengths[0, 0] > 2


def test_by_joint_what_the_vectors_emit_comes_in_chunks() -> None:
    model = speech(window=[80, 40], task="generate", by="joint", vocab_size=8, num_classes=0)
    x = sounds(2, 7_013)
    with torch.no_grad():
        torch.testing.assert_close(streamed(model, x, "random"), model.emit(x)[0])


def test_features_as_they_are_stream_too() -> None:
    check(speech(normalise="none"), sounds(1, 9_013), "random")


def test_every_vector_is_given_when_its_latency_has_passed_and_not_later() -> None:
    for model, latency in (
        (speech(window=[80, 0]), 25),  # the frame
        (
            speech(window=[80, 40]),
            25 + 30 + 2 * 40,
        ),  # and 3 frames that the stem reads ahead, and a vector in each block
        (conformer(window=[80, 0], convolution="causal"), 25),
        (conformer(window=[80, 40], convolution="same"), 25 + 30 + 2 * (40 + 3 * 40)),
        (speech(window="full", attention="chunk:4"), 25 + 30 + 3 * 40),  # chunks end together in all blocks
    ):
        s, late = model.stream(), []
        given = s.push(sounds(1, 8_000)).shape[1]
        for n in range(8_160, 10_720, 160):  # a chunk of four vectors
            given += s.push(sounds(1, 160)).shape[1]
            late.append(n / 16 - 40 * given)  # ms behind the vector that is not given yet
        assert s.latency == latency
        assert latency - 10 <= max(late) <= latency


def test_time_is_taken() -> None:
    s = speech().stream()
    assert (s.real_time_factor, s.milliseconds, s.slowest) == (0, 0, 0)
    for _ in range(3):
        s.push(sounds(1, 1_600))
    assert s.pushes == 3
    assert s.real_time_factor == pytest.approx(s.seconds / 0.3)
    assert s.milliseconds == pytest.approx(1000 * s.seconds / 3)
    assert s.milliseconds <= s.slowest <= 1000 * s.seconds


def held(stage: Any) -> int:
    """Count the bytes of all tensors that a stage holds, and the entries of its lists, those of stages inside too."""
    size = 0
    for value in vars(stage).values():
        if isinstance(value, Tensor):
            size += value.nbytes
        elif isinstance(value, list):
            size += len(value) + sum(held(part) for part in value)
        elif isinstance(value, Stream):
            size += held(value)
        elif isinstance(value, Bias):
            size += sum(part.nbytes for part in value.tensors)
    return size


@pytest.mark.parametrize("make", [speech, conformer])
def test_what_is_kept_depends_neither_on_the_sound_nor_on_a_long_chunk(make: Any) -> None:
    s, stored, seen = make(window=[160, 40]).stream(), [], []
    for vectors in (100, 10, 890, 10):
        s.push(sounds(1, 640 * vectors))
        stored.append(s.stored)
        seen.append(held(s.stages))
    assert stored[0] > 0
    assert len(set(stored)) == 1
    assert seen[1] == seen[3]


@pytest.mark.parametrize("make", [speech, conformer])
def test_chunks_of_a_recorder_leave_nothing_behind(make: Any) -> None:
    s, chunk, kept = make(window=[160, 40]).stream(), sounds(1, 1_600), []
    for _ in range(60):
        s.push(chunk)
        kept.append((s.stored, held(s.stages)))
    assert kept[20:40] == kept[40:]


def alive() -> list[Tensor]:
    """Give the tensors of this process."""
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), Tensor)]


def new(others: list[Tensor]) -> tuple[int, int]:
    """Count the tensors that are not among those of other tests, and their bytes."""
    known = set(map(id, others))
    sizes = [each.untyped_storage().nbytes() for each in alive() if id(each) not in known]
    return len(sizes), sum(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("make", [speech, conformer])
def test_an_hour_leaves_no_tensor_behind(make: Any) -> None:
    others = alive()
    s, chunk, kept = make(window=[160, 40]).stream(), sounds(1, 16_000), []
    for second in range(1, 3_601):
        s.push(chunk)
        if second in (120, 3_600):
            kept.append(new(others))
    assert s.samples == 3_600 * 16_000
    assert kept[0] == kept[1]


def test_a_chunk_is_let_go_once_it_was_pushed() -> None:
    s = speech().stream()
    s.push(sounds(1, 16_000))
    assert s.nothing is not None
    assert not s.nothing.untyped_storage().nbytes()


def test_a_chunk_may_be_filled_anew_once_it_was_pushed() -> None:
    model, x, buffer = speech(), sounds(1, 4_000), torch.empty(1, 100)
    s, answers = model.stream(), []
    for chunk in x.split(100, dim=1):
        answers.append(s.push(buffer.copy_(chunk)))
    torch.testing.assert_close(torch.cat([*answers, s.finish()], dim=1), model(x).detach())


def test_samples_of_numpy_are_answered_alike() -> None:
    model, x = speech(), sounds(1, 4_000)
    assert torch.equal(model.stream().push(x[0].numpy()), model.stream().push(x))


def test_leaving_before_anything_came_ends_without_an_answer() -> None:
    with speech().stream() as s:
        pass
    assert s.rest is None


def test_one_sound_needs_no_batch_axis() -> None:
    model, x = speech(), sounds(1, 4_000)
    s = model.stream()
    torch.testing.assert_close(s.push(x[0]), model.stream().push(x))
    with pytest.raises(InputError, match=r"chunk of shape \(640,\): this stream reads samples \(2, time\)"):
        model.stream(2).push(x[0, :640])


def test_a_model_in_training_answers_as_in_evaluation_and_goes_on_training() -> None:
    model, x = conformer(dropout=0.5).train(), sounds(1, 4_000)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    y = streamed(model, x, "640")
    assert all(part.training for part in model.modules())
    assert not y.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    torch.testing.assert_close(y, model.eval()(x).detach())


def test_leaving_with_an_error_does_not_finish() -> None:
    with pytest.raises(RuntimeError, match="stop"), speech().stream() as s:  # noqa: PT012
        s.push(sounds(1, 100))
        raise RuntimeError("stop")
    assert s.rest is None


def test_a_stream_that_has_ended_takes_nothing_more() -> None:
    with speech().stream() as s:
        s.push(sounds(1, 1_000))
        assert torch.equal(s.finish(), s.rest)
    with pytest.raises(InputError, match="push after the stream of 1000 samples has ended"):
        s.push(sounds(1, 10))
    with pytest.raises(InputError, match="finish after the stream of 1000 samples has ended"):
        s.finish()


@pytest.mark.parametrize("t", [0, 399])
def test_a_sound_shorter_than_a_frame_is_refused_as_the_whole_is(t: int) -> None:
    model = speech()
    with pytest.raises(InputError) as whole:
        model(sounds(1, t))
    s = model.stream()
    assert s.push(sounds(1, t)).shape == (1, 0, 3)
    with pytest.raises(InputError) as error:
        s.finish()
    assert str(error.value) == str(whole.value)


def test_bad_chunks_are_refused_by_place_and_the_stream_goes_on() -> None:
    model, x = speech(), sounds(2, 3_000)
    s = model.stream(2)
    answers = [s.push(x[:, :1_000])]
    bad = x[:, 1_000:].clone()
    bad[1, 7] = torch.nan
    for chunk, text in (
        (bad, "nan at place 1007 of sound 1"),
        (x[:1], r"shape \(1, 3000\): this stream reads samples \(2, time\)"),
        (x[..., None], r"shape \(2, 3000, 1\)"),
        (x.to("meta"), r"a chunk is on meta, and the model on cpu: push chunk.to\('cpu'\)"),
        (x.float(), "torch.float32, and those before were torch.float64"),
        ((x * 32_767).short(), "torch.int16: samples lie in -1 … 1"),
    ):
        with pytest.raises(InputError, match=text):
            s.push(chunk)
    answers += [s.push(x[:, 1_000:]), s.finish()]
    torch.testing.assert_close(torch.cat(answers, dim=1), model(x).detach())


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (lambda: speech(window="full"), r"without bound.*window=\[640, 0\]"),
        (lambda: speech(normalise="utterance"), "normalise='utterance'.*normalise='running'"),
        (lambda: speech(task="classify"), "task='classify'.*task='tag'"),
        (
            lambda: speech(task="generate", by="attention", num_classes=0),
            "by='attention': its decoder writes when the sound has ended; models made with by='ctc' or by='joint'",
        ),
        (lambda: conformer(norm="group"), "FrameGroupNorm.*norm='batch' or norm='layer'"),
        (speech_of_identities, "Identity reads its input whole"),
    ],
)
def test_a_model_that_has_to_see_the_whole_is_refused(model: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model().stream()


def test_a_stream_has_at_least_one_sound() -> None:
    with pytest.raises(ConfigError, match="batch=0"):
        speech().stream(0)
