"""The benchmark cases of relative positions."""

import pytest

from zoo.plugins.speech.bench import relative


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_both_relative_attentions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative, "FRAMES", 7)
    for job in relative.jobs():
        job()
