import json
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.errors import WeightsError

BERT: dict[str, Any] = {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30_522, "max_position_embeddings": 512,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None, "n_positions": 1024,
    "vocab_size": 50_300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (BERT, r"a 'bert' of Hugging Face transformers, whose weights .*: zoo.create\('bert-base', weights='{}'\)"),
        (GPT2, r"a 'gpt2' .*: zoo.create\('gpt2-small', weights='{}', vocab_size=50300\)"),
        (BERT | {"hidden_size": 96}, r"zoo.create\('bert-base', weights='{}', dim=96\)"),
        ({"model_type": "roberta"}, "a 'roberta' of Hugging Face transformers, and no model here is of that family"),
    ],
)  # fmt: skip
def test_a_folder_of_transformers_says_which_name_takes_it(config: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match=told.format(tmp_path)):
        zoo.create(f"local-dir:{tmp_path}", pretrained=True)
