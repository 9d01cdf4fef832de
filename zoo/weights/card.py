"""`card`: the model card of a folder of weights, in Hugging Face's form: what it is, data, scores, command, limits."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.errors import WeightsError
from zoo.version import __version__

RECORD, EVALUATION = "training.json", "evaluation.json"
"""What `zoo train` and `zoo evaluate` write beside the weights."""
PIPELINES = {
    ("classify", "vision"): "image-classification",
    ("classify", "encoder"): "text-classification",
    ("classify", "sound"): "audio-classification",
    ("multi-label", "vision"): "image-classification",
    ("multi-label", "encoder"): "text-classification",
    ("multi-label", "sound"): "audio-classification",
    ("tag", "encoder"): "token-classification",
    ("masked-token", "encoder"): "fill-mask",
    ("generate", "prompt"): "text-generation",
    ("generate", "source"): "translation",
    ("generate", "sound"): "automatic-speech-recognition",
    ("generate", "vision"): "image-to-text",
    ("classify", "graph"): "graph-ml",
    ("multi-label", "graph"): "graph-ml",
    ("tag", "graph"): "graph-ml",
    ("features", "vision"): "image-feature-extraction",
    ("features", "encoder"): "feature-extraction",
    ("features", "sound"): "feature-extraction",
}
"""The hub's name of what a model is for, by task and by what it reads, or else its modality, where the hub has one."""


def card(folder: Path, repository: str, licence: str, limits: str = "", reads: str = "", task: str = "") -> str:
    """Write the card of a folder that `zoo.weights.save` or `zoo train` wrote, from the files in it.

    Args:
        folder: with `config.json`; the record of the training and an evaluation are used where they are.
        repository: `org/name`.
        licence: of the weights, by the hub's identifier, such as `apache-2.0`.
        limits: what the weights are not for, in the author's words.
        reads: what the model reads, as `ModelSpec.reads` names it.
        task: of the model where its configuration tells none, as that of models of one task.

    Raises:
        WeightsError: If a file cannot be read.
    """
    config, record, evaluation = (_read(folder, name) for name in ("config.json", RECORD, EVALUATION))
    ours = config | (config.get("zoo") or {})
    name, task = ours.get("architecture", "?"), (ours.get("model_args") or {}).get("task", task or "classify")
    scores = dict(_scores(record, evaluation))
    head = _metadata(ours, task, reads, repository, licence, scores, evaluation or record)
    parts = [
        f"# {repository.rpartition('/')[2]}",
        _about(ours, name, task, _labels(folder)),
        "## Use\n\n" + _use(repository, task),
        "## Data\n\n" + _data(record),
        "## Scores\n\n" + _table(scores, record, evaluation),
        "## Training\n\n" + _training(record),
        "## Limits\n\n" + (limits or _limits(record)),
        f"## Licence\n\n{licence}. Card and weights were written by zoo {__version__} (attention-zoo).",
    ]
    yaml = json.dumps(head, indent=1, ensure_ascii=False)  # JSON is YAML
    return f"---\n{yaml}\n---\n\n" + "\n\n".join(parts) + "\n"


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{str(path)!r} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _labels(folder: Path) -> list[str]:
    path = folder / "labels.json"
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


def _scores(record: Mapping[str, Any], evaluation: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, str]]]:
    """Give each score with its interval as text: of an evaluation, else of the test of the training, without."""
    for name, found in (evaluation.get("scores") or {}).items():
        low, high = found["interval"]
        yield name, (found["value"], f"{low:.4g} to {high:.4g}")
    if not evaluation:
        for name, value in (record.get("test") or {}).items():
            if isinstance(value, int | float):
                yield name, (value, "")


def _metadata(
    config: Mapping[str, Any],
    task: str,
    reads: str,
    repository: str,
    licence: str,
    scores: Mapping[str, tuple[float, str]],
    measured: Mapping[str, Any],
) -> dict[str, Any]:
    modality = config.get("modality", "")
    pipeline = PIPELINES.get((task, reads or modality))
    found: dict[str, Any] = {"license": licence, "library_name": "attention-zoo", "tags": ["attention-zoo", modality]}
    if pipeline:
        found["pipeline_tag"] = pipeline
    if scores and pipeline:
        metrics = [{"type": name, "value": value} for name, (value, _) in scores.items()]
        data = {"name": measured.get("data", "unknown"), "type": measured.get("data", "unknown")}
        result = {"task": {"type": pipeline}, "dataset": data, "metrics": metrics}
        found["model-index"] = [{"name": repository.rpartition("/")[2], "results": [result]}]
    return found


def _about(config: Mapping[str, Any], name: str, task: str, labels: list[str]) -> str:
    lines = [f"`{name}` of the library attention-zoo, task `{task}`."]
    if labels:
        shown = ", ".join(f"`{label}`" for label in labels[:20])
        lines.append(f"{len(labels)} labels: {shown}{', …' if len(labels) > 20 else ''}.")
    if config.get("quantization"):
        lines.append("The weights are int8.")
    return " ".join(lines)


def _use(repository: str, task: str) -> str:
    command = "generate" if task == "generate" else "predict"
    return (
        f"```\npip install attention-zoo\nzoo {command} hf-hub:{repository} INPUT\n```\n\n"
        f'```python\nimport zoo\n\nmodel = zoo.create("hf-hub:{repository}").eval()\n```'
    )


def _data(record: Mapping[str, Any]) -> str:
    if not record:
        return "Nothing beside the weights tells what they were trained on."
    sizes = ", ".join(f"{count:,} of {split}" for split, count in (record.get("sizes") or {}).items())
    return f"`--data {record.get('data')}`: {sizes or 'of unknown size'}."


def _table(scores: Mapping[str, tuple[float, str]], record: Mapping[str, Any], evaluation: Mapping[str, Any]) -> str:
    if not scores:
        return "None were measured."
    rows = [f"| {name} | {value:.4g} | {interval or 'not known'} |" for name, (value, interval) in scores.items()]
    said = f"On {evaluation.get('items')} items of `{evaluation.get('data')}`, {evaluation.get('split')}"
    where = said if evaluation else "On the test split of the training"
    note = "" if any(interval for _, interval in scores.values()) else "; `zoo evaluate` gives intervals"
    table = "\n".join(["| score | value | 95 % interval |", "|---|---|---|", *rows])
    return f"{where}{note}.\n\n{table}"


def _training(record: Mapping[str, Any]) -> str:
    if not record:
        return "Nothing beside the weights tells how they were trained."
    steps, seconds = record.get("steps_done"), record.get("seconds")
    told = f"{steps:,} steps" if isinstance(steps, int) else "an unknown number of steps"
    told += f" in {seconds:,.0f} s" if isinstance(seconds, int | float) else ""
    command = record.get("command")
    made = f"\n\n```\n{command}\n```" if command else ""
    return f"{told}; weights of step {record.get('best_step')}, the best by {record.get('best_by')}.{made}"


def _limits(record: Mapping[str, Any]) -> str:
    data = f"`{record['data']}`" if record.get("data") else "its data"
    return (
        f"The scores hold for inputs like those of {data}; nothing is known of others, of groups within them, or of "
        "inputs made to mislead. The probabilities are not calibrated."
    )
