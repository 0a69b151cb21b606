"""Files to targets and predictions; which kind a file holds is decided here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    Choice,
    ReadOptions,
    abstentions,
    flag,
    has_usual_predictions,
    missing_words,
    was_said,
)
from kernelcal.io.labelled import in_labelled_file, open_labelled
from kernelcal.io.long import is_long, read_long
from kernelcal.io.opening import open_source
from kernelcal.io.roles import WithOutcomes, other_units, resolved, with_outcomes
from kernelcal.io.sources import Source
from kernelcal.io.table import Data, as_data
from kernelcal.io.wide import read_classes, read_wide

__all__ = ["Data", "form_of", "is_in_lines", "opened", "outcomes_beside", "read", "read_source"]


def read(paths: Sequence[Path], options: ReadOptions) -> Data:
    r"""Read targets and predictions.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        One file, or two npy files.
    options : ReadOptions
        What is known about it.

    Raises
    ------
    InputError
        With file, line, column and remedy.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelcal.io import ReadOptions, read
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("y,p\n0,0.2\n1,0.7\n")
    ...     data = read([path], ReadOptions())
    >>> data.y, data.predictions
    (array([0, 1]), Bernoulli(p=array([0.2, 0.7]), classes=None, notes=(), question=None))
    """
    return read_source(opened(paths, options), options)


def opened(paths: Sequence[Path], options: ReadOptions) -> Source:
    """Open what is to be read, arrays with named axes too."""
    if len(paths) == 1 and in_labelled_file(paths[0]):
        return open_labelled(paths[0], options)
    return open_source(paths, options.delimiter, missing_words(options))


def read_source(source: Source, options: ReadOptions) -> Data:
    """Read targets and predictions of an opened file."""
    joined = outcomes_beside(source, options)
    if joined is not None:
        data = read_source(joined.source, joined.options)
        return replace(data, choices=(*joined.choices, *data.choices))
    form, found, choices = form_of(source, options)
    if form == "classes":
        data = read_classes(source, found, said=options.predictions is not None)
    else:
        table = read_long(source, found) if form == "long" else read_wide(source, form, found)
        data = table if isinstance(table, Data) else as_data(table, found)
        if not isinstance(table, Data) and table.lines is None:
            predicted = [name for names in table.shown.values() for name in names]
            data = replace(data, doubts=(*data.doubts, *other_units(table.targets, predicted)))
    told = {one.role for one in choices}
    if options.abstained is not None:
        data = replace(data, abstained=abstentions(source, options))
    return replace(data, choices=(*choices, *(one for one in data.choices if one.role not in told)))


def outcomes_beside(source: Source, options: ReadOptions) -> WithOutcomes | None:
    """A table with a row a prediction beside the outcomes of a second file; None of others."""
    return with_outcomes(source, options) if options.truth and not is_in_lines(source, options) else None


def is_in_lines(source: Source, options: ReadOptions) -> bool:
    """Tell whether a prediction takes several lines, by what was said, else by the columns."""
    if any(was_said(options, name) for name in (*_ASKED["long"], "value", "unit")):
        return True
    forms = [name for form, names in _ASKED.items() if form != "long" for name in names]
    return is_long(source) and not any(was_said(options, name) for name in forms)


# what each form is asked for by, and the names of arrays or columns that stand for it without an option
_ASKED = {
    "classes": ("predictions",),
    "normal": ("mean", "std", "variance"),
    "samples": ("samples",),
    "quantiles": ("quantiles",),
    "parameters": ("family", "parameters"),
    "long": ("long", "level", "sample_id"),
}
_NAMED = (
    ("normal", ("mean", "std")),
    ("normal", ("mean", "variance")),
    ("covariances", ("mean", "cov")),
    ("samples", ("samples",)),
    ("quantiles", ("quantiles", "levels")),
)
_IN_WORDS = {
    "classes": "class probabilities",
    "normal": "means and standard deviations",
    "covariances": "means and covariances",
    "samples": "draws",
    "quantiles": "quantiles",
    "parameters": "parameters of a family",
    "long": "a long table with one row a quantile or draw",
}
_BELONGS = {
    **dict.fromkeys(("kind", "predicted_label", "classes", "one_based", "normalize"), ("classes",)),
    **dict.fromkeys(("quantile_levels", "interval"), ("quantiles",)),
    **dict.fromkeys(("crossing", "resolution"), ("quantiles", "long")),
    **dict.fromkeys(("value", "unit"), ("long",)),
}


def form_of(
    source: Source, options: ReadOptions, labels: Callable[[], set[str]] | None = None
) -> tuple[str, ReadOptions, tuple[Choice, ...]]:
    """Return the form of the predictions, one of those above, options with the columns that were found, and reasons.

    `labels` gives the text labels of all rows, where the source does not hold them all.
    """
    _asked_form(options)
    found, choices = resolved(source, options, labels)
    form = _asked_form(found) or _by_names(source)
    _refuse_other_options(form, options)
    return form, found, choices


def _asked_form(options: ReadOptions) -> str | None:
    """The form that options name, None where they name none; two are refused."""
    asked = {form: [name for name in names if was_said(options, name)] for form, names in _ASKED.items()}
    forms = [form for form, names in asked.items() if names]
    if len(forms) > 1:
        first, second = (flag(asked[form][0]) for form in forms[:2])
        raise InputError(
            f"{first} says that the file holds {_IN_WORDS[forms[0]]}, {second} that it holds {_IN_WORDS[forms[1]]}: "
            "say one of them, the other columns are then left aside"
        )
    return forms[0] if forms else None


def _by_names(source: Source) -> str:
    """Hubverse columns, else usual names of class predictions, else those of numbers; classes where none is there."""
    if is_long(source):
        return "long"
    if has_usual_predictions(source):
        return "classes"
    found = [(form, names) for form, names in _NAMED if _present(source, names)]
    if len(found) > 1:
        both = " as well as ".join(" and ".join(names) for _, names in found[:2])
        raise InputError(f"the file holds {both}: say which are meant, {_remedies([form for form, _ in found])}")
    return found[0][0] if found else "classes"


def _present(source: Source, names: Sequence[str]) -> bool:
    """Tell whether the columns are there; draws and quantiles only where they are arrays, not one number a row."""
    wide = names[0] in ("samples", "quantiles")
    return all(name in source.names for name in names) and (not wide or source.axes(names[0]) > 1)


def _remedies(forms: Sequence[str]) -> str:
    ways = {
        "normal": "--mean mean --std std (or --variance variance)",
        "samples": "--samples samples",
        "quantiles": "--quantiles quantiles --quantile-levels levels",
        "covariances": "or leave the arrays out of the file that are not",
    }
    return ", ".join(dict.fromkeys(ways[form] for form in forms))


def _refuse_other_options(form: str, options: ReadOptions) -> None:
    for name, forms in _BELONGS.items():
        if form not in forms and was_said(options, name):
            about, way = " or of ".join(_IN_WORDS[f] for f in forms), flag(_ASKED[forms[0]][0])
            raise InputError(
                f"{flag(name)} is said of {about}, but the file is read as {_IN_WORDS[form]}: leave it out, or say "
                f"{way}"
            )
    if options.truth_keys and not options.truth:
        raise InputError("--truth-keys says how a truth file is joined: name that file with --truth FILE")
