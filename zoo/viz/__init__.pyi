"""Public names for drawing attention."""

from zoo.viz.picture_overlay import lay_over as lay_over
