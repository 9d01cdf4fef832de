from collections.abc import Callable
from dataclasses import replace

import numpy as np
from matplotlib.colors import to_hex

from zoo.bench.learning_curve.report.compute_figure import draw_compute
from zoo.bench.learning_curve.report.figure import draw
from zoo.bench.learning_curve.results.compute import AXES, spent
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.study.marks import marks

MakeStudy = Callable[..., Study]
WORSE, BETTER = [0.2, 0.3, 0.4, 0.5], [0.4, 0.5, 0.6, 0.7]


def test_the_title_of_the_figure_fits_its_width(make_study: MakeStudy) -> None:
    figure = draw(make_study(BETTER, WORSE))
    figure.canvas.draw()
    (title,) = [text for text in figure.texts if text.get_fontweight() == "bold"]
    assert title.get_window_extent().x1 <= figure.bbox.x1


def test_curves_have_the_marks_of_their_models(make_study: MakeStudy) -> None:
    study = make_study(BETTER, WORSE)
    (axes,) = draw(study).axes
    drawn = {str(line.get_label()).partition(" ")[0]: line for line in axes.lines}
    for name, mark in marks(study.kinds).items():
        assert (drawn[name].get_marker(), to_hex(drawn[name].get_color())) == (mark.marker, mark.light.lower())


def test_nothing_is_drawn_through_models_at_chance(make_study: MakeStudy) -> None:
    study = make_study([0.1] * 4, [0.1] * 4)
    (axes,) = draw(replace(study, data=replace(study.data, chance=0.1, reference=None))).axes
    assert "crossover" not in " ".join(text.get_text() for text in axes.texts)
    assert [str(line.get_label()).partition(":")[0] for line in axes.lines] == [
        "cnn (CNN, 1 k parameters)",
        "vit (self-attention, 1 k parameters)",
        "chance",
    ]


def test_a_panel_for_each_cost_has_every_model_and_the_crossover(make_study: MakeStudy) -> None:
    study = make_study(BETTER, [0.2, 0.4, 0.7, 0.9])
    figure = draw_compute(study)
    assert figure is not None
    assert [axes.get_xlabel() for axes in figure.axes] == list(AXES.values())
    seconds, operations = figure.axes
    costs = spent(study, "seconds")
    (line,) = [line for line in seconds.lines if line.get_label() == "vit"]
    assert np.asarray(line.get_xdata()).tolist() == [costs["vit", size] for size in study.sizes]
    assert seconds.get_title().startswith("crossover ")
    assert operations.get_title() == ""  # all points have one cost
    assert [each.get_linestyle() for each in (seconds.lines[0], operations.lines[0])] == ["-", "None"]
    bare = [{key: record[key] for key in ("config", "accuracy", "correct")} for record in study.records]
    assert draw_compute(replace(study, records=bare)) is None
