"""What the pages for users of timm and of Hugging Face show side by side gives the same results."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
import transformers
from PIL import Image
from torch import Tensor, nn

import zoo
from zoo.plugins.text.convert import to_zoo
from zoo.plugins.text.models.transformer import Gpt
from zoo.plugins.vision.convert import timm_peer

DOCS = Path(__file__).parents[1] / "docs"


def pairs(page: str, header: str) -> list[tuple[str, str]]:
    """Give the lines of a table: two cells of code each."""
    table = (DOCS / page).read_text(encoding="utf-8").split(f"| {header} | here |")[1].split("\n\n")[0]
    found = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \|$", table, re.MULTILINE)
    assert len(found) == len(table.strip().splitlines()) - 1
    return found


TIMM, HUGGING_FACE = pairs("from-timm.md", "timm"), pairs("generation.md", "transformers")


@pytest.fixture(scope="module")
def vit() -> tuple[Any, Any]:
    """Give timm's smallest vision transformer and ours with the same weights."""
    ours: Any = zoo.create("vit_tiny_patch16_224", num_classes=5).eval()
    theirs: Any = timm.create_model("vit_tiny_patch16_224", num_classes=5).eval()
    theirs.load_state_dict(timm_peer(ours).state_dict())
    return theirs, ours


def same(theirs: Any, ours: Any) -> None:
    if isinstance(theirs, nn.Module):
        counts = [sum(p.numel() for p in each.parameters()) for each in (theirs, ours)]
        assert counts[0] == counts[1] > 0
    elif isinstance(theirs, Tensor):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    elif isinstance(theirs, list | tuple):
        for one, other in zip(theirs, ours, strict=True):
            same(one, other)
    else:
        assert theirs == ours


@pytest.mark.parametrize(("timms", "here"), TIMM)
def test_a_line_for_users_of_timm_gives_the_same_here(timms: str, here: str, vit: Any) -> None:
    x = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 260, 3), np.uint8))
    names = {"timm": timm, "zoo": zoo, "x": x, "picture": picture}
    with torch.no_grad():
        results = [eval(code, names | {"model": model}) for code, model in zip((timms, here), vit, strict=True)]
    same(*results)
    if "reset_classifier" in timms:
        for model in vit:
            assert model(x).shape == (1, 10)


@pytest.mark.parametrize(("theirs", "here"), HUGGING_FACE)
def test_a_line_for_users_of_hugging_face_writes_the_same_here(theirs: str, here: str) -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 40, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 16}
    config = transformers.GPT2Config(
        vocab_size=40, n_embd=24, n_layer=2, n_head=3, n_inner=32, n_positions=16, bos_token_id=0, eos_token_id=0,
        pad_token_id=0, initializer_range=0.4,
    )  # fmt: skip
    model: Any = transformers.GPT2LMHeadModel(config)
    model.eval()
    ours: Any = Gpt(**sizes, symbols=(0, 0, 0))
    ours.load_state_dict(to_zoo(model.state_dict(), ours))
    ours.eval()
    names = {"theirs": model, "ours": ours, "zoo": zoo, "ids": torch.tensor([[5, 6, 7], [8, 9, 3]]),
             "f": lambda ids, scores: -scores}  # fmt: skip
    evaluate: Any = eval
    wanted = evaluate(theirs, names)[:, 3:]
    found = evaluate(here, names).ids[:, 0]
    assert torch.equal(found, wanted[:, : found.shape[1]])
    assert not wanted[:, found.shape[1] :].any()
