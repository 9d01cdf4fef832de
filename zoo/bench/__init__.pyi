"""Public names of the studies and of benchmarks against peers."""

from zoo.bench.grid.engine import Grid as Grid, run_grid as run_grid
from zoo.bench.grid.ray_executor import RayExecutor as RayExecutor
from zoo.bench.grid.results_store import Store as Store
from zoo.bench.grid.worker_pool import WorkerPool as WorkerPool
from zoo.bench.int8 import Int8Quality as Int8Quality, int8_quality as int8_quality
from zoo.bench.learning_curve.command import Study as Study, data_size as data_size
from zoo.bench.speed.case import Bytes as Bytes, Case as Case, Job as Job, Seconds as Seconds
from zoo.bench.speed.quality import compare_choices as compare_choices, compare_scores as compare_scores
from zoo.bench.interruption import resumable as resumable
from zoo.bench.study.definition import GridStudy as GridStudy
from zoo.bench.study.options import names_in as names_in, numbers_in as numbers_in
from zoo.bench.study.report import Report as Report, ReportTable as ReportTable
