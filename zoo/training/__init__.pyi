"""Public names for trainings."""

from zoo.training.callbacks.callback import Callback as Callback, Request as Request
from zoo.training.resume.train_state import Outcome as Outcome, Validation as Validation
from zoo.training.trainer import Trained as Trained
