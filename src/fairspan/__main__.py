"""``python -m fairspan`` is the command line."""

import sys

from fairspan.cli import main

if __name__ == "__main__":
    sys.exit(main())
