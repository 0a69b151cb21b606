"""Run the command line as ``python -m kernelcal``."""

import sys

from kernelcal.cli import main

if __name__ == "__main__":
    sys.exit(main())
