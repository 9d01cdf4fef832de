"""`zoo.from_pretrained`: weights of a repository, a folder or a name."""

from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.errors import ConfigError, WeightsError

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.mark.filterwarnings("ignore:Use 'content=")
def test_a_repository_that_nobody_listed_a_revision_and_a_folder_are_loaded(tmp_path: Path, hub: Any) -> None:
    model = zoo.create("vit-micro", num_classes=2, **SIZE).eval()
    zoo.weights.save(model, tmp_path / "run")
    zoo.weights.push(tmp_path / "run", "me/cats", licence="apache-2.0")
    with torch.no_grad():
        model.head.linear.bias.add_(1)
    zoo.weights.save(model, tmp_path / "run")
    zoo.weights.push(tmp_path / "run", "me/cats", licence="apache-2.0", revision="trial")
    inputs = zoo.example("vit-micro")
    last = zoo.from_pretrained("me/cats", revision="trial").eval()
    assert torch.equal(last(*inputs), model(*inputs))
    assert torch.equal(zoo.from_pretrained(tmp_path / "run").eval()(*inputs), model(*inputs))
    first = zoo.from_pretrained("me/cats").eval()
    torch.testing.assert_close(first(*inputs) + 1, model(*inputs))
    assert torch.equal(zoo.from_pretrained("hf-hub:me/cats").eval()(*inputs), first(*inputs))
    assert zoo.from_pretrained("me/cats", num_classes=5).num_classes == 5


def test_a_name_has_its_published_weights_and_no_revision() -> None:
    with pytest.raises(WeightsError, match="No pretrained weights exist for vit-micro"):
        zoo.from_pretrained("vit-micro")
    with pytest.raises(ConfigError, match="revision='trial' of 'vit-micro': a repository, such as 'org/name', has"):
        zoo.from_pretrained("vit-micro", revision="trial")
