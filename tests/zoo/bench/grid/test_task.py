from typing import Any

import pytest
import torch

from zoo.bench.grid.task import attempt
from zoo.core.ops.products import chosen

WORK = f"{__name__}:work"


def work(config: dict[str, Any]) -> dict[str, Any]:
    if "raise" in config:
        raise ValueError(config["raise"])
    if "exhaust" in config:
        raise {"python": MemoryError, "torch": torch.OutOfMemoryError, "cpu": RuntimeError}[config["exhaust"]](
            "DefaultCPUAllocator: can't allocate memory" if config["exhaust"] == "cpu" else "none left"
        )
    if "count" in config:
        return {"threads": torch.get_num_threads()}
    if "named" in config:
        return {config["named"]: 1}
    return {"tensor": torch.ones(1)} if "tensor" in config else {"pair": (config["x"], 2)}


def test_a_result_is_json() -> None:
    assert attempt(WORK, {"x": 1}) == {"pair": [1, 2], "products": chosen()}
    assert attempt(WORK, {"tensor": 1})["error"] == "TypeError: Object of type Tensor is not JSON serializable"


def test_an_exception_is_a_result_with_its_cause() -> None:
    result = attempt(WORK, {"raise": "too big"})
    assert result["error"] == "ValueError: too big"
    assert "in work" in result["traceback"]
    assert "transient" not in result


@pytest.mark.parametrize("name", ["error", "key"])
def test_a_result_that_would_be_read_as_something_else_is_refused(name: str) -> None:
    cause = attempt(WORK, {"named": name})["error"]
    assert cause == f"ValueError: {WORK} gives {name}, which every record has: choose another name"


@pytest.mark.parametrize("allocator", ["python", "torch", "cpu"])
def test_a_lack_of_memory_may_pass(allocator: str) -> None:
    assert attempt(WORK, {"exhaust": allocator})["transient"]


def test_a_function_that_does_not_import_is_no_result() -> None:
    with pytest.raises(ModuleNotFoundError, match="zoo_no_such_library"):
        attempt("zoo_no_such_library:work", {})


def test_a_run_has_its_own_number_of_threads_whatever_the_process_has() -> None:
    found = []
    for own in (1, 2):
        torch.set_num_threads(own)
        found += [attempt(WORK, {"count": 1}, threads)["threads"] for threads in (1, 2)]
        assert torch.get_num_threads() == own
    assert found == [1, 2, 1, 2]
