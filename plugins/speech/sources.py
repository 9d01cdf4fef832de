"""The libraries this plugin may need; nothing heavy is imported."""

from zoo.spec import Requirement

TORCHAUDIO = Requirement(module="torchaudio", distribution="torchaudio", install="attention-zoo[speech]")
SOUNDFILE = Requirement(module="soundfile", distribution="soundfile", install="attention-zoo[speech]")
