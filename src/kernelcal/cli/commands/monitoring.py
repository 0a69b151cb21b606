"""``kernelcal monitor``: a state that each day's file updates, a line a day, and an exit status."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelcal.cli.common import check_lens, lens_of, refuse_beside_state, spread_out, whole_number
from kernelcal.cli.ending import FINE, SAID_NO, say
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.cli.reading import add_reading, reading_of
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.files import backup_of, format_of, in_turn, refuse_place
from kernelcal.io import read, readers
from kernelcal.lenses import LENSES

__all__ = ["add_monitor", "run_history"]


_STATES = (".npz",)
_ALARMS = ("any", "ever", "drift", "none")


def add_monitor(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.description = (
        "Take each file into a state as one batch, a day for example, and say whether calibration still stands. A "
        "batch that was taken before, by its key, and one that cannot be read change nothing."
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="a table a batch, in the order of time; those of a folder or a quoted glob by their names",
    )
    parser.add_argument(
        "--state", type=Path, required=True, metavar="FILE", help="npz file of all batches so far; made if missing"
    )
    parser.add_argument("--key", metavar="TEXT", help="name of the batch (default: the name of its file)")
    parser.add_argument(
        "--alpha", type=float, metavar="P", help=f"probability of a false alarm, ever (default: {SIGNIFICANCE})"
    )
    parser.add_argument(
        "--run-length", type=int, metavar="ROWS", help="rows to a false alarm of drift, on average (default: 100,000)"
    )
    parser.add_argument(
        "--horizon", type=int, metavar="H", help="steps that forecasts look ahead: a row a step, in the order of time"
    )
    parser.add_argument("--seed", type=whole_number, metavar="SEED", help="seed that breaks ties (default: 0)")
    parser.add_argument("--lens", metavar="LENS", help=f"a simpler question. {LENSES.help}")
    parser.add_argument(
        "--fail-on", choices=_ALARMS, default="any", help="alarm that makes the exit status 1 (default: %(default)s)"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the history, a png, svg or pdf")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_reading(parser)
    parser.set_defaults(runs=run_monitor)


def run_monitor(options: argparse.Namespace) -> int:
    """Update the state file by file, say a line each and a verdict; returns the exit status."""
    from kernelcal.monitor import Monitor  # for this command alone

    refuse_place(options.state, suffixes=_STATES, what="--state keeps the monitor in an npz file", example="state")
    refuse_picture(options.plot, example="history")
    check_lens(options.lens, every=False)
    own = options.state.absolute()  # it may lie in the folder of the batches
    options.files = [path for path in spread_out(options.files, readers()) if path.absolute() != own]
    if options.key is not None and len(options.files) != 1:
        raise InputError(f"--key names one batch, got {len(options.files)} files: give one file, or leave --key out")
    with in_turn(options.state):  # what another process adds meanwhile is not lost
        monitor = _loaded(options.state) if options.state.exists() else None
        if monitor is None and backup_of(options.state).exists():
            raise InputError(f"{options.state} is gone. {_way_back(options.state)}. To begin anew, remove it")
        if monitor is None and not options.files:
            raise InputError(f"{options.state}: there is no such state yet: name a file of predictions to begin with")
        monitor = Monitor(**_said(options)) if monitor is None else _as_begun(monitor, options)
        lines = []
        for path in options.files:
            lines.append(_taken(monitor, path, options))
            if not options.json:
                say(lines[-1]["line"])
    if options.plot is not None:
        write_picture(monitor.plot().figure, options.plot, to_errors=True)
    if options.json:
        say(json.dumps({"batches": lines, **monitor.to_dict()}, indent=2, allow_nan=False))
    else:
        say(("\n" if lines else "") + monitor.summary())
    up = {"ever": monitor.alarm is not None, "drift": monitor.drift_alarm is not None, "none": False}
    return SAID_NO if up.get(options.fail_on, up["ever"] or up["drift"]) else FINE


def run_history(options: argparse.Namespace) -> int:
    """Write the page of a state, for ``kernelcal report --state``; returns the exit status."""
    from kernelcal.reporting import history_page

    refuse_beside_state(options, "the history", "holds")
    if options.state.is_file() and not (format_of(options.state) or backup_of(options.state).exists()):
        raise InputError(
            f"{options.state} is neither the state of kernelcal monitor nor sums of evaluate --save or merge -o, or it "
            "is damaged: name the file that one of these wrote, or write it again"
        )
    monitor = _loaded(options.state)
    command = shlex.join(["kernelcal", *map(str, options.said)])
    titled = {} if options.title is None else {"title": options.title}
    page = history_page(monitor, options.output, command=command, **titled)
    say(f"{monitor.verdict}\nwrote {page}")
    return FINE


def _loaded(place: Path) -> Any:
    """The state of a file; of one that is damaged say what leads back."""
    from kernelcal.monitor import Monitor

    try:
        return Monitor.load(place)
    except InputError as error:
        if not place.is_file():
            raise
        raise InputError(f"{error}. {_way_back(place)}") from None


def _way_back(place: Path) -> str:
    from kernelcal.monitor import Monitor

    backup = backup_of(place)
    try:
        whole = Monitor.load(backup)
    except InputError:
        return (
            f"There is no whole {backup} either. Name another --state and give all files again in the same order: the "
            "numbers will be the same"
        )
    last = next((f", the last of {key}" for key, *_ in reversed(whole.history) if key), "")
    return (
        f"{backup} is whole, with {whole.rows:,} rows{last}: copy it to {place} and give the files of later batches "
        "again; those that it has are not taken twice"
    )


def _said(options: argparse.Namespace) -> dict[str, Any]:
    names = {"alpha": "alpha", "run_length": "run_length", "horizon": "horizon", "seed": "rng"}
    said = {theirs: getattr(options, ours) for ours, theirs in names.items()}
    return {name: value for name, value in said.items() if value is not None}


def _as_begun(monitor: Any, options: argparse.Namespace) -> Any:
    """A state that was begun otherwise is not continued in silence."""
    own = {"alpha": monitor.alpha, "run_length": monitor.run_length, "horizon": monitor.horizon, "rng": monitor.seed}
    for name, value in _said(options).items():
        if own[name] != value:
            option = {"rng": "seed"}.get(name, name).replace("_", "-")
            raise InputError(
                f"{options.state} was begun with --{option} {own[name]:g}, got {value:g}: leave the option out, or "
                "begin another state"
            )
    return monitor


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in what is refused of it: one of several."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _taken(monitor: Any, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Take a file in and keep the state, or leave both as they were."""
    key = options.key or path.name
    before = monitor.rows
    with _naming(path):
        data = read([path], reading_of(options))
    if data.weights is not None:
        raise InputError(f"{path}: case weights have no place in a bet: leave --weights out")
    if not monitor.rows and not options.json:
        say(data.sentence)
    with _naming(path):
        monitor.update(data.y, data.predictions, key=key, lens=lens_of(options.lens, data.predictions))
    if monitor.rows == before:
        return {"key": key, "rows": 0, "line": f"{key}: taken before, nothing changed"}
    monitor.save(options.state, backup=True)
    for note in _notes(data, monitor):
        say(f"note: {path}: {note}", to_errors=True)
    shares = f"e-value {monitor.evalue:.3g} of {1 / monitor.alpha:g}"
    shares += f", drift {math.exp(min(monitor.log_drift, 700)):.2g} of its bound"
    state = "alarm" if monitor.alarm is not None or monitor.drift_alarm is not None else "no alarm"
    return {"key": key, "rows": len(data.y), "line": f"{key}: {len(data.y):,} rows, {shares}: {state}"}


def _notes(data: Any, monitor: Any) -> list[str]:
    """What was seen of rows that depend on each other, which the bound on false alarms does not allow for."""
    found = [note.split(": say --")[0] for note in data.predictions.notes if "--clusters" in note]
    if data.dependence and monitor.horizon == 1:
        found.append(f"the table says which rows depend on each other ({', '.join(sorted(data.dependence))})")
    cure = "the bound on false alarms is for rows that do not: watch one row of each subject, or one series, --horizon"
    return [f"{one}; {cure}" for one in found]
