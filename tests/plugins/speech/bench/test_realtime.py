"""The benchmark cases of streaming."""

import pytest
import torch
from torch import Tensor

from zoo.plugins.shared.audio.streaming import SoundStream
from zoo.plugins.speech.bench import realtime


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
