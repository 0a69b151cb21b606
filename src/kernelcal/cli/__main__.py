"""Run the command line as ``python -m kernelcal.cli``."""

import sys

from kernelcal.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
