"""Public names for sources of images."""

from zoo.plugins.vision.data.drawn.card_sets import DIGITS as DIGITS, SETS as SETS, open_card_sets as open_card_sets
from zoo.plugins.vision.data.drawn.cards import open_cards as open_cards
from zoo.plugins.vision.data.folders.folder import open_folder as open_folder
from zoo.plugins.vision.data.drawn.contours import open_contours as open_contours
from zoo.plugins.vision.data.pictures import open_digits as open_digits, open_npz as open_npz
