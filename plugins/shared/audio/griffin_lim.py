"""Griffin-Lim: from log-mel frames to samples, by inverting the mel filters and estimating phases.

Axes: b sounds, n frames, m bands, f frequencies, t samples.
"""

from jaxtyping import Float
from torch import Tensor

from zoo.core import ConfigError
from zoo.plugins.shared.audio.log_mel import EMPHASIS, LogMel, mel_banks, povey

ROUNDS = 60
"""Of Griffin and Lim; more change little."""
TIMES = 20
"""That the energies of frequencies are corrected."""
SMALLEST = 1e-10
"""What is divided by at least."""


def waveform(frames: Float[Tensor, "b n m"], features: LogMel, rounds: int = ROUNDS) -> Float[Tensor, "b t"]:
    """Give samples whose features are these, about: Griffin and Lim 1984, the fast way (torchaudio's).

    The first sample is that in the middle of the first frame. Phases begin at 0: the same frames sound the same.

    Args:
        frames: log-mel energies, two of each sound at least.
        features: what made them.
        rounds: more fit better.

    Raises:
        ConfigError: If torchaudio is not there, the bands are others, or there are fewer than two frames.
    """
    try:
        from torchaudio.functional import deemphasis, griffinlim
    except ImportError as error:
        raise ConfigError('sound from frames needs torchaudio: pip install "attention-zoo[speech]"') from error
    if frames.shape[1] < 2 or frames.shape[2] != features.bands:
        raise ConfigError(f"frames of shape {tuple(frames.shape)}: two or more of {features.bands} bands make a sound")
    raised = griffinlim(
        magnitudes(frames.float(), features).transpose(1, 2),
        window=povey(features.length, frames.float()),
        n_fft=features.points,
        hop_length=features.step,
        win_length=features.length,
        power=1.0,
        n_iter=rounds,
        momentum=0.99,
        length=None,
        rand_init=False,
    )
    return deemphasis(raised, EMPHASIS)


def magnitudes(frames: Float[Tensor, "b n m"], features: LogMel) -> Float[Tensor, "b n f"]:
    """Spread the energies of bands over frequencies, none negative, so that they give these bands again.

    By the multiplicative rule of arXiv:cs/0202009 eq. 5, for the divergence, in which weak bands count as strong ones.
    """
    banks = mel_banks(features.bands, features.points, features.rate, frames)
    energies = frames.exp()
    weight = banks.sum(1).clamp(min=SMALLEST)
    power = energies @ banks.T / weight
    for _ in range(TIMES):
        power = power * ((energies / (power @ banks).clamp(min=SMALLEST)) @ banks.T / weight)
    return power.sqrt()
