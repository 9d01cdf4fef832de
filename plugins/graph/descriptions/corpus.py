"""`DescribedGraphs`: graphs with a text each, for models of a graph encoder and a decoder that writes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from zoo import ConfigError, DataError, ModelSpec
from zoo.core import IGNORED, SYMBOLS, Symbols, has_own_loss
from zoo.data import Batch, BatchedCorpus, DatasetInfo, Parts, Written, evaluation_mode, own_loss, token_scores
from zoo.plugins.graph.descriptions.grammar import Described
from zoo.plugins.graph.io.preprocess import packed
from zoo.plugins.shared.text.metrics import bleu, exact_match
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows

EXACT = "exact match"


class DescribedGraphs(BatchedCorpus):
    """Serve graphs packed into batches, and the text of each, shifted as for any model that writes.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts.
        parts: the graphs.
        features: `node_features` and `edge_features` of the graphs, as keywords of the model.

    Raises:
        ConfigError: If the model writes nothing.
        DataError: If a text is longer than the model writes.
    """

    task = "generate"
    metric = EXACT
    units = "13a"
    tokenizer: Tokenizer

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[Described],
        features: Mapping[str, Any],
    ) -> None:
        if spec.task != self.task:
            raise ConfigError(
                f"'{about.name}' are graphs with texts, and '{spec.name}' writes none: join a decoder to it, as in "
                f"joined:{spec.name}+transformer-tiny"
            )
        self.parts, self.features = parts.by_name(), dict(features)
        self.tokenizer = tokenizer
        frame = Frame((tokenizer.bos,), (tokenizer.eos,))
        self.targets = {
            split: tokenizer.ragged([each.text for each in part], frame) for split, part in self.parts.items()
        }
        limit = spec.config.get("max_len")
        longest = max(int(rows.lengths.max()) for rows in self.targets.values()) - 1
        if limit is not None and longest > limit:
            raise DataError(
                f"{about.name}: a text of {longest} tokens, and '{spec.name}' writes at most max_len={limit}"
            )
        sizes = {
            split: [len(each.graph.x) + each.graph.edge_index.shape[1] for each in part]
            for split, part in self.parts.items()
        }
        super().__init__(about, spec, {split: torch.tensor(found, dtype=torch.long) for split, found in sizes.items()})

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create`, the symbols among them where they are not the usual ones."""
        symbols = Symbols(self.tokenizer.pad, self.tokenizer.bos, self.tokenizer.eos)
        usual = symbols == SYMBOLS and "symbols" not in self.spec.config
        return super().overrides() | self.features | ({} if usual else {"symbols": list(symbols)})

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give graphs, one behind the other, and their texts so far."""
        rows = [self.targets[split][place] for place in places]
        ids, _ = pad_rows([row[:-1] for row in rows], self.tokenizer.pad)
        target, _ = pad_rows([row[1:] for row in rows], IGNORED)
        return Batch((*self.graphs(split, places), ids), target)

    def graphs(self, split: str, places: Sequence[int]) -> tuple[Any, ...]:
        """Give what the encoder reads of some graphs."""
        return packed([self.parts[split][place].graph for place in places])

    def write(self, model: Any, split: str, batch_size: int) -> tuple[list[str], list[str]]:
        """Let a model describe each graph of a part, greedily; give what it wrote and what is right."""
        found = list(self.written(model, split, batch_size))
        return [each.text for each in found], [each.wanted[0] for each in found]

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`."""
        most = int(self.targets["train"].lengths.max())
        limit = getattr(model, "max_len", None)
        with evaluation_mode(model) as device:
            for places in self.places(split, batch_size):
                graphs = [each.to(device) if each is not None else None for each in self.graphs(split, places)]
                best = model.generate(*graphs, max_len=most if limit is None else min(most, limit)).best()
                texts = self.tokenizer.decode_batch(best)
                wanted = self.tokenizer.decode_batch(self.targets[split][place] for place in places)
                yield from (
                    Written(place, text, (right,)) for place, text, right in zip(places, texts, wanted, strict=True)
                )

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Score the texts that a model writes, and its tokens given the right ones."""
        written, wanted = self.write(model, split, batch_size)
        found = {EXACT: exact_match(written, wanted), "BLEU": bleu(written, wanted, self.units)}
        with evaluation_mode(model) as device:
            if has_own_loss(model):
                return found | {"loss": own_loss(model, self.held_out(split, batch_size), device)}
            tokens = token_scores(model, self.held_out(split, batch_size), device)
        return found | {"token accuracy": tokens.accuracy, "perplexity": tokens.perplexity}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return (EXACT, "BLEU", *(("loss",) if has_own_loss(model) else ("token accuracy", "perplexity")))
