import pytest

from zoo.errors import ConfigError
from zoo.training.optimization.precision import profitable_precision, resolve_precision


@pytest.mark.parametrize(
    ("accelerator", "can", "expected"),
    [(False, {}, "32-true"), (False, {"amx_bf16": True}, "bf16-mixed"), (True, {}, "bf16-mixed")],
)
def test_precision_follows_the_kind_of_machine_and_not_how_busy_it_is(
    monkeypatch: pytest.MonkeyPatch, accelerator: bool, can: dict[str, bool], expected: str
) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: accelerator)
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: can)
    assert profitable_precision() == expected


def test_a_cpu_beside_a_gpu_that_is_not_used_follows_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: True)
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    assert resolve_precision("auto", "cpu") == "32-true"
    assert resolve_precision("auto", "cuda") == "bf16-mixed"


def test_what_is_named_is_taken() -> None:
    assert resolve_precision("bf16-mixed", "cpu") == "bf16-mixed"


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"precision='bf16' is not one of .*Did you mean 'bf16-true'"):
        resolve_precision("bf16", "cpu")
    with pytest.raises(ConfigError, match="precision='16-mixed' on a CPU"):
        resolve_precision("16-mixed", "cpu")
