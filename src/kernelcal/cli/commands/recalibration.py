"""``kernelcal recalibrate``: a map from a file of predictions, an honest test of it, and repaired tables."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.cli.commands.repaired import ReadColumns, layout_of, write_lines, write_repaired
from kernelcal.cli.common import whole_number
from kernelcal.cli.ending import FINE, naming, refused, say
from kernelcal.cli.gates import Judged, draws_for_gates, ended_with, level, said, with_draws_of_sets
from kernelcal.cli.reading import add_reading, reading_of
from kernelcal.defaults import DRAWS
from kernelcal.errors import InputError, KernelcalError, naming_rows
from kernelcal.files import is_many, refuse_place
from kernelcal.io import Data, Joined, ReadOptions, Source, is_in_lines, opened, outcomes_beside, read_source
from kernelcal.runs import Run
from kernelcal.stream import read_together

__all__ = ["add_recalibrate"]


_NOT_KNOWN = "outcome (not known)"  # column that stands for outcomes of rows that have none yet
_OF_FIT = "these are the rows of the fit: no test of them shows success"


def add_recalibrate(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.description = (
        "Fit a map to rows that the model was not trained on, say what it does for rows it has not seen, save it, and "
        "apply it to other files. Leaving predictions alone is an answer."
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="one table, or two npy files; a folder or a quoted glob is one table",
    )
    parser.add_argument(
        "--method",
        metavar="NAME",
        help="auto (default), one, cautious, or a map: temperature, platt, svs, sms, quadratic, venn-abers, ...",
    )
    parser.add_argument("--save", type=Path, metavar="MAP", help="write the map, a json file")
    parser.add_argument(
        "--apply", type=Path, metavar="MAP", help="use this map on the file, in place of fitting one to it"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="TABLE", help="write the rows with better predictions, a csv file"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="PAGE",
        help="write a page of before and after, .html; a file of this name is replaced",
    )
    parser.add_argument("--title", metavar="TEXT", help="with --report: title of the page")
    parser.add_argument(
        "--without-outcomes", action="store_true", help="with --apply: the file has no outcomes yet, and needs none"
    )
    group = parser.add_argument_group("rows that depend on each other")
    group.add_argument("--clusters", metavar="NAMES", help="columns whose values are shared by rows that may")
    group.add_argument("--horizon", metavar="H", help="steps that a forecast looks ahead, or a column that says it")
    group.add_argument("--time", metavar="NAME", help="with --horizon: column of times at regular steps")
    group.add_argument("--series", metavar="NAMES", help="with --horizon: columns that tell series apart")
    parser.add_argument("--draws", type=int, metavar="B", help=f"draws of the tests (default: {DRAWS})")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="SEED", help="seed of folds and draws")
    parser.add_argument(
        "--fail-below", type=level, metavar="P", help="exit status 1 if the p-value after the map is below P"
    )
    parser.add_argument(
        "--fail-unless-better",
        action="store_true",
        help="exit status 1 if the map is not clearly better than leaving predictions alone",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_reading(parser)
    parser.set_defaults(fail_above=None, runs=run_recalibrate)


def run_recalibrate(options: argparse.Namespace) -> int:
    """Fit or load a map, say what it does, write what was asked for; returns the exit status."""
    _refuse_options(options)
    options.draws = draws_for_gates(options, DRAWS)
    try:
        return _run(options)
    except (KernelcalError, UnicodeError) as error:
        others = [place for place in (options.apply, options.save, options.output) if place]
        return refused(naming(error, options.files, others))


def _refuse_options(options: argparse.Namespace) -> None:
    if options.save is not None:
        refuse_place(options.save, suffixes=(".json",), what="--save writes a map", example="map")
    if options.output is not None:
        refuse_place(options.output, suffixes=(".csv",), what="-o writes a table", example="fixed")
        read = [*options.files, *(Path(one) for one in (options.truth, options.apply) if one is not None)]
        if options.output.exists() and any(one.exists() and one.samefile(options.output) for one in read):
            raise InputError(f"-o {options.output} is the file that is read: name another")
    if options.report is not None:
        _refuse_page(options)
    if options.title is not None and options.report is None:
        raise InputError("--title is that of a page: say --report PAGE too")
    if options.apply is not None and (options.save is not None or options.method is not None):
        raise InputError("--apply uses a map that was fitted already: --save and --method belong to the fit")
    if options.without_outcomes and (options.apply is None or options.output is None):
        raise InputError("--without-outcomes says that a map is applied to new rows: name --apply MAP and -o TABLE")
    if options.without_outcomes and (options.fail_below is not None or options.fail_unless_better):
        raise InputError("nothing is tested without outcomes: leave the gates out")


def _refuse_page(options: argparse.Namespace) -> None:
    """Refuse a page that could not be written, or has nothing to tell, before the work."""
    from kernelcal.reporting import refuse_page

    if options.without_outcomes:
        raise InputError("--report tells what the map does, which nobody knows without outcomes: leave it out")
    refuse_page(options.report)


def _run(options: argparse.Namespace) -> int:
    from kernelcal.recalibration import USE, Recalibration, recalibrate  # for this command alone

    found = None if options.apply is None else Recalibration.load(options.apply)
    if is_many(options.files[0]):
        source, layout, data = None, None, _read_together(options)
    else:
        source, read_as = _opened(options, found)
        data = read_source(source, read_as)
        layout = None if options.output is None else layout_of(source, read_as)
    draws = _draws(options, data)
    depend = {**data.dependence, "weights": data.weights, "draws": draws, "rng": options.seed}
    told: dict[str, Any] = {"read": data.description}
    if not options.json:
        say(_sentence(data, options))
    with naming_rows(lambda row: data.row_in_words(row)):
        if found is None:
            found = recalibrate(data.y, data.predictions, options.method or "auto", **depend)
            about, after = found, found.test_after
            told |= found.to_dict()
            _say_unless(options.json, found.summary())
        else:
            about = _checked(found, data, depend, options, told)
            after = None if about is None else about.test_after
    if options.save is not None:
        found.save(options.save)
        say(f"wrote {options.save}", to_errors=True)
    if source is not None and layout is not None:
        told["read_again"] = _written(found, source, layout, data, options)
    if options.report is not None:
        _write_page(about, data, options)
    status = _ended(options, after, told, better=about is not None and about.advice == USE)
    if options.json:
        say(json.dumps(told, indent=2, allow_nan=False))
    return status


def _say_unless(json_is_printed: bool, text: str) -> None:
    if not json_is_printed:
        say(text)


def _sentence(data: Data, options: argparse.Namespace) -> str:
    return data.sentence.replace(f"target {_NOT_KNOWN}; ", "") if options.without_outcomes else data.sentence


def _read_together(options: argparse.Namespace) -> Data:
    """The files of a folder or glob as one table."""
    if options.output is not None:
        raise InputError(
            f"-o writes the rows of one file, and {options.files[0]} stands for several: name one at a time"
        )
    return read_together(options.files, reading_of(options))


def _opened(options: argparse.Namespace, found: Any) -> tuple[Source, ReadOptions]:
    """The table with its outcomes: beside it, in a second file, or none where rows have none yet."""
    read_as = reading_of(options)
    source = opened(options.files, read_as)
    if options.without_outcomes:
        names = getattr(found.fit, "names", None)
        number = len(source.cells([next(name for name in source.names if source.axes(name) == 1)])[0].numbers)
        value = np.full(number, names[0] if names else 1)
        beside = Joined(source, {_NOT_KNOWN: value}, {_NOT_KNOWN: _NOT_KNOWN}, np.ones(number, dtype=bool))
        return beside, _without_outcomes(read_as, source, names)
    joined = outcomes_beside(source, read_as)
    return (source, read_as) if joined is None else (joined.source, joined.options)


def _without_outcomes(read_as: ReadOptions, source: Source, names: Any) -> ReadOptions:
    """Options that need no labels: the classes are those of the map."""
    if read_as.target is not None or read_as.truth is not None:
        raise InputError("--without-outcomes and a target exclude each other: leave one out")
    found = replace(read_as, target=_NOT_KNOWN)
    if is_in_lines(source, read_as):
        return found
    if names and not read_as.of_top_label:
        columns = [str(name) for name in names]
        if read_as.predictions is None and all(name in source.names for name in columns):
            found = replace(found, predictions=",".join(columns))
        found = found if read_as.classes or read_as.one_based else replace(found, classes=",".join(columns))
    return found


def _checked(found: Any, data: Data, depend: dict[str, Any], options: argparse.Namespace, told: dict[str, Any]) -> Any:
    """What the map does for other rows; None of rows of its fit, or without outcomes."""
    if options.without_outcomes:
        return None
    seen = found.share_seen(data.predictions)
    told["share_of_the_fit"] = None if np.isnan(seen) else seen
    if seen > 0:
        words = _OF_FIT if seen == 1 else f"{seen:.0%} of the rows of the fit are here: no test shows success"
        _say_unless(options.json, words)
        told["verdict"] = words
        if options.fail_below is not None or options.fail_unless_better:
            raise InputError(f"{words}: gates look at rows that had no part in the fit")
        if options.report is not None:
            raise InputError(
                f"{words}: --report is about rows that had no part in the fit, or belongs to the fit itself"
            )
        return None
    if np.isnan(seen):
        _say_unless(options.json, "many predictions are equal: whether these are rows of the fit cannot be seen")
    check = found.check(data.y, data.predictions, **depend)
    _say_unless(options.json, check.summary())
    told |= check.to_dict()
    return check


def _write_page(about: Any, data: Data, options: argparse.Namespace) -> None:
    """Write the page of before and after, and say where it is."""
    from kernelcal.reporting import recalibration_page

    command = shlex.join(["kernelcal", *map(str, options.said)])
    place = options.apply or options.save
    apply = ["kernelcal", "recalibrate", "new.csv", "--apply", str(place or "map.json"), "--without-outcomes"]
    use = shlex.join([*apply, "-o", "new_fixed.csv"])
    words = {"read": data.description, "command": command}
    words["use"] = use if place else f"{command} --save map.json\n{use}"
    words |= {} if options.title is None else {"title": options.title}
    page = recalibration_page(about, options.report, **words)
    say(f"wrote {page.path}", to_errors=True)


def _written(found: Any, source: Source, layout: ReadColumns, data: Data, options: argparse.Namespace) -> str:
    made = found(data.predictions)
    outcomes = not options.without_outcomes
    source.names[:] = [name for name in source.names if name != _NOT_KNOWN]
    if data.lines is not None:
        command = write_lines(options.output, source, layout, data.lines, made, outcomes=outcomes)
    elif data.numbers is not None:
        command = write_repaired(options.output, source, layout, data.numbers, made, outcomes=outcomes)
    else:
        raise InputError("-o writes the rows of a table, and these are not known by their numbers: leave -o out")
    say(f"wrote {options.output}", to_errors=True)
    if not options.json:
        if options.apply is None:
            say(f"\n{options.output} holds rows of the fit: no test of them shows success. It is read by")
        elif outcomes:
            say(f"\n{options.output} is read by")
        else:
            say(f"\n{options.output} is read, with outcomes when they are known, by")
        say(f"  {command}")
    return command


def _draws(options: argparse.Namespace, data: Data) -> int:
    """Draws of the tests; as many as let a p-value fall below the gate, where not so many were said."""
    if options.without_outcomes:
        return int(options.draws or DRAWS)
    options.run = Run(draws=draws_for_gates(options, DRAWS))
    return with_draws_of_sets(options, data).draws


def _ended(options: argparse.Namespace, after: Any, told: dict[str, Any], *, better: bool) -> int:
    if options.fail_below is None and not options.fail_unless_better:
        return FINE
    if options.fail_below is not None and after is None:
        raise InputError("--fail-below looks at a test after the map, and there is none: too few rows")
    no = [] if after is None else said([Judged("after the map", after.pvalue, None)], options)
    if options.fail_unless_better and not better:
        no.append("the map is not clearly better than leaving the predictions alone")
    return ended_with(no, options, told)
