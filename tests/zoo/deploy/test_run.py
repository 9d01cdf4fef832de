import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo.deploy import run
from zoo.deploy.bundle import described
from zoo.deploy.programs import Program, programs
from zoo.plugins.graph.io.preprocess import Preprocess
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.models.text_to_speech import SpeechOutput


def about(name: str) -> dict[str, Any]:
    prepare: Any = zoo.preprocess(name)
    return prepare.portable()


def test_features_of_sounds_are_those_of_the_model() -> None:
    sound = torch.randn(4000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = run.log_mel(sound.numpy(), about("conformer-tiny"))
    np.testing.assert_allclose(found, LogMel()(sound[None])[0].numpy(), rtol=1e-4, atol=1e-4)


def test_a_sound_of_frames_is_that_of_the_model() -> None:
    sounds: Any = zoo.postprocess("speech-synthesis-tiny")
    generator = torch.Generator().manual_seed(0)
    rough = torch.randn(20, 80, dtype=torch.float64, generator=generator).cumsum(0) / 2 - 7
    found = run.sound_of(rough.numpy(), sounds.portable())
    spoken = SpeechOutput(rough[None].float(), torch.tensor([20]))
    (expected,) = sounds(spoken)
    assert len(found) == len(expected)
    assert np.abs(found - expected.numpy()).max() < 0.02 * np.abs(found).max()


def test_images_are_prepared_as_by_the_model(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (300, 260, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = run.read_image(str(tmp_path / "a.png"), about("vit-small"), tmp_path)["pixels"]
    np.testing.assert_allclose(found[0], zoo.preprocess("vit-small")(tmp_path / "a.png").numpy(), atol=1e-5)


def test_texts_have_the_ids_of_the_model(tmp_path: Path) -> None:
    prepare: Any = zoo.preprocess("transformer-tiny")
    prepare.tokenizer.save(tmp_path / "tokenizer.json")
    found = run.read_text("ab </s>", about("transformer-tiny"), tmp_path)
    ids, _ = prepare("ab </s>")
    assert found["ids"] == ids.tolist()
    assert found["valid"] == [ids.shape[1]]


def test_edges_are_those_that_the_model_reads() -> None:
    model = zoo.create("gat-cora", node_features=2)
    line = {"x": [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], "edge_index": [[0, 1, 1], [1, 1, 2]]}
    found = run.read_graph(json.dumps(line), model.portable(), Path())
    _, expected, _ = model.precomputed(torch.tensor(line["x"]), torch.tensor(line["edge_index"]))
    assert {*map(tuple, found["edge_index"].T)} == {*map(tuple, expected.T.tolist())}


def test_a_graph_has_the_tensors_that_the_library_reads() -> None:
    model: Any = zoo.create("graph-tiny", depth=1, node_features=1, edge_features=1)
    line = json.dumps({"x": [0.5, 2.0, 1.0], "edges": [[0, 1], [1, 2], [2, 0]], "edge_attr": [1.0, 2.0, 3.0]})
    found = run.read_graph(line, model.portable(), Path())
    names = ("x", "edge_index", "edge_attr", "batch")
    for name, expected in zip(names, model.precomputed(*zoo.preprocess(model)(line)), strict=True):
        np.testing.assert_array_equal(found[name], expected.numpy())


def test_nodes_without_features_are_counted_and_a_graph_may_have_no_edges() -> None:
    about = {"direction": "forward", "self_loops": "keep"}
    found = run.read_graph('{"nodes": 3, "edges": []}', about, Path())
    assert found["x"].shape == (3, 0)
    assert found["edge_index"].shape == (2, 0)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("CCO", "'CCO': this model"),
        ("[1]", r"'\[1\]': it has no edges"),
        ('{"x": [[1]]}', "it has no edges"),
        ('{"edges": [], "x": null}', "it has no nodes"),
        ('{"nodes": 2.0, "edges": []}', r"nodes=2\.0 is no number of nodes"),
        ('{"x": [1], "nodes": 2, "edges": []}', "nodes=2, and x has 1 rows"),
        ('{"x": [[1]], "edges": [[0]]}', r"edges of shape \(1, 1\) are not \[\[source, target\], …\];"),
        (
            '{"x": [1, 2, 3, 4], "edges": [[0, 1, 2, 3], [1, 2, 3, 0]]}',
            r"\(2, 4\) are not \[\[source, target\], …\]: transpose them",
        ),
        (
            '{"x": [1, 2, 3], "edge_index": [[0, 1], [1, 2], [2, 0]]}',
            r"\(3, 2\) are not \[\[source, …\], \[target, …\]\]: tr",
        ),
        ('{"x": [1, 2], "edge_index": [[0, 1], [1]]}', "inhomogeneous shape"),
        ('{"x": [1, 2], "edge_index": "0 1"}', "edge_index='0 1' are not"),
        ('{"x": [1, 2], "edges": [[0, 0.7]]}', r"edges name 0\.7, and nodes are whole numbers"),
        ('{"x": [1, 2], "edges": [["0", "1"]]}', "edges name '0', and nodes are whole numbers"),
        ('{"x": [1, 2], "edges": [[0, 36893488147419103232]]}', "too large"),
        ('{"x": [1, 2], "edges": [[0, 1], [0, 2]]}', r"edges joins \[0, 2\], and there are 2 nodes, 0 … 1"),
        ('{"x": [1, 2], "edge_index": [[-1], [1]]}', r"edge_index joins \[-1, 1\], and there are 2 nodes"),
        ('{"x": ["a", "b"], "edges": []}', r"x=\['a', 'b'\] is no table of finite numbers"),
        ('{"x": [NaN], "edges": []}', r"x=\[nan\] is no table of finite numbers"),
        ('{"x": 3, "edges": []}', "x=3 is no table of finite numbers"),
        ('{"x": [1, 2], "edges": [[0, 1]], "edge_attr": [1, 2]}', "edge_attr has 2 rows for 1 edges"),
    ],
)
def test_what_is_no_graph_is_told_how_one_is_written(raw: str, told: str) -> None:
    with pytest.raises(SystemExit, match=f"{told}.* reads lines of JSON, .*edges"):
        run.read_graph(raw, {"direction": "forward", "self_loops": "keep"}, Path())


def test_nodes_that_are_not_counted_are_those_of_the_edges_and_null_is_not_there() -> None:
    line = '{"x": null, "edges": [[0, 4], [2, 1]], "edge_attr": null}'
    found = run.read_graph(line, {"direction": "forward", "self_loops": "keep"}, Path())
    x, index, attr, _ = Preprocess({})('{"edges": [[0, 4], [2, 1]]}')
    assert attr is None
    assert "edge_attr" not in found
    assert found["x"].shape == x.shape == (5, 0)
    assert found["edge_index"].tolist() == index.tolist()


def test_features_of_edges_are_refused_where_the_rules_change_the_edges_though_not_their_number() -> None:
    line = '{"nodes": 2, "edges": [[0, 0], [0, 0], [0, 1]], "edge_attr": [1, 2, 3]}'
    with pytest.raises(SystemExit, match="the model reads other edges than those that have features"):
        run.read_graph(line, {"direction": "forward", "self_loops": "replace"}, Path())
    found = run.read_graph(line, {"direction": "backward", "self_loops": "keep"}, Path())
    assert found["edge_index"].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert found["edge_attr"].tolist() == [[1], [2], [3]]


def test_the_molecule_of_the_page_has_the_tensors_that_the_library_reads(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    pytest.importorskip("torch_geometric")
    page = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")
    (block,) = (part for part in page.split("```python\n")[1:] if "from_smiles" in part)
    exec(block.partition("```")[0], {})
    model: Any = zoo.create("graph-tiny", depth=1)
    found = run.read_graph(capsys.readouterr().out, model.portable(), Path())
    names = ("x", "edge_index", "edge_attr", "batch")
    for name, expected in zip(names, model.precomputed(*zoo.preprocess(model)("CCO")), strict=True):
        np.testing.assert_array_equal(found[name], expected.numpy())


def test_repetitions_go_before_blanks() -> None:
    assert run.collapsed(np.array([0, 3, 3, 0, 3, 4, 4, 0]), 0) == [3, 3, 4]


def test_bytes_that_end_within_a_character_leave_the_others_readable() -> None:
    tokenizer = Tokenizer.byte_level()
    assert tokenizer.unk is not None
    ids = [tokenizer.unk, *(4 + byte for byte in "né".encode()[:2]), 10**6]
    assert json.loads(tokenizer.backend.to_str())["decoder"] == run.BYTES
    assert run.text_of_bytes(ids, tokenizer.backend) == tokenizer.decode(ids[:-1]) == "<unk>n\ufffd"


class Traceless:
    """An exported model whose programs are computed by PyTorch, at once."""

    def __init__(self, model: Any) -> None:
        self.programs: dict[str, Program] = {program.name: program for program in programs(model)}
        about = {name: described(program, Path()) for name, program in self.programs.items()}
        prepare: Any = zoo.preprocess(model)
        self.about = {"input": prepare.portable(), "programs": about}

    @torch.no_grad()
    def run(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        program = self.programs[name]
        inputs = [
            torch.as_tensor(np.asarray(given[one])).to(x.dtype)
            for one, x in zip(program.names, program.cases[0], strict=True)
        ]
        return {name: x.numpy() for name, x in zip(program.outputs, program.module(*inputs), strict=True)}


@pytest.mark.parametrize(
    "options",
    [
        {"window": [640, 0], "convolution": "causal", "normalise": "running"},
        {"window": [160, 80], "convolution": "same", "normalise": "none", "position": "rotary"},
        {"window": [160, 0], "convolution": "same", "normalise": "running", "position": "sinusoidal"},
    ],
)
@pytest.mark.parametrize("samples", [3000, 17000])
def test_a_sound_that_comes_is_answered_as_by_a_stream(options: dict[str, Any], samples: int) -> None:
    torch.manual_seed(0)
    model: Any = zoo.create("conformer-tiny", depth=2, task="tag", num_classes=3, kernel_size=7, **options).eval()
    sound = torch.randn(samples, dtype=torch.float64)
    with model.stream() as stream:
        expected = [stream.push(sound.float()[None])]
    expected.append(stream.rest)
    made = run.SoundStream(Traceless(model))  # type: ignore[arg-type]
    found = [made.push(part.numpy(), last) for part, last in ((sound[:2500], False), (sound[2500:], True))]
    answers = np.concatenate([x for x in found if len(x)])
    np.testing.assert_allclose(answers, torch.cat(expected, 1)[0].detach().numpy(), rtol=1e-4, atol=1e-4)


def test_labels_that_do_not_exclude_each_other_have_a_probability_each() -> None:
    made = run.Exported.__new__(run.Exported)
    made.about = {"task": "multi-label", "labels": ["a", "b"]}
    assert made.labelled(np.array([[-1.0, 2.0]], np.float32)) == {"b": 0.8808, "a": 0.2689}
    made.about = {"task": "classify", "labels": ["a", "b"]}
    assert sum(made.labelled(np.array([[-1.0, 2.0]], np.float32)).values()) == 1
