import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import soundfile
import torch
import transformers

from zoo.cli import app

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Piped = Callable[[bytes], str]
LETTERS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
"""The vocabulary of facebook/wav2vec2-base-960h."""


class Theirs(NamedTuple):
    """Hold a model that transformers saved, and its processor."""

    folder: Path
    model: Any
    processor: Any


@pytest.fixture
def transformers_ctc(tmp_path: Path) -> Callable[..., Theirs]:
    """Save a random Wav2Vec2ForCTC as transformers does, in float64, with its vocabulary."""

    def make(norm: str = "layer", tokens: Sequence[str] = LETTERS, **options: Any) -> Theirs:
        folder = tmp_path / f"ctc-{norm}"
        folder.mkdir()
        torch.manual_seed(0)
        layers = norm == "layer"
        config = transformers.Wav2Vec2Config(
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[8] * 7,
            feat_extract_norm=norm, conv_bias=layers, do_stable_layer_norm=layers, vocab_size=len(tokens),
            **{"pad_token_id": list(tokens).index("<pad>"), **options},
        )  # fmt: skip
        any_typed: Any = transformers
        model = any_typed.Wav2Vec2ForCTC(config).eval()
        with torch.no_grad():
            for x in model.parameters():
                x.add_(0.1 * torch.randn_like(x))
        (folder / "tokens.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
        processor = any_typed.Wav2Vec2Processor(
            any_typed.Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=layers),
            any_typed.Wav2Vec2CTCTokenizer(str(folder / "tokens.json")),
        )
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        return Theirs(folder, model.double(), processor)

    return make


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a tone to a file, and give its path."""

    def make(name: str, seconds: float = 0.2, rate: int = 16_000, channels: int = 1, **options: Any) -> Path:
        time = np.arange(round(seconds * rate)) / rate
        tone = 0.4 * np.sin(2 * np.pi * 440 * time)
        samples = np.stack([tone * (1 - channel / 2) for channel in range(channels)], axis=1)
        soundfile.write(tmp_path / name, samples, rate, **options)
        return tmp_path / name

    return make


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command as a shell does; give its exit code, what it printed, and its errors."""

    def command(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["zoo", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


@pytest.fixture
def stdin() -> Iterator[Piped]:
    """Pipe something in, and give what that is called."""
    kept = os.dup(0)

    def make(data: bytes) -> str:
        out, into = os.pipe()

        def write() -> None:
            with os.fdopen(into, "wb") as file:
                file.write(data)

        threading.Thread(target=write, daemon=True).start()
        os.dup2(out, 0)
        os.close(out)
        return "-"

    yield make
    os.dup2(kept, 0)
    os.close(kept)
