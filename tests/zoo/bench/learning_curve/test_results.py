from collections.abc import Callable
from dataclasses import replace

import pytest

from zoo.bench import Study
from zoo.bench.learning_curve.table import conclusion, missing
from zoo.errors import ConfigError

MakeStudy = Callable[..., Study]
WORSE, BETTER, CROSSING = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]


def test_a_point_is_the_mean_over_seeds(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    mean = sum(run["accuracy"] for run in study.runs("cnn", 300)) / 3
    point = study.points["cnn", 300]
    assert point.value == pytest.approx(mean)
    assert point.low < point.value < point.high


def test_the_text_says_that_the_cnn_wins_throughout(make_study: MakeStudy) -> None:
    found = conclusion(make_study(BETTER, WORSE))
    assert found[0].startswith("cnn is ahead of vit at every size, up to 3,000 examples: no crossing was measured.")


def test_the_text_says_that_attention_wins_throughout(make_study: MakeStudy) -> None:
    assert conclusion(make_study(WORSE, BETTER)) == ["vit is ahead of cnn at every size from 100 to 3,000 examples."]


def test_the_text_does_not_make_noise_a_winner(make_study: MakeStudy) -> None:
    found = conclusion(make_study(WORSE, WORSE))[0]
    assert found == "cnn and vit cannot be told apart from 100 to 3,000 examples: no difference is clear."
    level = conclusion(make_study([0.4, 0.5, 0.6, 0.52], WORSE))[0]
    assert level == "cnn and vit cannot be told apart at the largest size, 3,000 examples."


def test_the_text_names_the_crossing(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    found = study.crossover()
    assert found
    assert found.kind == "measured"
    assert found.size
    assert 300 < found.size.value < 1000
    assert "vit overtakes cnn at about" in conclusion(study)[0]


def test_a_crossing_takes_names_both_ways(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    back = study.crossover("vit", "cnn")
    assert back
    assert back.kind == "always"
    with pytest.raises(ConfigError, match="'bert' is not in this study: cnn, vit"):
        study.crossover("bert", "cnn")


def test_failed_runs_are_named_and_left_out(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING, failed=[("vit", 1000)])
    assert study.sizes_of("vit") == [100, 300, 3000]
    assert "vit at 1,000, seed 0 failed: no memory" in missing(study)
    assert "vit at 1,000 has 0 of 3 seeds" in missing(study)


def test_the_table_has_a_row_for_each_size_and_cost(make_study: MakeStudy) -> None:
    table = make_study(BETTER, WORSE).table()
    assert list(table.columns[0].cells) == ["100", "300", "1,000", "3,000", "parameters", "multiply-adds",
                                            "examples/s", "learning rate"]  # fmt: skip


def test_a_loss_is_fitted_in_its_own_unit(make_study: Callable[..., Study]) -> None:
    sizes = (100, 300, 1000, 3000)
    accuracies = make_study([0.4, 0.55, 0.7, 0.8], [0.3, 0.5, 0.75, 0.9], seeds=2)
    losses = [
        {
            "config": record["config"],
            "score": -40.0 * record["config"]["size"] ** -0.5 * (2 if record["config"]["model"] == "cnn" else 1),
        }
        for record in accuracies.records
    ]
    data = replace(accuracies.data, metric="-loss", best=0.0, reference=None)
    study = replace(accuracies, data=data, records=losses)
    law = study.fit("vit")
    assert law
    assert law.a.value == pytest.approx(40, rel=0.05)
    assert law.b.value == pytest.approx(0.5, rel=0.05)
    assert study.points["vit", 100].value == pytest.approx(-4.0)
    assert (data.measure, data.shown(-4.0), data.error_name) == ("loss", 4.0, "loss")
    assert conclusion(study) == ["vit is ahead of cnn at every size from 100 to 3,000 examples."]
    assert study.sizes == list(sizes)
