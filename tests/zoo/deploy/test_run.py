import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import zoo
from zoo.deploy import run
from zoo.plugins.shared.audio.log_mel import LogMel


def about(name: str) -> dict[str, object]:
    return zoo.preprocess(name).portable()


def test_features_of_sounds_are_those_of_the_model() -> None:
    sound = torch.randn(4000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = run.log_mel(sound.numpy(), about("conformer-tiny"))
    np.testing.assert_allclose(found, LogMel()(sound[None])[0].numpy(), rtol=1e-4, atol=1e-4)


def test_images_are_prepared_as_by_the_model(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (300, 260, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = run.read_image(str(tmp_path / "a.png"), about("vit-small"), tmp_path)["pixels"]
    np.testing.assert_allclose(found[0], zoo.preprocess("vit-small")(tmp_path / "a.png").numpy(), atol=1e-5)


def test_texts_have_the_ids_of_the_model(tmp_path: Path) -> None:
    prepare = zoo.preprocess("transformer-tiny")
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


def test_repetitions_go_before_blanks() -> None:
    assert run.collapsed(np.array([0, 3, 3, 0, 3, 4, 4, 0]), 0) == [3, 3, 4]
