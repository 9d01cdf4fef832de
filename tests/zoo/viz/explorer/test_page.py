"""The page as text: nothing from outside, and no input that becomes code."""

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace

import numpy as np
import pytest

from zoo.viz.explorer.page import page
from zoo.viz.explorer.pane import Pane, Shown

HOSTILE = "</script><script>document.title='taken'</script><b title=\"'&amp;"


def pane(title: str = "toy") -> Pane:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 3)
    maps = [Shown("encoder", 1, head, weights, "source", "source", {"entropy": 1.0}) for head in (1, 2)]
    return Pane(title, maps, {"source": {"names": ["a", HOSTILE, "c"], "tokens": True}}, None, None, [])


def test_nothing_is_asked_from_outside_and_only_its_own_script_runs() -> None:
    text = page([pane()], "zoo explore toy")
    assert not re.search(r"(?:src|href)=\"?(?:https?:)?//", text)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_hostile_names_are_text() -> None:
    text = page([pane(HOSTILE)], HOSTILE)
    assert "<script>document" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["panes"][0]["title"] == HOSTILE


def test_panes_say_where_their_numbers_are() -> None:
    data = json.loads(re.search(r'id="data">(.*?)</script>', page([pane(), pane()]), re.DOTALL)[1])
    assert [each["at"] for one in data["panes"] for each in one["maps"]] == [[0, 0], [3, 9], [6, 18], [9, 27]]
    assert (data["scales"], data["numbers"], data["bits"]) == (12, 36, 16)


def test_random_weights_are_told_and_of_which_pane_where_there_are_two() -> None:
    learned, random = pane("after"), replace(pane("before <b>"), random=True)
    note = re.compile(r"<p class=random role=note>(.*?)</p>")
    assert note.findall(page([learned])) == []
    assert note.findall(page([random])) == ["The weights are random: the model was not trained."]
    assert note.findall(page([random, random])) == note.findall(page([random]))
    (both,) = note.findall(page([learned, random]))
    assert both.startswith("The weights of before &lt;b&gt; are random")


def test_a_still_picture_stands_where_no_script_runs() -> None:
    text = page([pane()])
    still = text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert 'alt="toy: attention weights' in still
    assert "data:image/png;base64," in still


@pytest.mark.parametrize(
    ("layers", "heads", "tokens", "most"),
    [(12, 3, 197, 8_000_000), (2, 2, 64, 1_000_000)],
    ids=["vit-tiny", "bert-tiny"],
)
def test_a_page_of_a_small_model_is_small(layers: int, heads: int, tokens: int, most: int) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(tokens), (layers * heads + 3, tokens))
    shown = [
        Shown("encoder", at // heads + 1, at % heads + 1, each, "source", "source") for at, each in enumerate(weights)
    ]
    side = {"names": [f"row {at}" for at in range(tokens)], "tokens": True}
    assert len(page([Pane("toy", shown, {"source": side}, None, None, [])]).encode()) < most
