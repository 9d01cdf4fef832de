"""`zoo transcribe --stream`: as the file is transcribed, however the sound comes; what ends it, and what is refused."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

import zoo
from zoo.core.generation.ctc_greedy import greedy
from zoo.pipeline import Pipeline
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.speech.cli.audio_stream import Block
from zoo.plugins.speech.cli.stream_transcribe import StreamingTranscriber, transcribe_stream
from zoo.plugins.speech.cli.transcript_output import TextOutput
from zoo.plugins.speech.cli.word_timestamps import PartialTranscript
from zoo.weights.checkpoint import save

Run = Callable[..., tuple[int, str, str]]
Make = Callable[..., Path]
Piped = Callable[[bytes], str]
SIZES: dict[str, Any] = {"dim": 24, "depth": 1, "num_heads": 3, "mlp_dim": 48, "task": "generate"}
STREAMS: dict[str, Any] = {"window": [80, 40], "normalise": "running"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Make:
    """Save a model that hears words in noise."""

    def make(**options: Any) -> Path:
        tokenizer = choose_tokenizer("char", "", ["ab cd "])
        torch.manual_seed(11)
        name = options.pop("name", "speech-tiny")
        model: Any = zoo.create(name, vocab_size=tokenizer.vocab_size, **{**SIZES, **STREAMS, **options})
        head = model.emitter if hasattr(model, "emitter") else model.head
        if head.bias is not None:  # tells what vectors emit
            with torch.no_grad():
                head.weight.mul_(30)
                head.bias[tokenizer.unk] = -99
                head.bias[tokenizer.rows([" "])[0]] += 3
        folder = save(model, tmp_path / name)
        tokenizer.save(folder / "tokenizer.json")
        return folder

    return make


@pytest.fixture
def sound(tmp_path: Path) -> Make:
    """Write bursts of noise."""

    def make(name: str = "a.wav", seconds: float = 1.2, rate: int = 16_000, channels: int = 1, **options: Any) -> Path:
        drawn = np.random.default_rng(0).normal(size=(round(seconds * rate), channels))
        loud = 0.5 + 0.5 * np.sin(np.arange(len(drawn)) * 40 / rate)
        soundfile.write(tmp_path / name, 0.1 * loud[:, None] * drawn, rate, **options)
        return tmp_path / name

    return make


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (44_100, 2)])
def test_a_sound_that_comes_is_transcribed_as_its_file(
    run: Run, checkpoint: Make, sound: Make, tmp_path: Path, rate: int, channels: int
) -> None:
    folder, file = checkpoint(), sound(rate=rate, channels=channels)
    wanted = run("transcribe", file, "--model", folder)
    assert len(wanted[1].split()) > 3
    assert wanted[::2] == (0, "")
    (tmp_path / "raw").write_bytes(soundfile.read(file, dtype="int16")[0].astype("<i2").tobytes())
    os.mkfifo(tmp_path / "fifo")
    threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(file.read_bytes(),), daemon=True).start()
    raw = ["--raw-rate", rate, "--raw-channels", channels]
    for given in (
        [file],
        [tmp_path / "fifo"],
        [tmp_path / "raw", *raw],
        [tmp_path / "raw", *raw, "--raw-format", "s16le"],
    ):
        code, out, err = run("transcribe", "--stream", *given, "--model", folder)
        assert (code, out) == (0, wanted[1])
        assert re.fullmatch(
            r"zoo: 1\.20 s of sound; latency \d+ ms, 100 of them for blocks, and \d+\.\d ms of computing, "
            r"at most \d+\.\d; real-time factor \d+\.\d+\n",
            err,
        )


def test_what_is_piped_in_is_transcribed_as_its_file(run: Run, checkpoint: Make, sound: Make, stdin: Piped) -> None:
    folder, file = checkpoint(), sound()
    found = run("transcribe", stdin(file.read_bytes()), "--stream", "--model", folder)
    assert found[:2] == run("transcribe", file, "--model", folder)[:2]


def test_times_are_those_of_the_file(run: Run, checkpoint: Make, sound: Make) -> None:
    folder, file = checkpoint(), sound()
    wanted = run("transcribe", file, "--model", folder, "--timestamps")[1]
    assert wanted.count("\n") > 3
    assert run("transcribe", "--stream", file, "--model", folder, "--timestamps")[1] == wanted
    words = json.loads(run("transcribe", file, "--model", folder, "--timestamps", "--json")[1])["words"]
    lines = run("transcribe", "--stream", file, "--model", folder, "--json")[1].splitlines()
    assert [json.loads(line) for line in lines] == words


def test_by_joint_what_the_vectors_emit_is_told(run: Run, checkpoint: Make, sound: Make) -> None:
    folder, file = checkpoint(by="joint"), sound()
    code, out, err = run("transcribe", "--stream", file, "--model", folder)
    name = f"local-dir:{folder}"
    model: Any = zoo.create(name, pretrained=True).eval()
    sounds = zoo.preprocess(name)(file)
    emitted = greedy(*model.emit(*sounds))
    assert (code, [out.removesuffix("\n")]) == (0, zoo.postprocess(name)(emitted))
    assert "zoo: --stream uses the CTC head only; the decoder needs the whole audio" in err


def test_a_decoder_alone_is_refused_before_its_weights_are_read(run: Run, checkpoint: Make, sound: Make) -> None:
    folder = checkpoint(by="attention")
    (folder / "model.safetensors").unlink()
    code, out, err = run("transcribe", "--stream", sound(), "--model", folder)
    assert (code, out) == (2, "")
    assert "made with by='attention': its decoder writes when the sound has ended; models made with by='ctc'" in err


@pytest.mark.parametrize(
    ("options", "text"),
    [({"normalise": "utterance"}, "normalise='running'"), ({"window": "full"}, r"window=\[640, 0\]")],
)
def test_a_model_that_has_to_see_the_whole_says_why(
    run: Run, checkpoint: Make, sound: Make, options: dict[str, Any], text: str
) -> None:
    code, out, err = run("transcribe", "--stream", sound(), "--model", checkpoint(**options))
    assert (code, out) == (2, "")
    assert re.match(rf"zoo: --stream with 'local-dir:.*': .*{text}", err)


def test_what_came_before_the_end_is_told_where_the_end_is_missing(
    run: Run, checkpoint: Make, sound: Make, stdin: Piped
) -> None:
    folder, file = checkpoint(), sound()
    data = file.read_bytes()
    soundfile.write(file.with_name("half.wav"), soundfile.read(file)[0][:9_600], 16_000)
    code, out, err = run("transcribe", "--stream", stdin(data[:-19_200]), "--model", folder)
    assert code == 2
    assert out == run("transcribe", file.with_name("half.wav"), "--model", folder)[1]
    assert err.splitlines()[0].startswith("zoo: 0.60 s of sound")
    assert err.splitlines()[1] == "zoo: what is piped in is truncated: 9600 samples are missing"


@pytest.mark.parametrize(("rate", "samples"), [(16_000, 0), (16_000, 399), (48_000, 1_197)])
def test_less_than_a_frame_is_refused(run: Run, checkpoint: Make, sound: Make, rate: int, samples: int) -> None:
    file = sound(seconds=samples / rate, rate=rate)
    found = run("transcribe", "--stream", file, "--model", checkpoint())
    heard = rate if samples else 16_000
    assert found == (2, "", f"zoo: '{file}': {samples} samples at {heard} Hz are less than a frame, 25 ms\n")


def test_a_frame_is_enough(run: Run, checkpoint: Make, sound: Make) -> None:
    assert run("transcribe", "--stream", sound(seconds=0.025, rate=48_000), "--model", checkpoint())[0] == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["a.wav", "b.wav", "--stream"], "--stream transcribes one stream, and 2 were given: a.wav, b.wav"),
        (["a.wav", "--stream", "--beam", "4"], "--stream with --beam 4: beam search gives nothing before the end"),
        (["-", "--stream", "--raw-format", "f32le"], "--raw-format without --raw-rate"),
        (["a.wav", "--raw-rate", "8000"], "--raw-rate is for raw samples, without a header: add --stream"),
        (["-"], "'-' is standard input: zoo transcribe --stream -"),
        (["missing.wav", "--stream"], "There is no file 'missing.wav'"),
    ],
)
def test_what_does_not_go_together_is_refused(run: Run, checkpoint: Make, arguments: list[str], text: str) -> None:
    code, out, err = run("transcribe", *arguments, "--model", checkpoint())
    assert (code, out) == (2, "")
    assert text in err


class Counting(TextOutput):
    """Tell text, and when so much was told."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.told = wanted, threading.Event()

    def write(self, said: PartialTranscript) -> None:
        super().write(said)
        self.wanted -= 1
        if not self.wanted:
            self.told.set()


def blocks_of(file: Path) -> list[Block]:
    samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
    return [Block(part, rate) for part in torch.from_numpy(samples).split(rate // 10)]


def test_an_interrupt_ends_the_sound_and_keeps_what_was_heard(
    checkpoint: Make, sound: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, parts, counting = f"local-dir:{checkpoint()}", blocks_of(sound())[:8], Counting(8)
    over, handler = threading.Event(), signal.getsignal(signal.SIGINT)

    def endless(file: str, raw: None) -> Iterator[Block]:
        yield from parts
        counting.told.wait(30)
        os.kill(os.getpid(), signal.SIGINT)
        over.wait(30)

    monkeypatch.setattr("zoo.plugins.speech.cli.stream_transcribe.blocks", endless)
    transcribe_stream(Pipeline(name), "-", None, counting)
    over.set()
    live = StreamingTranscriber(Pipeline(name))
    wanted = "".join(live.push(part).text for part in parts) + live.finish().text
    found = capsys.readouterr()
    assert found.out == f"{wanted}\n"
    assert wanted.strip()
    assert found.err.startswith("zoo: 0.80 s of sound")
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_before_anything_was_heard_tells_nothing(
    checkpoint: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over, handler = threading.Event(), signal.getsignal(signal.SIGINT)

    def silent(file: str, raw: None) -> Iterator[Block]:
        while signal.getsignal(signal.SIGINT) is handler:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        over.wait(30)
        yield from ()

    monkeypatch.setattr("zoo.plugins.speech.cli.stream_transcribe.blocks", silent)
    transcribe_stream(Pipeline(f"local-dir:{checkpoint()}"), "-", None, TextOutput())
    over.set()
    assert capsys.readouterr() == ("", "")


def test_words_are_told_while_the_sound_comes(checkpoint: Make, sound: Make) -> None:
    name, parts = f"local-dir:{checkpoint()}", blocks_of(sound(rate=22_050))
    live = StreamingTranscriber(Pipeline(name))
    assert live.stream.latency == 25 + 30 + 40
    texts = [live.push(part).text for part in parts]
    assert all("".join(texts[at : at + 4]) for at in range(0, 12, 4))


def test_a_rate_that_is_as_good_as_16_kilohertz_is_followed(run: Run, checkpoint: Make, sound: Make) -> None:
    call = "transcribe", sound(rate=16_001), "--model", checkpoint()
    assert run(*call, "--stream")[:2] == run(*call)[:2]


def test_what_becomes_of_the_scores_is_timed_with_the_model(
    checkpoint: Make, sound: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = StreamingTranscriber(Pipeline(f"local-dir:{checkpoint()}"))
    push = live.words.push

    def slow(scores: torch.Tensor) -> PartialTranscript:
        time.sleep(0.03)
        return push(scores)

    monkeypatch.setattr(live.words, "push", slow)
    for part in blocks_of(sound(rate=8_000)):
        live.push(part)
    live.finish()
    found = re.search(r"and (.*) ms of computing, at most (.*); real-time factor (.*)", live.report())
    assert found is not None
    mean, most, factor = map(float, found.groups())
    assert most >= mean >= 30
    assert factor >= 0.3


def test_a_conformer_is_followed_too(run: Run, checkpoint: Make, sound: Make) -> None:
    folder, file = checkpoint(name="conformer-tiny", kernel_size=4, convolution="causal"), sound()
    wanted = run("transcribe", file, "--model", folder)[1]
    assert len(set(wanted)) > 2
    assert run("transcribe", "--stream", file, "--model", folder)[1] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("end", ["end", "interrupt"])
def test_a_shell_pipes_sound_in_and_reads_words_before_the_end(checkpoint: Make, sound: Make, end: str) -> None:
    folder, file = checkpoint(), sound(seconds=4.0)
    data, call = file.read_bytes(), ["transcribe", "--stream", "-", "--model", str(folder)]
    command = [sys.executable, "-c", "from zoo.cli.app import main; main()", *call]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(data[:64_000])
        early = process.stdout.read(8)  # comes while the pipe is open
        assert len(early) > 0
        if end == "interrupt":
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        else:
            process.stdin.write(data[64_000:])
        process.stdin.close()
        out, err = early + process.stdout.read(), process.stderr.read().decode()
    assert process.returncode == 0
    assert out.endswith(b"\n")
    assert re.match(r"zoo: \d\.\d\d s of sound; latency", err)
    if end == "end":
        assert err.startswith("zoo: 4.00 s")
