"""Where experiments write, and which command made what.

A whole run writes the tracked tables and pictures. A run with an option that makes it another one, such as fewer
repetitions, writes into a scratch folder and names it, unless told where to:

    python experiments/uai2023/run.py --repetitions 10                      # into a scratch folder
    python experiments/uai2023/run.py --repetitions 10 --output /tmp/short  # into that folder
    python experiments/uai2023/run.py --repetitions 500 --output tracked    # over the tracked files

`docs/tables/commands.csv` has the command of every tracked table and picture; it is brought up to date when a run ends.
A file that is known to be another script's stays so: delete its line first if it moves.
"""

from __future__ import annotations

import atexit
import csv
import shlex
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = Path("docs") / "tables" / "commands.csv"
WHOLE = ("--part", "--figure", "--processes", "--families", "--kinds", "--no-write", "--keep")
WATCHED = ("docs/tables", "docs/images", "experiments")
ASKED = set()  # folders that a run asked for, below which it may have written


def _output():
    """Take ``--output FOLDER`` out of the command, which scripts need not know."""
    if "--output" not in sys.argv:
        return None
    place = sys.argv.index("--output")
    if place + 1 == len(sys.argv):
        sys.exit("--output needs a folder, or the word 'tracked'")
    value = sys.argv[place + 1]
    del sys.argv[place : place + 2]
    return value


def _runs_an_experiment():
    script = Path(sys.argv[0]).resolve() if sys.argv[0] else Path()
    return ROOT / "experiments" in script.parents


def shortened(arguments):
    """Options of a command that make it another run than the whole one."""
    names = [argument.split("=")[0] for argument in arguments if argument.startswith("--")]
    return [name for name in names if name not in WHOLE]


def base(arguments, output):
    """Folder in whose place the repository's root stands for whole runs."""
    if output == "tracked" or (output is None and not shortened(arguments)):
        return ROOT
    if output is not None:
        return Path(output).resolve()
    return Path(tempfile.gettempdir()) / "kernelcal_experiments"


def _command():
    """The command as it can be typed at the root of the repository."""
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT).as_posix() if ROOT in script.parents else script.name
    return " ".join(["python", name, *map(shlex.quote, sys.argv[1:])])


ACTIVE = _runs_an_experiment()
COMMAND = _command() if ACTIVE else ""
OUTPUT = _output() if ACTIVE else None
BASE = base(sys.argv[1:], OUTPUT) if ACTIVE else ROOT


def folder(tracked):
    """Where what belongs into a tracked folder or file is written by this run; its folder exists."""
    inside = Path(tracked).resolve().relative_to(ROOT)
    path = BASE / inside
    ASKED.add((inside.parent if inside.suffix else inside).as_posix())
    (path.parent if path.suffix else path).mkdir(parents=True, exist_ok=True)
    return path


def tables():
    """Folder of the tables that the documentation shows."""
    folder(ROOT / "docs" / "images")
    return folder(ROOT / "docs" / "tables")


def metadata():
    """What a picture says of itself: the command that drew it, and no date or version, which would change it."""
    return {"Software": None, "Description": COMMAND if ACTIVE else "drawn by a test"}


def read_commands(root):
    """Command of every file, by its path from the root."""
    path = root / COMMANDS
    if not path.exists():
        return {}
    with path.open(newline="") as stream:
        return {line["file"]: line["command"] for line in csv.DictReader(stream)}


def write_commands(root, commands):
    """Write the commands in the order of the files."""
    (root / COMMANDS).parent.mkdir(parents=True, exist_ok=True)
    with (root / COMMANDS).open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([("file", "command"), *sorted(commands.items())])


def made_since(root, start, folders):
    """Tables and pictures in some folders below a root that were written since a moment."""
    for watched in sorted(folders):
        for path in sorted((root / watched).rglob("*")):
            if path.suffix in (".csv", ".png") and path.name != COMMANDS.name and path.stat().st_mtime >= start:
                yield path.relative_to(root).as_posix()


def of_other_scripts(known, command):
    """Files that another script is known to make: one that ran at the same time, or a checkout, has written them."""
    return {name for name, other in known.items() if other.split()[:2] != command.split()[:2]}


def _record(start):
    others = of_other_scripts(read_commands(BASE), COMMAND)
    found = {name: COMMAND for name in made_since(BASE, start, ASKED) if name not in others}
    if not found:
        return
    write_commands(BASE, {**read_commands(BASE), **found})
    if BASE != ROOT:
        print(f"a run with options of its own: {len(found)} files are in {BASE}; tracked files are as they were")


if ACTIVE:
    atexit.register(_record, time.time() - 1)
