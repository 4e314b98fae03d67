"""The command: python -m tests.hostile."""

from __future__ import annotations

import sys

from tests.hostile.attacks import ATTACKS
from tests.hostile.runner import main

if __name__ == "__main__":
    sys.exit(main(ATTACKS))
