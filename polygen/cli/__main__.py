"""`python -m polygen.cli`, which is the command `polygen`."""

import sys

from polygen.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
