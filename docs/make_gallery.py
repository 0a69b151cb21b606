"""Pictures of the gallery: python docs/make_gallery.py [NAME ...] runs docs/gallery/*.py and draws gallery_*.png."""

import os
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "gallery").glob("*.py"))


def main():
    os.chdir(HERE.parent)  # the scripts read examples/
    for script in SCRIPTS:
        if len(sys.argv) < 2 or script.stem in sys.argv[1:]:
            figure = runpy.run_path(str(script))["ax"].figure
            figure.savefig(HERE / "images" / f"gallery_{script.stem}.png", dpi=90, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
