"""The former place of `zoo.bench.decision.bootstrap` and `zoo.bench.decision.curve_fit`."""

from zoo.bench.decision.bootstrap import Array as Array
from zoo.bench.decision.bootstrap import Interval as Interval
from zoo.bench.decision.bootstrap import bootstrap as bootstrap
from zoo.bench.decision.bootstrap import bootstrap_seeds as bootstrap_seeds
from zoo.bench.decision.bootstrap import draw_examples as draw_examples
from zoo.bench.decision.bootstrap import guessing_limit as guessing_limit
from zoo.bench.decision.bootstrap import interval as interval
from zoo.bench.decision.curve_fit import Crossover as Crossover
from zoo.bench.decision.curve_fit import PowerLaw as PowerLaw
from zoo.bench.decision.curve_fit import find_crossover as find_crossover
from zoo.bench.decision.curve_fit import fit_power_law as fit_power_law
