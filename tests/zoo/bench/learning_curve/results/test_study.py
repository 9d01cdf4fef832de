from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zoo.bench import Study
from zoo.bench.learning_curve.report.table import conclusion, missing
from zoo.bench.learning_curve.training.tested import pack
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


CHANCE = [0.1, 0.09, 0.11, 0.1]
MORE = "more steps or examples"


@pytest.fixture
def of_ten_classes(make_study: MakeStudy) -> MakeStudy:
    """Make a study whose data say what guessing gives: a tenth."""

    def make(*accuracies: list[float], **options: Any) -> Study:
        study = make_study(*accuracies, **options)
        return replace(study, data=replace(study.data, chance=0.1))

    return make


def test_models_at_chance_have_no_crossing_no_fit_and_no_winner(of_ten_classes: MakeStudy) -> None:
    study = of_ten_classes(CHANCE, CHANCE[::-1])
    assert study.crossover() is None
    assert (study.fit("cnn"), study.fit("vit")) == (None, None)
    assert conclusion(study)[0] == f"All models are at chance: {MORE} are needed."
    assert "always answering the largest class gives 0.100" in conclusion(study)[1]
    assert "grey: at chance, which is 0.100" in str(study.table().caption)


@pytest.mark.parametrize(("right", "small"), [([True] * 6, True), ([True] * 2 + [False] * 4, False)])
def test_a_test_set_too_small_to_tell_is_named_and_no_steps_are_asked_for(
    right: list[bool], small: bool, make_study: MakeStudy
) -> None:
    study = make_study(CHANCE, CHANCE, seeds=1)
    told = {"accuracy": sum(right) / 6, "correct": pack(np.array(right))}
    data = replace(study.data, chance=0.5)
    study = replace(study, data=data, records=[{**record, **told} for record in study.records])
    assert study.at_chance("cnn")
    assert conclusion(study)[0] == (
        "No model is clearly above chance: the test set of 6 examples is too small to tell; "
        "more test examples are needed, not more steps."
        if small
        else f"All models are at chance: {MORE} are needed."
    )


def test_the_noise_of_guesses_is_not_drawn_as_a_crossing(of_ten_classes: MakeStudy) -> None:
    """Without chance known, this noise has a crossing that is measured, as the issue saw."""
    study = of_ten_classes([0.12, 0.12, 0.06, 0.06], [0.06, 0.06, 0.11, 0.11], seeds=1)
    blind = replace(study, data=replace(study.data, chance=None)).crossover()
    assert blind
    assert blind.kind == "measured"
    assert study.crossover() is None


def test_a_model_at_chance_beside_one_that_learns_is_named_and_not_extrapolated(of_ten_classes: MakeStudy) -> None:
    study = of_ten_classes([0.1, 0.2, 0.3, 0.4], CHANCE)
    assert [study.at_chance("cnn", size) for size in study.sizes] == [True, False, False, False]
    assert conclusion(study) == [
        "cnn is ahead of vit from 300 on, up to 3,000 examples: no crossing was measured. "
        f"vit is at chance at every size: it needs {MORE}."
    ]
    found = study.crossover()
    assert found
    assert (found.kind, found.size) == ("none", None)
    assert study.fit("vit") is None
    assert study.fit("cnn") is not None


def test_a_model_at_chance_is_not_followed_beyond_the_largest_size(of_ten_classes: MakeStudy) -> None:
    study = of_ten_classes([0.2] * 4, [0.02, 0.05, 0.08, 0.11])
    assert study.at_chance("vit")
    blind = replace(study, data=replace(study.data, chance=None)).crossover()
    assert blind
    assert blind.kind == "extrapolated"
    found = study.crossover()
    assert found
    assert (found.kind, found.size) == ("none", None)


def test_sizes_at_which_both_are_at_chance_decide_nothing(of_ten_classes: MakeStudy) -> None:
    study = of_ten_classes([0.12, 0.2, 0.3, 0.4], [0.09, 0.4, 0.5, 0.6], seeds=1)
    assert study.compared("cnn", "vit") == [300, 1000, 3000]
    assert conclusion(study) == ["vit is ahead of cnn at every size from 300 to 3,000 examples."]


def test_models_that_cannot_be_told_apart_have_no_crossing(make_study: MakeStudy) -> None:
    study = make_study([0.41, 0.51, 0.59, 0.69], [0.4, 0.5, 0.6, 0.7])
    assert not any(study.clear("cnn", "vit"))
    assert study.crossover() is None


def test_one_seed_of_three_above_chance_is_no_margin(of_ten_classes: MakeStudy) -> None:
    """The mean of such a point is above what guesses give; its interval over seeds is not."""
    study = of_ten_classes([0.3] * 4, [0.3] * 4)
    records = [
        record if record["config"]["seed"] == 0 else {**record, **guess}
        for record, guess in zip(study.records, of_ten_classes(CHANCE, CHANCE).records, strict=True)
    ]
    mixed = replace(study, records=records)
    assert mixed.points["cnn", 100].value > 0.13
    assert mixed.at_chance("cnn", 100)
    assert not study.at_chance("cnn", 100)


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


def test_a_curve_begins_where_a_model_leaves_chance(of_ten_classes: MakeStudy) -> None:
    study = of_ten_classes([0.1, 0.2, 0.3, 0.4], CHANCE)
    curve = study.curve("cnn")
    assert curve.sizes == [300, 1000, 3000]
    assert curve.errors == pytest.approx([1 - study.points["cnn", size].value for size in curve.sizes])
    assert curve.draws.shape == (1000, 3)
    assert study.curve("vit").sizes == []


def test_the_replicates_of_a_curve_vary_as_new_seeds_would(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE, seeds=2)
    drawn, point = study.curve("cnn").draws[:, 0], study.points["cnn", 100]
    assert np.quantile(drawn, 0.975) - np.quantile(drawn, 0.025) == pytest.approx(2**0.5 * 2 * point.half, rel=0.01)


def test_a_study_without_its_largest_size_has_the_same_points(make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    before = study.without_largest
    assert before.sizes == [100, 300, 1000]
    assert before.points["vit", 300].value == study.points["vit", 300].value
    assert ("vit", 3000) not in before.points


def test_a_crossing_beyond_the_data_is_told_with_its_back_test(make_study: MakeStudy) -> None:
    cnn, vit = [0.5, 0.53, 0.56, 0.59], [0.1, 0.25, 0.38, 0.5]
    study = make_study(cnn, vit)
    found = conclusion(study)[0]
    assert "Extrapolated, the fitted curves cross at about" in found
    check = study.check_crossing()
    assert check
    assert check.measured is None
    assert f"Back-test: the sizes up to 1,000 predict {'one at about' if check.predicted else 'none'}" in found
    assert f"none was measured up to 3,000: that prediction {'held' if check.held else 'failed'}." in found
    short = make_study(cnn[1:], vit[1:], sizes=(300, 1000, 3000))
    assert short.check_crossing() is None
    assert conclusion(short)[0].endswith("None is extrapolated, since the smaller sizes give no back-test of it.")
