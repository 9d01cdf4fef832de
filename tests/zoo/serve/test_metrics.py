"""Metrics in Prometheus's text format."""

import re
from typing import Any

from prometheus_client.parser import text_string_to_metric_families


def values(text: str, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_requests_are_counted_by_path_and_status_and_batches_by_size(pictures: Any, draw: Any, form_of: Any) -> None:
    before = values(pictures("/metrics")[1], "zoo_requests_total")
    assert pictures("/predict", *form_of(draw(0), draw(1)))[0] == 200
    assert pictures("/predict", b"{", {"content-type": "application/json"})[0] == 400
    assert pictures("/no/such/path")[0] == 404
    text = pictures("/metrics")[1]
    after = values(text, "zoo_requests_total")
    for path, status in (("/predict", "200"), ("/predict", "400"), ("other", "404")):
        key = (("path", path), ("status", status))
        assert after[key] - before.get(key, 0) == 1
    assert sum(values(text, "zoo_batch_inputs_sum").values()) >= 2
    assert re.search(r"^zoo_queue_inputs 0.0$", text, re.MULTILINE)
