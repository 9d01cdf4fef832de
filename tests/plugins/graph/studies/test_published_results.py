import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import zoo
from zoo.cli.bench import app
from zoo.errors import ConfigError
from zoo.plugins.graph.data.corpus import GraphsCorpus
from zoo.plugins.graph.data.published_datasets import open_planetoid, open_zinc
from zoo.plugins.graph.studies import training_protocols
from zoo.plugins.graph.studies.published_results import Run, execute, summary_lines
from zoo.plugins.graph.studies.training_protocols import FITS, by_patience

Write = Callable[[Path, str], torch.Tensor]


def bench(folder: Path, *words: Any) -> Any:
    given = ["--data", folder, "--out", folder / "runs", "--workers", 0, "--epochs", 3, *words]
    return CliRunner().invoke(app, ["gat-cora", *map(str, given)])


def test_the_study_prints_mean_and_deviation_beside_the_published_ones(write_planetoid: Write, tmp_path: Path) -> None:
    write_planetoid(tmp_path, "cora")
    done = bench(tmp_path, "--seeds", 3)
    assert done.exit_code == 0, done.output
    kept = [json.loads(line) for line in (tmp_path / "runs" / "results.jsonl").read_text().splitlines()]
    accuracies = torch.tensor([100 * record["accuracy"] for record in kept])
    assert (
        f"gat-cora by the protocol of gat-cora: {accuracies.mean():.1f} ± {accuracies.std():.1f} % of the test nodes, 3"
        in done.output
    )
    assert "83.0 ± 0.7 % of the test nodes, 100 seeds" in done.output


def test_what_was_done_before_is_not_trained_again(
    write_planetoid: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_planetoid(tmp_path, "cora")
    bench(tmp_path, "--seeds", 2)
    begun: list[int] = []

    def counted(model: Any, corpus: Any, run: Run) -> int:
        begun.append(run.seed)
        return by_patience(model, corpus, run)

    monkeypatch.setitem(FITS, "patience", counted)
    done = bench(tmp_path, "--seeds", 3)
    assert begun == [2]
    assert "2 of 3 trainings are done already" in done.output


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(
    write_planetoid: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_planetoid(tmp_path, "cora")

    def stopped(model: Any, corpus: Any, run: Run) -> int:
        if run.seed:
            raise KeyboardInterrupt
        return by_patience(model, corpus, run)

    monkeypatch.setitem(FITS, "patience", stopped)
    done = bench(tmp_path, "--seeds", 2)
    assert done.exit_code == 130
    assert "the same command goes on from there" in " ".join(done.output.split())
    assert len((tmp_path / "runs" / "results.jsonl").read_text().splitlines()) == 1


def run(folder: Path, **options: Any) -> Run:
    given = {"epochs": 30, "patience": 100, "learning_rate": 0.005, "weight_decay": 5e-4, "seed": 0} | options
    return Run(model="gat-cora", data=f"planetoid:cora:{folder}", fingerprint="", **given)


def test_a_training_ends_when_neither_loss_nor_accuracy_is_better_for_a_while(
    write_planetoid: Write, tmp_path: Path
) -> None:
    write_planetoid(tmp_path, "cora")
    corpus = open_planetoid(f"cora:{tmp_path}", zoo.info("gat-cora"), 0, "")
    scores = iter([(0.5, -2.0), (0.6, -3.0), (0.4, -4.0), (0.5, -2.5), (0.4, -9.0), (0.9, -9.0)])
    judged: list[Any] = []

    def score(model: torch.nn.Module, split: str, batch_size: int) -> dict[str, float]:
        judged.append([each.clone() for each in model.parameters()])
        accuracy, loss = next(scores)
        return {"accuracy": accuracy, "-loss": loss}

    corpus.score = score  # type: ignore[method-assign]
    model = zoo.create("gat-cora", **corpus.overrides())
    assert by_patience(model, corpus, run(tmp_path, patience=3)) == 5
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), judged[0], strict=True))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_accuracy_and_words_are_learned(write_planetoid: Write, tmp_path: Path) -> None:
    write_planetoid(tmp_path, "cora")
    config = vars(run(tmp_path, learning_rate=0.05))
    first, second = execute(config), execute(config)
    assert first["accuracy"] == second["accuracy"] >= 0.9


def test_proteins_are_judged_by_f1_two_graphs_a_step(
    write_ppi: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_ppi(tmp_path)
    steps: list[int] = []
    packed = GraphsCorpus.batch

    def seen(corpus: GraphsCorpus, index: torch.Tensor, generator: torch.Generator) -> Any:
        steps.append(len(index))
        return packed(corpus, index, generator)

    monkeypatch.setattr(GraphsCorpus, "batch", seen)
    given = ["--data", tmp_path, "--out", tmp_path / "runs", "--workers", 0, "--epochs", 3, "--seeds", 2]
    done = CliRunner().invoke(app, ["gat-ppi", *map(str, given)])
    assert done.exit_code == 0, done.output
    assert steps == [2] * 6
    assert "% F1 over all labels of the test nodes, 2 seeds" in done.output
    assert (
        "published: 97.3 ± 0.2 % F1 over all labels of the test nodes, 10 seeds (arXiv:1710.10903, table 3)"
        in done.output
    )
    (record, _) = map(json.loads, (tmp_path / "runs" / "results.jsonl").read_text().splitlines())
    assert 0 <= record["f1"] <= 1


def test_solubility_is_judged_by_its_error_and_the_rate_falls_until_the_end(
    write_zinc: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zinc(tmp_path)
    monkeypatch.setattr(training_protocols, "MIN_LEARNING_RATE", 5e-4)
    given = ["--data", tmp_path, "--out", tmp_path / "runs", "--workers", 0, "--seeds", 1, "--patience", 1]
    monkeypatch.setattr(GraphsCorpus, "score", lambda *_: {"-mae": -0.5})
    done = CliRunner().invoke(app, ["graph-zinc", *map(str, given)])
    assert done.exit_code == 0, done.output
    (record,) = map(json.loads, (tmp_path / "runs" / "results.jsonl").read_text().splitlines())
    assert record["epochs"] == 3
    assert "graph-small by the protocol of graph-zinc: 0.500 mean absolute error, 1 seed\n" in done.output
    assert "GraphTransformer with batch norm, as published, for comparison: 0.226 ± 0.014" in done.output


def test_the_absolute_error_is_learned_away(write_zinc: Callable[[Path], None], tmp_path: Path) -> None:
    write_zinc(tmp_path)
    corpus = open_zinc(str(tmp_path), zoo.info("graph-tiny"), 0, "")
    torch.manual_seed(0)
    model = zoo.create("graph-tiny", **corpus.overrides())
    before = corpus.score(model, "train", 2)["-mae"]
    wanted = run(tmp_path, score="-mae", batch_size=2, epochs=20, learning_rate=0.001, weight_decay=0.0)
    assert FITS["plateau"](model, corpus, wanted) == 20
    assert -corpus.score(model, "train", 2)["-mae"] < -0.5 * before


def test_the_published_figure_is_said_to_be_gats_beside_another_network() -> None:
    own, other = (summary_lines(model, "gat-cora", [{"accuracy": 1}])[1] for model in ("gat-cora", "gatv2-cora"))
    assert own == "published: 83.0 ± 0.7 % of the test nodes, 100 seeds (arXiv:1710.10903, table 2)"
    assert other.startswith("gat-cora, as published, for comparison: 83.0 ± 0.7 %")


def test_failed_trainings_are_named_and_all_failed_is_an_error() -> None:
    failed = {"error": "ValueError: no", "config": {"seed": 3}}
    assert "seed 3 failed: ValueError: no" in summary_lines("gat-cora", "gat-cora", [{"accuracy": 0.8}, failed])
    with pytest.raises(ConfigError, match="no training of 'gat-cora' succeeded, of 1: ValueError: no"):
        summary_lines("gat-cora", "gat-cora", [failed])
