from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from zoo.errors import ConfigError
from zoo.training.callbacks.callback import Request
from zoo.training.callbacks.save_run import SaveRunFolder
from zoo.training.config import Settings
from zoo.training.fine_tuning.chosen_weights import choose_weights

pytestmark = pytest.mark.usefixtures("one_thread")
WAYS: dict[str, dict[str, Any]] = {
    "freeze": {"freeze": "encoder"},
    "layer_decay": {"layer_decay": 0.75},
    "lora": {"lora": "2:q,v"},
    "ema": {"ema": 0.9},
    "class_weights": {"class_weights": "balanced"},
    "checkpointing": {"checkpointing": True},
    "all": {"lora": "2:all", "layer_decay": 0.9, "ema": 0.9, "checkpointing": True},
}


def state(model: torch.nn.Module) -> dict[str, Tensor]:
    return {key: value.clone() for key, value in model.state_dict().items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_training_is_saved_as_any_other_and_resumed_exactly(
    way: str, quadrants: Any, tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"steps": 8, "batch_size": 8, "validations": 2, "precision": "32-true", **tiny, **WAYS[way]}
    whole = zoo.train("vit-micro", quadrants, out=tmp_path / "whole", **options)
    loaded = zoo.create(f"local-dir:{tmp_path / 'whole'}").eval()
    x = torch.randn(2, 1, 8, 8)
    torch.testing.assert_close(loaded(x), whole.model(x))

    with monkeypatch.context() as patch:
        patch.setattr(SaveRunFolder, "request", lambda saver: Request(stop=True))
        zoo.train("vit-micro", quadrants, out=tmp_path / "parts", **options)
    again = zoo.train("vit-micro", quadrants, out=tmp_path / "parts", resume=True, **options)
    for key, value in state(whole.model).items():
        torch.testing.assert_close(again.model.state_dict()[key], value, rtol=0, atol=0)
    stored = zoo.train("vit-micro", quadrants, out=tmp_path / "parts", resume=True, **options)
    assert stored.was_finished
    assert stored.model.state_dict().keys() == whole.model.state_dict().keys()


def test_blocks_that_read_an_encoder_are_computed_again_with_low_rank_matrices(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"ab{n}\t{n}ba\n" for n in range(40)))
    size: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "lora": "2:all"}
    way: dict[str, Any] = {"steps": 2, "batch_size": 8, "validations": 1, "checkpointing": True}
    trained = zoo.train("transformer-tiny", f"parallel:{tmp_path / 'pairs.tsv'}", **size, **way)
    assert trained.outcome.steps == 2


def test_freezing_and_low_rank_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="freeze='stem' with lora='2'"):
        choose_weights(zoo.create("vit-micro"), Settings(freeze="stem", lora="2"))
