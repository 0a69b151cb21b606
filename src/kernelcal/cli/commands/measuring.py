"""``kernelcal measure``: what a field calls calibration, of a file."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cli.commands.models import reported
from kernelcal.cli.common import lens_of
from kernelcal.cli.ending import say
from kernelcal.cli.gates import Judged, with_draws_of_groups
from kernelcal.cli.options import add_files, add_intervals, add_rows_and_test, add_together
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.cli.reading import reading_of
from kernelcal.cli.tables import Answer, Question, run_tables
from kernelcal.errors import InputError
from kernelcal.io import read_models
from kernelcal.measures import (
    FIELDS,
    MEASURES,
    Measured,
    asked_measures,
    clinical_measures,
    clinical_table_of,
    curve_of,
    measured,
)
from kernelcal.measures.forecasting import ScoreMeasure, Skill, climate_of, skill_of
from kernelcal.reporting import refuse_page
from kernelcal.runs import Run
from kernelcal.stream import cases_of

__all__ = ["add_clinical", "add_measure"]

_CLIMATE = "climatology"


def add_measure(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal measure``."""
    parser.description = (
        "Slopes, ratios, errors, coverages: each beside its interval, its mean under calibration and an exact p-value."
    )
    add_files(parser)
    fields = "; ".join(f"{field}: {', '.join(names)}" for field, names in FIELDS.items())
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help=f"a list a,b of measures or fields (default: all that serve the predictions). {MEASURES.help}. "
        f"Fields: {fields}",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="also the skill of every score that is measured against forecasts of the same rows in FILE, read as the "
        "first, or against 'climatology', what happened in all other rows; 'climatology:COLUMN', a column of --groups, "
        "in the other rows of the same group",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the measures, a png, svg or pdf")
    parser.add_argument(
        "--curve",
        type=Path,
        metavar="FILE",
        help="of answers with a confidence: table of risk and coverage, drawn as a png, svg or pdf",
    )
    add_intervals(parser, within=False)
    add_together(parser)
    add_rows_and_test(parser, of_measures=True)
    parser.set_defaults(runs=run_tables, refuses=_refuse_measuring, answers=_measures_answer, sides=_sides)


def add_clinical(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal clinical``."""
    parser.description = (
        "Calibration in the large, slope, O:E, ICI, c-statistic, net benefit, ... of one predicted risk, in subgroups "
        "too, and the calibration curve with a band: what TRIPOD+AI asks for."
    )
    add_files(parser)
    parser.add_argument(
        "--threshold",
        type=_risk,
        default=0.2,
        metavar="RISK",
        help="risk from which on one treats, of the net benefit (default: %(default)s)",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the calibration curve, a png, svg or pdf")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="also write a page, .html, with the table")
    add_intervals(parser, within=False)
    add_together(parser)
    add_rows_and_test(parser, of_measures=True)
    parser.set_defaults(measures="clinical", title="Clinical prediction model", within=None, given=None)
    parser.set_defaults(runs=run_tables, refuses=_refuse_clinical, answers=_clinical_answer)


def _risk(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a risk between 0 and 1, such as 0.2, got {text!r}")
    return value


def _sides(options: argparse.Namespace) -> int:
    """Sides that the p-value of all measures is corrected for: both of a single one; several are ranked together."""
    asked = asked_measures(options.measures)
    return 2 if asked is not None and len(asked) == 1 and asked[0].signed else 1


def _run(question: Question, options: argparse.Namespace) -> Run:
    """Run with draws enough for a gate on groups, whose p-values are corrected for their number and for two sides."""
    return with_draws_of_groups(options, question.run, question.groups, len(question.case), sides=2)


def _clinical_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Table of a file that was read; its picture, and the page with it."""
    measures = clinical_measures(options.threshold)
    found = clinical_table_of(question.case, measures, _run(question, options), groups=question.groups)

    def write() -> None:
        if options.plot is not None:
            write_picture(found.plot().figure, options.plot, to_errors=options.json)
        if options.output is not None:
            page = reported({Path(question.name).stem: question.data}, options)
            say(f"wrote {page.path}", to_errors=options.json)

    return Answer(found, _judged(question.name, found.measured, options), writes=write)


def _measures_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Measures of a file that was read; beside them the risk-coverage curve and skills, where they are asked for."""
    case, run, abstained = question.case, _run(question, options), question.data.abstained
    found = measured(case, asked_measures(options.measures), run, groups=question.groups)
    if abstained:
        whole = len(case) + abstained
        note = f"{abstained:,} of {whole:,} rows have no answer and are in none of the measures"
        found = replace(found, notes=(*found.notes, note))
    curve = None if options.curve is None else curve_of(case, run, abstained)

    def write() -> None:
        if options.plot is not None:
            write_picture(found.plot().figure, options.plot, to_errors=options.json)
        if curve is not None:
            write_picture(curve.plot().figure, options.curve, to_errors=options.json)

    looked_at = _judged(question.name, found, options)
    beside = {} if curve is None else {"risk_coverage": curve}
    return Answer(found, looked_at, {**beside, **_skills(question, options)}, write)


def _refuse_measuring(options: argparse.Namespace) -> None:
    """Refuse names that are not known and a picture that could not be written, before a file is opened."""
    asked_measures(options.measures)
    of_file = options.baseline is not None and options.baseline.partition(":")[0] != _CLIMATE
    if of_file and (len(options.files) > 1 or options.together):
        raise InputError(
            f"--baseline {options.baseline} is compared with one file, got {len(options.files)}: measure each by "
            "itself, or say --baseline climatology"
        )
    _refuse_pictures(options, ("--plot", options.plot), ("--curve", options.curve))


def _refuse_clinical(options: argparse.Namespace) -> None:
    """Refuse a page and a picture that could not be written, before a file is opened."""
    if options.output is not None:
        refuse_page(options.output)
        _refuse_several(options, "-o", options.output, "is about")
    _refuse_pictures(options, ("--plot", options.plot))


def _refuse_several(options: argparse.Namespace, option: str, place: Path, what: str) -> None:
    if len(options.files) > 1 and not options.together and options.files[0].suffix != ".npy":
        raise InputError(f"{option} {place} {what} one table, got {len(options.files)} files: each by itself")


def _refuse_pictures(options: argparse.Namespace, *pictures: tuple[str, Path | None]) -> None:
    for option, place in pictures:
        if place is None:
            continue
        _refuse_several(options, option, place, "draws")
        refuse_picture(place, option)


def _skills(question: Question, options: argparse.Namespace) -> dict[str, Skill]:
    """Skill of every proper score that is measured, or of the usual one, against the baseline that was named."""
    if options.baseline is None:
        return {}
    case, groups = question.case, question.data.groups or {}
    asked = [one for one in asked_measures(options.measures) or () if isinstance(one, ScoreMeasure) and one.proper]
    scores: list[Any] = [one for one in asked if one.takes(case.predictions)] or [None]
    kind, _, column = options.baseline.partition(":")
    if kind == _CLIMATE:
        if column and column not in groups:
            raise InputError(f"--baseline {options.baseline} names no column of --groups: add it, --groups {column}")
        other, name = climate_of(case, groups[column] if column else None), _CLIMATE + f" by {column}" * bool(column)
    else:
        path = Path(options.baseline)
        models = read_models([[options.files[0]], [path]], reading_of(options, unasked=True))
        both = cases_of(models, lens_of(options.lens, case.predictions))
        (case, other), name = both.values(), path.stem
        case, other = case.in_numpy, other.in_numpy
    found = [skill_of(case, other, score, question.run, question.groups, name=name) for score in scores]
    return {f"skill, {one.measure}": one for one in found}


def _judged(name: str, found: Measured, options: argparse.Namespace) -> list[Judged]:
    """What gates look at: the p-value of all measures together, corrected ones of groups, and how far intervals are."""
    if options.fail_below is not None and math.isnan(found.pvalue):
        raise InputError(f"{name}: there is no test, so that --fail-below has no p-value to look at")
    known = [one for one in (*found.values, *found.groups) if not math.isnan(one.away)]
    if options.fail_above is not None and not any(not one.column for one in known):
        raise InputError(
            f"{name}: none of the measures has an interval and a value that calibrated predictions have, so that "
            "--fail-above has nothing to look at"
        )
    looked = [Judged(name, found.pvalue, None, whole=False)]
    for one in found.groups:
        looked.append(Judged(f"{name}, {one.column} {one.group}, {one.name}", _known(one.corrected), None, whole=False))
    for one in known:
        group = f", {one.column} {one.group}" if one.column else ""
        looked.append(Judged(f"{name}{group}, {one.name}", None, one.away, whole=False))
    return looked


def _known(p: float) -> float | None:
    return None if math.isnan(p) else p
