"""The benchmark cases of log-mel features."""

import pytest
import torch

from zoo.plugins.speech.bench import features


@pytest.mark.usefixtures("float64")
def test_both_features_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SECONDS", 1), ("CLIPS", 3), ("BATCH", 2)):
        monkeypatch.setattr(features, name, value)
    ours, theirs = (job() for job in features.jobs())
    assert isinstance(ours, list)
    assert isinstance(theirs, list)
    assert [len(batch) for batch in ours] == [2, 1]
    torch.testing.assert_close(torch.cat(ours), torch.stack(theirs), atol=1e-4, rtol=0)  # their bands are float32
