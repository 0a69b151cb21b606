"""Names are told once, in registries: functions, command line, messages and documents say the same ones."""

import argparse
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli.command import main
from kernelcal.cli.parser import argument_parser
from kernelcal.errors import InputError
from kernelcal.inference import NULL_LAWS, STATISTICS, register_statistic
from kernelcal.inference.intervals.methods import INTERVAL_METHODS
from kernelcal.lenses import LENSES
from kernelcal.measures import MEASURES
from kernelcal.pairs import ENGINES
from kernelcal.predictions import IsotropicNormal
from kernelcal.registry import Registry
from kernelcal.statistics import Statistic

DOCS = Path(__file__).parents[1] / "docs" / "howto"
P = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.5, 0.25, 0.25]] * 5)
Y = np.array([0, 2, 1, 2] * 5)
RNG = np.random.default_rng(0)
NUMBERS, NORMAL = RNG.normal(size=20), kc.Normal(np.zeros(20), 1.0)


def table(registry, heads, *, cost=False):
    """Names as a table of reStructuredText; what serves and costs nothing in particular has no column."""
    columns = [[f"``{entry.name}``" for entry in registry.entries]]
    if len({entry.serves for entry in registry.entries}) > 1:
        columns.append([entry.serves for entry in registry.entries])
    columns.append([entry.summary for entry in registry.entries])
    if cost:
        columns.append([entry.cost for entry in registry.entries])
    widths = [max(map(len, (head, *column))) for head, column in zip(heads, columns, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    rows = [heads, *zip(*columns, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


TABLES = [
    ("null_laws", NULL_LAWS, ("null", "statistic", "what it assumes beside calibration", "cost"), True),
    ("null_laws", INTERVAL_METHODS, ("method", "statistic", "interval"), False),
    ("command_line", STATISTICS, ("statistic", "predictions", "what is tested"), False),
    ("command_line", LENSES, ("lens", "for", "question"), False),
    ("command_line", ENGINES, ("engine", "pairs of rows"), False),
    ("measures", MEASURES, ("measure", "predictions", "what it is"), False),
]


@pytest.mark.parametrize(("page", "registry", "heads", "cost"), TABLES)
def test_documents_have_the_tables_of_the_registries(page, registry, heads, cost):
    wanted, text = table(registry, heads, cost=cost), (DOCS / f"{page}.rst").read_text(encoding="utf8")
    assert f"\n\n{wanted}\n\n" in text, f"docs/howto/{page}.rst needs\n\n{wanted}\n"
    assert text.count(wanted.splitlines()[1]) == 1, f"docs/howto/{page}.rst has this table twice"


def _options(command):
    parser = argument_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {action.dest: action for action in commands.choices[command].filled()._actions}


@pytest.mark.parametrize(("option", "registry"), [("statistic", STATISTICS), ("null", NULL_LAWS), ("engine", ENGINES)])
def test_the_command_line_has_the_choices_of_the_registry(option, registry):
    assert tuple(_options("test")[option].choices) == tuple(registry)


def test_the_command_line_says_what_measures_are():
    said = _options("measure")["measures"].help.replace("%%", "%")
    assert all(f"{entry.name}: {entry.summary}" in said for entry in MEASURES.entries)


@pytest.mark.parametrize(("option", "registry"), [("statistic", STATISTICS), ("lens", LENSES), ("engine", ENGINES)])
def test_the_command_line_says_what_the_names_stand_for(option, registry):
    said = _options("test")[option].help
    assert all(f"{entry.name}: {entry.summary}" in said.replace("%%", "%") for entry in registry.entries)


def test_the_documented_options_of_calibration_test_are_those_of_the_registries():
    said = kc.calibration_test.__doc__
    for registry in (STATISTICS, NULL_LAWS):
        assert [name for name in registry if f"``{name}``" not in said] == []


@pytest.mark.parametrize(
    ("call", "registry"),
    [
        (lambda name: kc.calibration_test(Y, P, statistic=name), STATISTICS),
        (lambda name: kc.calibration_test(Y, P, null=name), NULL_LAWS),
        (lambda name: kc.confidence_interval(Y, P, method=name), INTERVAL_METHODS),
    ],
)
def test_messages_name_all_that_are_known(call, registry):
    with pytest.raises(InputError, match=re.escape(", ".join(map(repr, registry)))) as refused:
        call("none of them")
    assert str(refused.value).startswith(f"{registry.option} must be one of ")


def _suitable(serves):
    """Data that a statistic serves."""
    return {
        "any": (Y, P),
        "classes": (Y, P),
        "numbers, one a target": (NUMBERS, NORMAL),
        "draws of vectors": (RNG.normal(size=(20, 2)), kc.Samples(RNG.normal(size=(20, 5, 2)))),
        "densities with a score function": (NUMBERS, NORMAL),
    }[serves]


@pytest.mark.parametrize("entry", STATISTICS.entries, ids=lambda entry: entry.name)
def test_every_named_statistic_tests_what_it_serves(entry):
    result = kc.calibration_test(*_suitable(entry.serves), statistic=entry.name, draws=19)
    assert 0 < result.pvalue <= 1
    assert isinstance(entry.thing(), Statistic)


@pytest.mark.parametrize("entry", [e for e in STATISTICS.entries if e.serves != "any"], ids=lambda entry: entry.name)
def test_what_serves_some_predictions_alone_refuses_the_others(entry):
    other = (Y, P) if entry.serves != "classes" else (NUMBERS, NORMAL)
    words = r"asks about classes|needs predictions of numbers|needs densities of numbers|ranks among draws"
    with pytest.raises(InputError, match=words):
        kc.calibration_test(*other, statistic=entry.name)


def test_statistics_for_any_predictions_serve_vectors():
    vectors = IsotropicNormal(RNG.normal(size=(20, 2)), 1.0)
    for entry in STATISTICS.entries:
        if entry.serves == "any":
            assert kc.calibration_test(RNG.normal(size=(20, 2)), vectors, statistic=entry.name, draws=19).pvalue > 0


def test_the_name_pit_is_the_test_of_pit_values():
    named = kc.calibration_test(NUMBERS, NORMAL, statistic="pit", draws=99, rng=3, null="exact")
    assert repr(named) == repr(kc.pit_test(NUMBERS, NORMAL, draws=99, rng=3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.ones(20)}, "statistic='pit' ranks all rows alike under its own exact law: leave out weights"),
        ({"null": "swap"}, r"own exact law: leave out null=Swap\(\)"),
        ({"lens": kc.TopLabel()}, "a lens asks about classes"),
        ({"lens": kc.ClassWise()}, "a lens asks about classes"),
    ],
)
def test_what_the_test_of_pit_values_does_not_take(options, message):
    with pytest.raises(InputError, match=message):
        kc.calibration_test(NUMBERS, NORMAL, statistic="pit", **options)


def test_pit_values_are_no_estimate_and_are_not_redrawn():
    pit = STATISTICS.made("pit")
    with pytest.raises(InputError, match=r"no single estimate: kernelcal\.statistics\.pit gives them"):
        pit(NUMBERS, NORMAL)
    with pytest.raises(InputError, match="compared with uniform numbers, not with redrawn targets: use"):
        pit.prepare(NORMAL)


@pytest.fixture
def gap():
    register_statistic("gap", partial(kc.ECE, bins=2), summary="ECE in 2 bins", serves="classes")
    yield "gap"
    STATISTICS.forget("gap")


def test_a_name_of_a_user_is_known_everywhere(gap, tmp_path, capsys):
    expected = kc.calibration_test(Y, P, statistic=kc.ECE(bins=2), draws=19).pvalue
    assert kc.calibration_test(Y, P, statistic=gap, draws=19).pvalue == expected
    file = tmp_path / "rows.csv"
    file.write_text("y,p0,p1,p2\n" + "\n".join(f"{k},{','.join(map(str, row))}" for k, row in zip(Y, P, strict=True)))
    assert main(["test", str(file), "--statistic", gap, "--draws", "19", "--json"]) == 0
    assert f'"pvalue": {expected}' in capsys.readouterr().out
    assert "gap: ECE in 2 bins (classes)" in _options("test")["statistic"].help
    with pytest.raises(InputError, match="'pit', 'gap', a Statistic or a function, got 'gaps'"):
        kc.calibration_test(Y, P, statistic="gaps")


@pytest.mark.parametrize(
    ("name", "thing", "message"),
    [
        ("skce", kc.SKCE, r"statistic 'skce' is taken \(squared kernel calibration error, .*\): choose another name"),
        ("", kc.SKCE, "a name must be a word such as 'gap', got ''"),
        (" gap", kc.SKCE, "a name must be a word such as 'gap', got ' gap'"),
        (3, kc.SKCE, "a name must be a word such as 'gap', got 3"),
        ("gap", kc.SKCE(), r"'gap' needs what makes the statistic, such as its class, got SKCE\("),
        ("gap", "skce", "'gap' needs what makes the statistic, such as its class, got 'skce'"),
    ],
)
def test_names_that_cannot_be_given(name, thing, message):
    with pytest.raises(InputError, match=message):
        register_statistic(name, thing)
    assert "gap" not in STATISTICS


def test_the_summary_of_a_name_is_the_first_line_of_the_docstring(gap):
    register_statistic("gap again", kc.MMCE)
    assert STATISTICS.entries[-1].summary == "Maximum mean calibration error"
    STATISTICS.forget("gap again")


def test_a_registry_forgets_names_and_knows_what_is_there():
    colours = Registry("colour")
    colours.register("red", (1, 0, 0), summary="100 % red", serves="roses")
    assert (len(colours), list(colours), colours["red"]) == (1, ["red"], (1, 0, 0))
    assert colours.help == "red: 100 %% red (roses)"
    with pytest.raises(InputError, match="colour must be one of 'red', got 'blue'"):
        colours.forget("blue")
    colours.forget("red")
    assert not colours
