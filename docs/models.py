"""Make the table of models, docs/models.md, from the registry and from what was measured.

uv run python docs/models.py                 rewrites the page; tests/test_model_table.py fails while it is out of date
uv run python docs/models.py --measure 'vit-*'   counts and times these models first, and keeps it in docs/models.json
"""

import argparse
import json
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import zoo
from zoo.spec import ModelSpec

PAGE, KEPT = Path(__file__).with_name("models.md"), Path(__file__).with_name("models.json")
HEAD = """# Models

{count} names, by modality. `zoo info NAME` tells more of one; `zoo.create("timm:NAME")` gives any model of timm, and
`joined:ENCODER+DECODER` [any encoder with any decoder](join.md). Made by `uv run python docs/models.py`.

- **Parameters** are exact and tested. **Multiply-adds** are those of one forward of one example, counted by
  `zoo.core.flops` without running it: of the pairs that attend, not of the square.
- **Input** has the shapes of `zoo.example(NAME, 1)`.
- **Time** is the median of a few forwards of that example, in milliseconds: {machine}. It tells orders of magnitude;
  [benchmarks](benchmarks.md) compare with peers.
- **Weights** are the tags behind the name, `vit-small.augreg_in1k`; the first is that of `pretrained=True`.
"""


def measured(name: str) -> dict[str, Any]:
    """Count and time a forward of one example."""
    import torch

    from zoo.core import flops

    torch.manual_seed(0)
    model, inputs = zoo.create(name).eval(), zoo.example(name, 1)
    try:
        found: dict[str, Any] = {"multiply_adds": flops.count(model, *inputs).multiply_adds}
    except Exception as error:
        print(f"{name} cannot be counted: {error}")
        found = {}
    taken: list[float] = []
    with torch.no_grad():
        model(*inputs)
        while len(taken) < 3 or (sum(taken) < 0.5 and len(taken) < 30):
            start = time.perf_counter()
            model(*inputs)
            taken.append(time.perf_counter() - start)
    return {
        **found,
        "input": "; ".join(described(each) for each in inputs if each is not None),
        "ms": float(f"{1e3 * median(taken):.2g}"),
    }


def described(value: Any) -> str:
    """Say what an input is: the shape of a tensor, or its type."""
    return " x ".join(map(str, value.shape)) if hasattr(value, "shape") else type(value).__name__


def machine() -> str:
    """Say where the times were measured."""
    import torch

    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(": ")[2] for line in lines.splitlines() if line.startswith("model name")]
    chip = names[0] if names else platform.processor()
    return f"float32, {torch.get_num_threads()} threads of {chip}, PyTorch {torch.__version__.partition('+')[0]}"


def page(kept: Mapping[str, Any]) -> str:
    """Write the page from the registry and from what is kept of measurements."""
    specs = [zoo.info(name) for name in zoo.list_models()]
    parts = [HEAD.format(count=len(specs), machine=kept["machine"])]
    for modality in sorted({spec.modality for spec in specs}):
        parts += [
            f"\n## {modality.capitalize()}\n",
            "| name | kind | parameters | multiply-adds | input | ms | weights | source |",
        ]
        parts.append("|---|---|--:|--:|---|--:|---|---|")
        parts += [row(spec, kept["models"].get(spec.name, {})) for spec in specs if spec.modality == modality]
    return "\n".join(parts) + "\n"


def row(spec: ModelSpec, kept: Mapping[str, Any]) -> str:
    """Write the line of a model; a dash stands for what nobody measured."""
    own = [f"`{spec.name}`", spec.kind, f"{spec.parameters:,}" if spec.parameters else "-"]
    time_taken = f"{kept['ms']:,g}" if "ms" in kept else "-"
    counted = short(kept["multiply_adds"]) if "multiply_adds" in kept else "-"
    weights = ", ".join(f"`{tag}`" for tag in spec.weights) or "-"
    return "| " + " | ".join([*own, counted, kept.get("input", "-"), time_taken, weights, spec.source or "-"]) + " |"


def short(count: float) -> str:
    """Write a number with three digits: 4.6 G."""
    for unit, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:g}"


def main() -> None:
    """Measure what was asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", metavar="WILDCARD", help="models to count and time first, such as '*'")
    parser.add_argument("--new", action="store_true", help="with --measure: only those that were never measured")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"machine": "nowhere yet", "models": {}}
    for name in zoo.list_models(options.measure) if options.measure else ():
        if not (options.new and name in kept["models"]):
            start = time.perf_counter()
            kept["machine"], kept["models"][name] = machine(), measured(name)
            print(f"{name}: {kept['models'][name]}, {time.perf_counter() - start:.1f} s", flush=True)
            KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
