"""`ServedModel`: batches of raw inputs to answers as JSON values."""

import struct
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.answers import as_json
from zoo.errors import ConfigError
from zoo.pipeline import Pipeline
from zoo.serve.limits import Limits
from zoo.serve.raw_inputs import Upload
from zoo.serve.refusal import Refusal
from zoo.serve.served_model import ServedModel


def test_what_cannot_be_read_is_told_and_the_others_are_answered(labeller: str, draw: Any) -> None:
    served = ServedModel(Pipeline(labeller), Limits())
    names = ("a.png", "b.png", "c.png")
    files = [Upload(data, name) for data, name in zip((draw(0), b"no picture", draw(1)), names, strict=True)]
    first, bad, last = served.answer(files, ("answers", ()))
    assert isinstance(bad, Refusal)
    assert bad.text == "an input cannot be read: cannot identify image file 'b.png'"
    for answer, file in ((first, files[0]), (last, files[2])):
        assert answer["labels"] == pytest.approx(served.answer([file], ("answers", ()))[0]["labels"], abs=1e-5)
    assert first != last


def test_labels_are_cut_and_features_are_rows_of_the_models_channels(labeller: str, draw: Any) -> None:
    served = ServedModel(Pipeline(labeller), Limits())
    options = served.options("answers", {"top": "1"})
    (answer,) = served.answer([Upload(draw(0), "a")], options)
    assert len(answer["labels"]) == 1
    (found,) = served.answer([Upload(draw(0), "a")], served.options("features", {}))
    assert len(found["features"]) == served.pipeline.model.num_features
    with pytest.raises(Refusal, match="there is no option 'beam'"):
        served.options("answers", {"beam": 2})
    with pytest.raises(Refusal, match=r"there is no option 'top'. The request takes none"):
        served.options("features", {"top": 2})


def test_molecules_have_feature_vectors_though_one_among_them_is_none() -> None:
    served = ServedModel(Pipeline("graph-tiny", model=zoo.create("graph-tiny").eval()), Limits())
    first, bad, last = served.answer(["CCO", "no molecule", "c1ccccc1"], ("features", ()))
    assert isinstance(bad, Refusal)
    alone = [served.answer([text], ("features", ()))[0]["features"] for text in ("CCO", "c1ccccc1")]
    assert [first["features"], last["features"]] == [pytest.approx(row, abs=1e-5) for row in alone]
    assert alone[0] != alone[1]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (EOFError("at byte 7"), Refusal, "'b.png' cannot be read: EOFError: at byte 7"),
        (struct.error("unpack"), Refusal, "'b.png' cannot be read: error: unpack"),
        (RuntimeError("a fault"), RuntimeError, "a fault"),
    ],
)
def test_whatever_a_decoder_raises_fails_for_its_own_input_only(
    labeller: str, draw: Any, error: Exception, kind: type[Exception], text: str
) -> None:
    pipeline = Pipeline(labeller)
    read = pipeline.preprocess

    def decode(raw: Any) -> Any:
        for each in raw:
            if each.read() == b"broken":  # reads to the end: what is asked again has to be rewound
                raise error
        return read(raw)

    vars(pipeline)["preprocess"] = decode
    served = ServedModel(pipeline, Limits())
    names = ("a.png", "b.png", "c.png")
    files = [Upload(data, name) for data, name in zip((draw(0), b"broken", draw(1)), names, strict=True)]
    first, bad, last = served.answer(files, ("answers", ()))
    assert (type(bad), str(bad)) == (kind, text)
    for answer, file in ((first, files[0]), (last, files[2])):
        assert answer["labels"] == pytest.approx(served.answer([file], ("answers", ()))[0]["labels"], abs=1e-5)
    (alone,) = served.answer([files[1]], ("answers", ()))
    assert (type(alone), str(alone)) == (kind, text)


def test_an_input_on_which_the_model_fails_fails_alone(labeller: str, draw: Any) -> None:
    pipeline = Pipeline(labeller)
    answers = pipeline.answers

    def failing(raw: list[Any], masks: int | None = None) -> list[Any]:
        if any(str(each) == "b.png" for each in raw):
            raise RuntimeError("a fault of the model")
        return answers(raw, masks)

    pipeline.answers = failing  # type: ignore[method-assign]
    served = ServedModel(pipeline, Limits())
    first, bad = served.answer([Upload(draw(0), "a.png"), Upload(draw(1), "b.png")], ("answers", ()))
    assert isinstance(bad, RuntimeError)
    assert len(first["labels"]) == 2


def test_new_tokens_are_bounded_where_the_model_has_a_bound_of_its_own() -> None:
    model: Any = zoo.create("transformer-tiny", position="learned", depth=1).eval()
    assert model.max_len is not None
    served = ServedModel(Pipeline("transformer-tiny", model=model), Limits(max_new=3, max_tokens=24, max_batch=5))
    for given in ({}, {"max_len": None}):
        options = served.options("answers", given)
        assert dict(options[1])["max_len"] == 3
    (answer,) = served.answer(["a"], options)
    assert len(answer["answers"][0]["text"]) <= 3
    assert [served.together(served.options("answers", given)) for given in ({}, {"beam": 4}, {"beam": 64})] == [5, 2, 1]
    served.check_tokens(8, options)
    with pytest.raises(Refusal, match="9 x 1 x 3, are 27, more than 24") as refused:
        served.check_tokens(9, options)
    assert refused.value.status == 413


def test_published_weights_fill_masks_as_predict_does_if_that_is_their_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.plugins.shared.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.train(["the cat sees the dog"], "wordpiece", 40)
    spec = zoo.info("bert-base")
    size = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "vocab_size": tokenizer.vocab_size}
    for key, value in size.items():
        monkeypatch.setitem(spec.config, key, value)
    monkeypatch.setitem(spec.weights, "uncased", f"local-dir:{tmp_path}")
    zoo.weights.save(zoo.create("bert-base", task="masked-token"), tmp_path)
    tokenizer.save(tmp_path / "tokenizer.json")
    pipeline = Pipeline("bert-base", task="masked-token")
    served = ServedModel(pipeline, Limits())
    (found,) = served.answer(["the [MASK] sees"], served.options("answers", {"top": 5}))
    ((_, wanted),) = pipeline.predict(["the [MASK] sees"], masks=5)
    assert found == as_json(wanted)
    with pytest.raises(Refusal, match="ask for /features, or serve it with --task masked-token"):
        ServedModel(Pipeline("bert-base", model=pipeline.model), Limits()).options("answers", {})


def test_a_model_that_writes_sounds_is_refused() -> None:
    model = zoo.create("speech-synthesis-tiny", depth=1)
    with pytest.raises(ConfigError, match="writes no tokens"):
        ServedModel(Pipeline("speech-synthesis-tiny", model=model), Limits())
