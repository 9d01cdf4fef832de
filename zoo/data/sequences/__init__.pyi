"""Public names of tasks on sequences of tokens."""

from zoo.data.sequences.induction import Induction as Induction
from zoo.data.sequences.listops import ListOps as ListOps
from zoo.data.sequences.neighbours import Neighbours as Neighbours
from zoo.data.sequences.pathfinder import Pathfinder as Pathfinder
from zoo.data.sequences.recall import Recall as Recall
from zoo.data.sequences.selective_copy import SelectiveCopy as SelectiveCopy
from zoo.data.sequences.task import Drawn as Drawn, SequenceTask as SequenceTask
