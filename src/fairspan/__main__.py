"""``python -m fairspan`` is the command line."""

import sys

from fairspan.cli import main

sys.exit(main())
