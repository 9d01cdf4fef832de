"""`SpeakingCorpus`: texts with their audio, for text to speech.

Axes: b texts, s steps, r frames of a step, m bands.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from zoo import ConfigError, ModelSpec
from zoo.core import IGNORED
from zoo.data import Batch, BatchedCorpus, DatasetInfo, Parts, RaggedIds, evaluation_mode, fingerprint, to_device
from zoo.plugins.shared.audio.log_mel import LogMel
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows
from zoo.plugins.speech.data.corpus import Sounds
from zoo.plugins.speech.data.synthetic import espeak
from zoo.plugins.speech.data.synthetic.spoken_digits import SIZES, sounds_of
from zoo.plugins.speech.data.synthetic.voices import Utterance, draw
from zoo.plugins.speech.io.tts_postprocess import speaks
from zoo.plugins.speech.models.text_to_speech import steps_of

VOICE = ("en-us", "f2", 160, 50)
"""Accent, speaker, speed and pitch of the one voice."""


def open_one_voice(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> "SpeakingCorpus":
    """Open strings of digits that one voice of espeak-ng says; it takes no argument.

    Raises:
        ConfigError: If the model does not speak.
        DataError: If espeak-ng is not there.
    """
    if not speaks(spec):
        raise ConfigError(f"'one-voice' is for models that speak, and '{spec.name}' does not: spoken-digits is for it")
    drawn = draw("strings", SIZES["strings"], seed)
    said = Parts(*([Utterance(each.text, *VOICE) for each in part] for part in drawn))
    texts = {split: [each.text for each in part] for split, part in said.by_name().items()}
    chosen = choose_tokenizer(tokenizer, "byte", texts["train"])
    described = f"`one-voice` are {len(said.train):,} strings of 3 to 7 digits, said by one voice of espeak-ng."
    pieces = [repr(each) for part in said for each in part]
    about = DatasetInfo("one-voice", described, fingerprint([*pieces, espeak.version(), chosen.content]))
    return SpeakingCorpus(about, spec, chosen, sounds_of("one-voice", said), texts)


class SpeakingCorpus(BatchedCorpus):
    """Serve texts, and the frames of their sounds in steps.

    Args:
        about: the data.
        spec: of the model; it says how many bands a frame has, and how many frames a step.
        tokenizer: of the texts; it is saved beside the model.
        sounds: of each part.
        texts: that they say.
    """

    task = "generate"
    metric = "-frame distance"
    tokenizer: Tokenizer

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        sounds: Mapping[str, Sounds],
        texts: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(about, spec, {split: part.lengths for split, part in sounds.items()})
        frame = Frame((), (tokenizer.eos,))
        self.tokenizer = tokenizer.with_frame(frame)
        self.rows = {split: RaggedIds(tokenizer.rows(list(part), frame)) for split, part in texts.items()}
        self.features = LogMel(spec.config["bands"])
        self.reduction = spec.config["reduction"]
        self.sounds = sounds

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give texts, their lengths and the steps of their sounds; and which step is the last."""
        ids, lengths = pad_rows([self.rows[split][place] for place in places], self.tokenizer.pad)
        steps = [self._steps(split, place) for place in places]
        target = [[0] * (len(each) - 1) + [1] for each in steps]
        return Batch((ids, lengths, pad_sequence(steps, batch_first=True)), pad_rows(target, IGNORED)[0])

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give how far frames are that follow on the right ones, turned round, and how far lengths are from theirs.

        The first is in the logarithm of energies, the second a share of the right number of frames, of what the model
        speaks on its own.
        """
        far = late = 0.0
        count = 0
        writer: Any = model
        with evaluation_mode(model) as device:
            for batch in self.held_out(split, batch_size):
                batch = to_device(batch, device)
                valid = batch.target != IGNORED
                steps = batch.inputs[-1].flatten(2)
                off = (model(*batch.inputs)[..., :-1] - steps).abs().mean(-1)
                far += float(off[valid].sum())
                count += int(valid.sum())
                wanted = valid.sum(1) * self.reduction
                spoken = writer.generate(*batch.inputs[:-1], max_steps=min(2 * steps.shape[1], writer.max_steps))
                late += float(((spoken.lengths - wanted).abs() / wanted).sum())
        return {"-frame distance": -far / count, "length error": late / self.sizes[split]}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("-frame distance", "length error")

    def _steps(self, split: str, place: int) -> Float[Tensor, "s r m"]:
        return steps_of(self.features(self.sounds[split][place][None])[0], self.reduction)
