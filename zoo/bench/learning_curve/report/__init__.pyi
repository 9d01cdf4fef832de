"""Public names of the report of a study."""

from zoo.bench.learning_curve.report.files import write_report as write_report
from zoo.bench.learning_curve.report.json_summary import summary as summary
