"""Let the tests run from a checkout, where the example is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
