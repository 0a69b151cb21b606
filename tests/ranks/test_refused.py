"""What tests of ranks and posteriors refuse: each message says what was given, expected and to do."""

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.ranks import pit_values_test, posterior_test, rank_test

N, S = 12, 9
RANKS = np.arange(N) % (S + 1)
THETA = np.linspace(-1, 1, 2 * N).reshape(N, 2)
DRAWS = np.random.default_rng(0).normal(size=(N, S, 2))


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ({"a": RANKS, "b": RANKS[1:]}, r"a mapping holds one column .* all of one length, got a \(12,\), b \(11,\)"),
        ({"a": RANKS[:, None]}, r"got a \(12, 1\): of several numbers a parameter make a column each"),
        ({"a": 3}, r"a mapping holds one column of shape \(simulations,\) a parameter"),
        ({}, "a parameter, all of one length, got no column"),
        ([[1, 2], [3]], "makes no rectangular array"),
        (["a"] * N, "the rank must be a number, one a simulation and parameter, got 'a': leave text out"),
        (None, "the rank must be a number, one a simulation and parameter, got 'None'"),
        (RANKS - 1, "a rank is the number of draws below the true value, 0 or more: count again"),
        (np.ma.masked_equal(RANKS, 3), "the rank in row 3, column 0 is missing"),
    ],
)
def test_ranks_that_are_none(ranks, words):
    with pytest.raises(InputError, match=words):
        rank_test(ranks, S)


def test_a_mapping_of_masked_columns():
    with pytest.raises(InputError, match="the rank in row 3, column 0 is missing"):
        rank_test({"mu": np.ma.masked_equal(RANKS, 3)}, S)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (RANKS, r"ranks go to rank_test\(ranks, draws_per_rank\) \(command line: --ranks NAMES\)"),
        (100 * (RANKS + 0.5) / 11, "and percentages are divided by 100"),
        ({"a": RANKS / S, "b": RANKS[1:] / S}, "the PIT value: a mapping holds one column"),
    ],
)
def test_pit_values_that_are_none(values, words):
    with pytest.raises(InputError, match=words):
        pit_values_test(values)


def test_more_parameters_than_simulations_are_said():
    found = rank_test(RANKS[None], S, draws=19)
    assert any("12 parameters of 1 simulations: one row a simulation is expected" in note for note in found.notes)
    assert not any("one row a simulation" in note for note in rank_test(RANKS, S, draws=19).notes)


@pytest.mark.parametrize(
    ("theta", "samples", "options", "words"),
    [
        ("a", DRAWS, {}, "theta must be numbers, got a: leave text and missing values out"),
        (THETA, [["x"]], {}, "samples must be numbers"),
        (THETA, DRAWS.transpose(0, 2, 1), {}, r"the draws lie on the last axis, np.moveaxis\(samples, -1, 1\)"),
        (DRAWS, THETA, {}, r"were the arguments swapped\? The order is \(theta, samples\)"),
        ({"a": THETA}, DRAWS, {}, "theta has names and samples is ndarray: pass a mapping of the same names"),
        ({"a": THETA}, {"b": DRAWS}, {}, "theta has a and samples b: no parameter is in both; call them alike"),
        ({}, {}, {}, "theta has no names and samples no names"),
        ({"a": ["x"] * N}, {"a": DRAWS[:, :, 0]}, {}, "values of parameters must be numbers"),
        (
            {"a": THETA[:, 0], "b": THETA[:, 1]},
            {"a": DRAWS[:, :, 0], "b": DRAWS[:, :5, 1]},
            {},
            r"draws have different numbers of simulations or draws, a \(12, 9\), b \(12, 5\): take as many of each",
        ),
        (THETA, DRAWS, {"pre_ranks": None}, "pre_ranks must be names, each once"),
        (THETA, DRAWS, {"pre_ranks": 3}, "pre_ranks must be names, each once"),
        (THETA, DRAWS, {"tarp": "x"}, "tarp must be True or False, got 'x'"),
        (THETA, DRAWS, {"simulation": "x"}, "simulation names an axis of a dataset"),
        (THETA, np.ma.masked_equal(DRAWS, DRAWS[3, 0, 0]), {}, "the draw in row 3, member 0 is missing"),
    ],
)
def test_posteriors_that_are_none(theta, samples, options, words):
    with pytest.raises(InputError, match=words):
        posterior_test(theta, samples, draws=19, **options)


def test_ways_that_are_named_lead_there():
    turned = DRAWS.transpose(0, 2, 1)
    assert np.array_equal(np.moveaxis(turned, -1, 1), DRAWS)


@pytest.mark.parametrize(
    ("text", "said", "words"),
    [
        ("rank_mu\n", [], "there are no rows, only names: one row a simulation is expected"),
        ("rank_mu,L\n1,9\n2,10\n", [], "column L says how many draws a rank is among, one whole number for all rows"),
        (
            "rank_mu,id\n1,a\n0,\n",
            ["--draws-per-rank", "9", "--clusters", "id"],
            "--clusters id: row 1 says nothing (1",
        ),
        ("rank_mu\n1\nx\n", ["--draws-per-rank", "9"], "'x' is not a number: mend such cells, or leave the rows out"),
        ("pit\n0.5\n4.5\n", [], "(command line: --ranks NAMES), and percentages are divided by 100"),
    ],
)
def test_tables(text, said, words, tmp_path, capsys):
    (tmp_path / "ranks.csv").write_text(text, encoding="utf-8")
    assert main(["ranks", str(tmp_path / "ranks.csv"), *said]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "--drop-missing" not in told
