from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import zoo
from zoo import ConfigError, InputError

SMALL: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
IDS, MASK = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])


def made(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create(name, **SMALL, **options).eval()


def test_images_have_the_loss_and_logits_of_the_model() -> None:
    model = made("vit-micro", image_size=16, num_classes=3)
    images, labels = torch.randn(2, 3, 16, 16), torch.tensor([0, 2])
    out = zoo.hf(model)(pixel_values=images, labels=labels)
    assert torch.equal(out.logits, model(images))
    torch.testing.assert_close(out.loss, functional.cross_entropy(out.logits, labels))
    assert out["loss"] is out.loss is out[0]
    assert out.to_tuple()[1] is out.logits
    assert [*zoo.hf(model)(pixel_values=images)] == ["logits"]


@pytest.mark.parametrize(("task", "labels"), [("classify", [0, 1]), ("tag", [[0, 1, 2, 0], [1, 0, -100, -100]])])
def test_texts_are_classified_and_tagged_without_their_padding(task: str, labels: Any) -> None:
    model = zoo.hf(made("bert-tiny", vocab_size=20, num_classes=3, task=task))
    out = model(input_ids=IDS, attention_mask=MASK, labels=torch.tensor(labels))
    other = model(input_ids=IDS.masked_fill(MASK == 0, 3), attention_mask=MASK, labels=torch.tensor(labels))
    torch.testing.assert_close(out.loss, other.loss)
    wanted = functional.cross_entropy(out.logits.flatten(0, -2), torch.tensor(labels).flatten())
    torch.testing.assert_close(out.loss, wanted)


def test_several_labels_are_learned_by_a_sigmoid_each() -> None:
    model = made("bert-tiny", vocab_size=20, num_classes=3, task="multi-label")
    out = zoo.hf(model)(input_ids=IDS, attention_mask=MASK, labels=(labels := torch.tensor([[1.0, 0, 1], [0, 0, 1]])))
    torch.testing.assert_close(out.loss, functional.binary_cross_entropy_with_logits(out.logits, labels))


def test_a_causal_model_predicts_the_label_that_follows() -> None:
    model = made("decoder-tiny", vocab_size=20)
    labels = IDS.masked_fill(MASK == 0, -100)
    out = zoo.hf(model)(input_ids=IDS, attention_mask=MASK, labels=labels)
    wanted = functional.cross_entropy(out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    torch.testing.assert_close(out.loss, wanted)


def test_a_decoder_with_an_encoder_reads_the_labels_shifted() -> None:
    model = made("transformer-tiny", vocab_size=20)
    labels = torch.tensor([[6, 7, 2], [8, 2, -100]])
    out = zoo.hf(model)(input_ids=IDS, attention_mask=MASK, labels=labels)
    read = torch.tensor([[1, 6, 7], [1, 8, 2]])
    assert torch.equal(out.logits, model(IDS, MASK.bool(), read))
    given = zoo.hf(model)(input_ids=IDS, attention_mask=MASK, decoder_input_ids=read)
    assert torch.equal(given.logits, out.logits)
    with pytest.raises(InputError, match="neither labels nor decoder_input_ids"):
        zoo.hf(model)(input_ids=IDS)


def test_sounds_of_unequal_length_are_classified_and_transcribed() -> None:
    sounds, mask = 0.1 * torch.randn(2, 8000), torch.ones(2, 8000, dtype=torch.long)
    mask[1, 4000:] = 0
    model = made("speech-tiny", num_classes=3)
    out = zoo.hf(model)(input_values=sounds, attention_mask=mask, labels=torch.tensor([0, 1]))
    assert torch.equal(out.logits, model(sounds, mask.sum(1)))
    ctc = made("speech-tiny", task="generate", by="ctc", vocab_size=12)
    labels = torch.tensor([[4, 5], [6, -100]])
    loss: Tensor = zoo.hf(ctc)(input_values=sounds, attention_mask=mask, labels=labels).loss
    torch.testing.assert_close(loss, ctc.training_loss((sounds, mask.sum(1)), labels, 0.0))


def test_blocks_are_computed_again_where_the_trainer_asks_for_it() -> None:
    model = made("vit-micro", image_size=16, num_classes=3)
    wrapped, images, labels = zoo.hf(model), torch.randn(2, 3, 16, 16), torch.tensor([0, 2])
    calls: list[int] = []
    next(model.encoder.blocks[0].children()).register_forward_hook(lambda *_: calls.append(1))

    def gradient() -> Tensor:
        model.zero_grad()
        wrapped(pixel_values=images, labels=labels).loss.backward()
        found: Tensor = next(model.encoder.parameters()).grad.clone()
        return found

    plain, once = gradient(), len(calls)
    wrapped.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    torch.testing.assert_close(gradient(), plain)
    assert len(calls) == 3 * once
    wrapped.gradient_checkpointing_disable()
    gradient()
    assert len(calls) == 4 * once
    with pytest.raises(ConfigError, match="has no blocks"):
        zoo.hf(zoo.create("lstm-lm-micro")).gradient_checkpointing_enable()


def test_a_name_is_no_model() -> None:
    with pytest.raises(ConfigError, match=r"zoo.hf\('vit-micro'\): give the model itself"):
        zoo.hf("vit-micro")


def test_models_of_other_inputs_and_calls_with_none_or_several_are_refused() -> None:
    with pytest.raises(ConfigError, match="Hugging Face has no names for these"):
        zoo.hf(zoo.create("graph-tiny", depth=1))
    model = zoo.hf(made("vit-micro", image_size=16))
    with pytest.raises(InputError, match="no input is given: one of input_ids, pixel_values, input_values"):
        model(labels=torch.tensor([0]))
    with pytest.raises(InputError, match="input_ids and pixel_values is given"):
        model(input_ids=IDS, pixel_values=IDS)
    with pytest.raises(InputError, match="input_ids of a VisionTransformer, which reads pixel_values"):
        model(input_ids=IDS)
    with pytest.raises(InputError, match="pixel_values of a Bert, which reads input_ids"):
        zoo.hf(made("bert-tiny", num_classes=2))(pixel_values=torch.zeros(1, 3, 8, 8))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["images", "causal", "pairs", "tags"])
def test_the_trainer_of_hugging_face_trains_evaluates_and_saves(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from transformers import Trainer, TrainingArguments

    rows: Any
    if kind == "images":
        model = made("vit-micro", image_size=16, num_classes=2)
        rows = [{"pixel_values": torch.full((3, 16, 16), float(k % 2)), "labels": k % 2} for k in range(32)]
    elif kind == "tags":
        model = made("bert-tiny", vocab_size=20, num_classes=2, task="tag")
        rows = [{"input_ids": [5 + k % 2] * 4, "attention_mask": [1] * 4, "labels": [k % 2] * 4} for k in range(32)]
    else:
        model = made("decoder-tiny" if kind == "causal" else "transformer-tiny", vocab_size=20)
        rows = [{"input_ids": [5, 6, 7, 8], "attention_mask": [1] * 4, "labels": [5, 6, 7, 8]} for _ in range(32)]
    arguments = TrainingArguments(
        str(tmp_path), max_steps=30, per_device_train_batch_size=16, learning_rate=1e-2, report_to=[], use_cpu=True,
        logging_strategy="no", save_strategy="steps", save_steps=30, disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(zoo.hf(model), arguments, train_dataset=rows, eval_dataset=rows)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < before / 2
    assert trainer.predict(rows).predictions.shape[0] == 32
    assert (tmp_path / "checkpoint-30").is_dir()
