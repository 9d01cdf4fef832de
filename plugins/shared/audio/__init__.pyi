"""Public names for sound."""

from zoo.plugins.shared.audio.ctc_alignment import align as align
