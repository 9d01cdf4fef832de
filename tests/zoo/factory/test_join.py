"""`zoo.join` and trainings by the name of a joined model."""

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.factory.join import _named

ENCODER: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
DECODER: dict[str, Any] = {**ENCODER, "max_len": 64}


def test_joining_is_creating_by_name() -> None:
    torch.manual_seed(0)
    one = zoo.join("bert-micro", "decoder-tiny", "pool:4", encoder_config=ENCODER, decoder_config=DECODER)
    torch.manual_seed(0)
    name = "joined:bert-micro+decoder-tiny"
    other = zoo.create(name, bridge="pool:4", decoder_config=DECODER, **ENCODER)
    assert one.spec == other.spec
    assert all(torch.equal(x, y) for x, y in zip(one.parameters(), other.parameters(), strict=True))


def test_what_is_frozen_may_be_a_list() -> None:
    one, other = (
        zoo.join("bert-micro", "decoder-tiny", freeze=freeze, encoder_config=ENCODER, decoder_config=DECODER)
        for freeze in ("encoder,decoder.norm.*", ["encoder", "decoder.norm.*"])
    )
    assert one.spec == other.spec
    wanted = [name for name, value in one.named_parameters() if value.requires_grad]
    assert wanted == [name for name, value in other.named_parameters() if value.requires_grad] != []


def test_a_model_in_place_of_a_name_is_refused() -> None:
    told = "^encoder: a Linear in place of a name such as 'vit-micro' .* encoder_weights=$"
    with pytest.raises(zoo.ConfigError, match=told):
        _named("encoder", torch.nn.Linear(2, 2))


def test_a_joined_model_of_texts_is_trained_saved_and_writes(tmp_path: Path) -> None:
    out, pairs = tmp_path / "run", tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"ab{n}\t{n}ba\n" for n in range(40)))
    sizes: dict[str, Any] = {**ENCODER, "decoder_config": DECODER, "freeze": "encoder"}
    trained = zoo.train(
        "joined:bert-micro+decoder-tiny", f"parallel:{pairs}", out=out, steps=2, batch_size=8, validations=1, **sizes
    )
    assert "exact match" in trained.scores
    written = zoo.Pipeline(str(out))
    answers = list(written.generate(["abc"], max_len=3, beam=2))
    assert answers[0][0] == "abc"
    ((_, [(greedy, _)]),) = written.generate(["abc"], max_len=3)
    assert "".join(written.stream("abc", max_len=3)) == greedy
    judged = zoo.evaluate(out, samples=2, worst=0).scores
    assert judged["exact match"].value == trained.scores["exact match"]
    assert {each.part for each in written.model.explore("abc", max_len=3).panes[0].maps} >= {"encoder", "cross"}
    assert not any(p.requires_grad for p in trained.model.stem.model.parameters())
    assert all(p.requires_grad for p in trained.model.stem.bridge.parameters())
    again = zoo.create(f"local-dir:{out}")
    assert all(torch.equal(x, y) for x, y in zip(again.parameters(), trained.model.parameters(), strict=True))


def test_a_joined_model_of_sounds_is_trained_on_transcripts(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    lines = []
    for index in range(12):
        samples = (torch.randn(8_000, generator=generator) * 1_000).short()
        with wave.open(str(tmp_path / f"{index}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            file.writeframes(samples.numpy().tobytes())
        lines.append(json.dumps({"audio": f"{index}.wav", "text": "one two"}))
    (tmp_path / "manifest.jsonl").write_text("\n".join(lines))
    trained = zoo.train(
        "joined:speech-micro+decoder-tiny",
        f"recordings:{tmp_path / 'manifest.jsonl'}",
        steps=1,
        batch_size=4,
        validations=1,
        workers=0,
        decoder_config=DECODER,
        **ENCODER,
    )
    assert "word error rate" in trained.scores


def test_what_the_zoo_cannot_join_says_so() -> None:
    with pytest.raises(zoo.ConfigError, match="freeze='no'"):
        zoo.join("bert-micro", "decoder-tiny", freeze="no", encoder_config=ENCODER, decoder_config=DECODER)
