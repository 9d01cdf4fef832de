from collections.abc import Callable
from dataclasses import replace

from zoo.bench.learning_curve.contestants.recipes import RECIPE
from zoo.bench.learning_curve.report.recipe_text import recipe_text
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tuning import Tuning

MakeStudy = Callable[..., Study]
TUNING = Tuning(
    size=300,
    steps=77,
    seeds=(1000, 1001),
    scores=((1e-3, 0.3), (1e-2, None)),
    learning_rate=1e-3,
    seconds=1234.5,
    kept=True,
)


def test_a_recipe_tells_all_that_decides_a_training(make_study: MakeStudy) -> None:
    study = make_study([0.5, 0.6], [0.5, 0.6], sizes=(100, 300))
    study = replace(study, steps={100: 10, 300: 1200})
    entry = replace(study.models[0], optimizer="adamw", recipe=replace(RECIPE, warmup=0.25), augment=True)
    assert recipe_text(study, entry) == (
        "AdamW on all parameters (adamw), at a peak learning rate of 0.001, which is the recipe's: none was chosen on "
        "validation. 10 to 1,200 steps, more at larger sizes, in batches of 32, with warm-up over the first 25 % of "
        "them; weight decay 0.05; the augmentation of the source."
    )


def test_a_chosen_rate_is_told_with_its_budget(make_study: MakeStudy) -> None:
    study = make_study([0.5], [0.5], sizes=(100,))
    text = recipe_text(study, study.models[0].tuned(TUNING))
    assert "the best on validation of 0.001, 0.01: 4 pilot runs of 77 steps on 300 examples for the package" in text
    assert "1,234 s of training in all" in text
    assert "in this study" in recipe_text(study, study.models[0].tuned(replace(TUNING, kept=False)))


def test_the_precisions_and_devices_are_those_of_the_runs(make_study: MakeStudy) -> None:
    study = make_study([0.5], [0.5], sizes=(100,))
    where: tuple[dict[str, str], ...] = (
        {"precision": "32-true", "device": "cpu"},
        {"precision": "bf16-mixed", "device": "cuda:0"},
        {},
    )
    records = [{**record, **each} for record, each in zip(study.records, [*where, *where], strict=True)]
    text = recipe_text(replace(study, records=records), study.models[0])
    assert text.endswith("; precision 32-true on cpu and bf16-mixed on cuda:0.")
