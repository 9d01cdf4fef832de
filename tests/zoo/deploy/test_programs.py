from typing import Any

import torch

import zoo
from zoo.deploy.programs import Program, programs

TINY: dict[str, Any] = {"depth": 1, "dim": 32, "num_heads": 2, "mlp_dim": 32}


def only(name: str, **options: Any) -> Program:
    (program,) = programs(zoo.create(name, **options).eval())
    return program


def test_axes_whose_sizes_differ_are_dynamic() -> None:
    assert only("vit-micro", depth=1).dynamic_axes() == [[0]]
    texts = only("bert-tiny", depth=1)
    assert dict(zip(texts.names, texts.dynamic_axes(), strict=True)) == {"ids": [0, 1], "valid": [0]}


def test_sounds_are_read_as_features_and_graphs_by_the_names_of_their_tensors() -> None:
    sounds = only("conformer-tiny", depth=1)
    assert sounds.names == ("features", "lengths")
    assert sounds.cases[0][0].shape[2] == 80
    assert only("graph-tiny", depth=1).names == ("x", "edge_index", "edge_attr", "batch")


def test_features_of_sounds_give_the_answer_of_the_samples() -> None:
    model = zoo.create("conformer-tiny", depth=1).eval()
    (program,) = programs(model)
    with torch.no_grad():
        expected = model(*zoo.example("conformer-tiny", 2, 0))
        torch.testing.assert_close(program.module(*program.cases[0]), expected)


def test_edges_of_a_program_are_those_that_a_model_reads() -> None:
    program = only("gat-cora")
    index = program.cases[0][1]
    loops = index[:, index[0] == index[1]]
    assert loops.shape[1] == len(program.cases[0][0])


def test_models_that_write_have_a_cache_and_those_with_an_encoder_two_programs() -> None:
    (decode,) = programs(zoo.create("decoder-tiny", **TINY).eval())
    assert decode.names == ("ids", "mask", "key_0", "value_0")
    assert decode.outputs == ("scores", "new_key_0", "new_value_0")
    encode, decode = programs(zoo.create("transformer-tiny", **TINY).eval())
    assert encode.outputs == ("source_mask", "source_key_0", "source_value_0")
    assert decode.names[-3:] == encode.outputs


def test_a_joined_model_of_graphs_reads_their_tensors_and_gives_each_graph_a_row() -> None:
    encode, decode = programs(zoo.create("joined:graph-tiny+decoder-tiny", depth=1).eval())
    assert encode.names == ("x", "edge_index", "edge_attr", "batch")
    assert set(encode.outputs) < set(decode.names)
    with torch.no_grad():
        mask, *_ = encode.module(*encode.cases[0])
    assert mask.sum(1).tolist() == encode.cases[0][3].bincount().tolist()
    encode, _ = programs(zoo.create("joined:gat-cora+decoder-tiny").eval())
    assert encode.names == ("x", "edge_index", "batch")


def test_a_model_that_streams_has_a_step_and_one_that_reads_the_whole_has_none() -> None:
    streaming: dict[str, Any] = {"window": [640, 0], "convolution": "causal", "normalise": "running"}
    whole, step = programs(zoo.create("conformer-tiny", depth=1, task="tag", num_classes=3, **streaming).eval())
    assert (whole.name, step.name) == ("model", "step")
    assert step.names[:3] == ("features", "seen", "end")
    assert step.dynamic_axes()[:4] == [[0], [], [], [1]]
    assert len(programs(zoo.create("conformer-tiny", depth=1).eval())) == 1
