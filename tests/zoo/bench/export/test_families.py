"""The suite `export`: onnxruntime and PyTorch compute the same."""

from typing import Any

import pytest
import torch

from zoo.bench.export.families import FAMILIES, compared, one_row, streamed
from zoo.bench.speed.suite import find_cases
from zoo.deploy.programs import programs
from zoo.factory import create

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def test_the_suite_has_each_family_in_float32_and_in_int8() -> None:
    names = [case.name for case in find_cases("zoo.bench.export")]
    assert len(names) == len(set(names)) == 2 * len(FAMILIES) + 4
    assert {"vit-small, onnxruntime float32", "vit-small, onnxruntime int8"} <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize(("int8", "tolerance"), [(False, 1e-4), (True, 0.1)])
def test_both_sides_give_the_same_answers(int8: bool, tolerance: float) -> None:
    built = compared("vit-micro", int8)
    assert isinstance(built, tuple)
    found: Any = [job() for job in built]
    (ours,), theirs = found
    torch.testing.assert_close(torch.from_numpy(ours), theirs, rtol=tolerance, atol=tolerance)


def test_a_row_is_tokens_behind_those_that_are_kept() -> None:
    model = create.create("decoder-tiny", depth=1, dim=16, num_heads=2, mlp_dim=16).eval()
    (decode,) = programs(model)
    for kept, new in ((128, 1), (0, 128)):
        scores, key, _ = decode.module(*one_row(decode, kept, new))
        assert (scores.shape[0], key.shape[:2]) == (1, (1, kept + new))


@pytest.mark.slow
def test_a_stream_gives_the_same_answers() -> None:
    built = streamed(False)
    assert isinstance(built, tuple)
    pushes: Any = [[job() for job in built] for _ in range(4)]
    ours = torch.cat([torch.from_numpy(found) for found, _ in pushes])
    theirs = torch.cat([found[0] for _, found in pushes])
    assert ours.shape == theirs.shape == (16, 260)
    agree = [late for late in range(8) if torch.allclose(ours[late:], theirs[: 16 - late], rtol=1e-3, atol=1e-3)]
    assert agree  # a step waits for whole chunks of frames, so its answers come some vectors later
