"""Files of ranks and PIT values: what is told by the names of columns, and what is asked."""

import json

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.io import Arrays
from kernelcal.ranks import posterior_test, rank_test, read_ranks


def source(**columns):
    return Arrays("table.csv", {name: np.asarray(values) for name, values in columns.items()})


RANKS = np.random.default_rng(0).integers(0, 10, 50)


def test_columns_are_found_by_their_names():
    found = read_ranks(source(sim=np.arange(50), rank_mu=RANKS, tau_rank=RANKS[::-1]), draws_per_rank=9)
    assert found.table.names == ("mu", "tau")
    np.testing.assert_array_equal(found.table.values, np.stack([RANKS, RANKS[::-1]], axis=1))
    assert found.sentence == "table.csv: 50 simulations, ranks of mu, tau among 9 draws, counted from 0"
    pit = read_ranks(source(pit=RANKS / 10, x=RANKS))
    assert (pit.table.names, pit.table.draws_per_rank) == (("pit",), None)


def test_names_and_globs_say_which_columns():
    table = source(a=RANKS, b1=RANKS / 10, b2=RANKS / 10, g=RANKS // 2)
    assert read_ranks(table, ranks="a", draws_per_rank=9, clusters="g").clusters.tolist() == [
        str(k) for k in RANKS // 2
    ]
    assert read_ranks(table, pit="b*").table.names == ("b1", "b2")


def test_a_line_a_parameter_and_simulation():
    order = np.random.default_rng(1).permutation(100)
    table = source(
        sim_id=np.tile(np.arange(10, 60), 2)[order],
        variable=np.repeat(["mu", "tau"], 50)[order],
        rank=np.concatenate([RANKS, RANKS[::-1]])[order],
        max_rank=np.full(100, 9),
    )
    found = read_ranks(table, first=0).table
    k = found.names.index("mu")
    np.testing.assert_array_equal(found.values[:, k], RANKS)
    np.testing.assert_array_equal(found.values[:, 1 - k], RANKS[::-1])


def test_true_values_and_draws_are_ranked():
    rng = np.random.default_rng(2)
    theta, samples = rng.normal(size=(30, 2)), rng.normal(size=(30, 9, 2))
    found = read_ranks(source(theta=theta, samples=samples, pair=np.arange(30) // 2), clusters="pair")
    expected = posterior_test(theta, samples, draws=19).table
    np.testing.assert_array_equal(found.table.values, expected.values)
    assert found.table.names == ("theta[0]", "theta[1]", "dependence", "TARP")
    assert found.joint == ("dependence", "TARP")
    assert len(found.clusters) == 30
    assert found.sentence == "table.csv: 30 simulations, theta of 2 numbers, 9 draws of each"


def test_ranks_that_reach_the_end_tell_where_they_begin():
    assert "counted from 1" in read_ranks(source(rank=RANKS + 1), draws_per_rank=9).sentence
    assert "counted from 0" in read_ranks(source(rank=RANKS), draws_per_rank=9).sentence


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"rank": RANKS}, {}, "how many draws is a rank among\\? Ranks go from 0 to 9.*--draws-per-rank L, such as 9"),
        ({"rank": RANKS + 1}, {"draws_per_rank": 20}, "from 0 or from 1\\? They go from 1 to 10"),
        ({"rank": RANKS, "pit": RANKS / 10}, {}, "look like ranks and pit like PIT values"),
        ({"x": RANKS}, {}, "no column is called rank... or pit...: .*columns: x"),
        ({"x": RANKS}, {"ranks": "y"}, "there is no column 'y': x"),
        ({"x": RANKS}, {"ranks": "x", "pit": "x"}, "not both"),
        ({"rank": RANKS / 10}, {}, "is no rank, expected whole numbers"),
        ({"pit": RANKS / 10}, {"draws_per_rank": 9}, "leave --draws-per-rank out"),
        ({"pit": np.where(RANKS > 4, np.nan, 0.5)}, {}, "is missing"),
        (
            {"variable": np.repeat(["a", "b"], [20, 30]), "rank": RANKS},
            {"draws_per_rank": 9},
            "different numbers of ranks",
        ),
        (
            {"variable": np.repeat(["a", "b"], 25), "rank": RANKS, "g": RANKS},
            {"draws_per_rank": 9, "clusters": "g"},
            "one line a simulation",
        ),
    ],
)
def test_questions_and_messages(columns, options, words):
    with pytest.raises(ValueError, match=words):
        read_ranks(source(**columns), **options)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "sbc.csv"
    narrow = np.where(np.arange(50) % 2, 0, 9)
    rows = "\n".join(f"{a},{b},{k // 2}" for k, (a, b) in enumerate(zip(RANKS, narrow, strict=True)))
    path.write_text(f"rank_mu,rank_tau,pair\n{rows}\n")
    return path


def test_the_command(table, capsys):
    assert main(["ranks", str(table), "--draws-per-rank", "9"]) == 0
    text = capsys.readouterr().out
    assert "50 simulations, ranks of mu, tau among 9 draws, counted from 0" in text
    assert "too narrow" in text
    assert main(["ranks", str(table)]) == 2
    assert "say --draws-per-rank L" in capsys.readouterr().err


def test_the_command_in_json_with_a_gate(table, capsys):
    assert main(["ranks", str(table), "--draws-per-rank", "9", "--json", "--fail-below", "0.01"]) == 1
    found = json.loads(capsys.readouterr().out)
    narrow = np.where(np.arange(50) % 2, 0, 9)
    assert found["pvalue"] == rank_test({"mu": RANKS, "tau": narrow}, 9).pvalue
    assert "is below 0.01" in found["said_no"][0]


def test_draws_are_enough_for_the_gate(table, capsys):
    """The p-value is corrected for two parameters, and in pairs for two sets too: 999 draws never make it .0019."""
    command = ["ranks", str(table), "--draws-per-rank", "9", "--fail-below", "0.0019"]
    assert main(command) == 1
    assert "p = 0.0019 is below 0.0019" in capsys.readouterr().out
    assert main([*command, "--draws", "999"]) == 2
    assert "make no p-value below 0.002, so that --fail-below 0.0019" in capsys.readouterr().err
    assert main([*command, "--draws", "2000", "--clusters", "pair"]) == 2
    assert "say --draws 2,106 or more" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ecdf", pytest.param("histogram", marks=pytest.mark.slow)])
def test_the_command_draws(kind, table, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    picture = tmp_path / f"{kind}.png"
    command = ["ranks", str(table), "--draws-per-rank", "9", "--clusters", "pair", "--picture", kind]
    assert main([*command, "--draws", "99", "--plot", str(picture)]) == 0
    assert picture.stat().st_size > 5000
    assert main(["ranks", str(table), "--draws-per-rank", "9", "--plot", str(tmp_path / "x.gif")]) == 2
    capsys.readouterr()
