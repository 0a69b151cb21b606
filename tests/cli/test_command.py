"""The command line: what it prints, its exit status, and never a traceback."""

import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main

DRAWS = ["--draws", "99"]


@pytest.fixture
def honest(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=120)
    return save(tmp_path / "honest.csv", kc.Bernoulli(p).sample(rng)[0], p)


@pytest.fixture
def bold(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    y = kc.Bernoulli(p).sample(rng)[0]
    return save(tmp_path / "bold.csv", y, p**3 / (p**3 + (1 - p) ** 3))


def save(path, y, p):
    path.write_text("y,p\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
    return str(path)


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_evaluate_says_what_it_read_and_then_the_table(capsys, honest):
    status, out, err = run(capsys, "evaluate", honest)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    sentence = f"read {honest}: 120 rows; target y; predictions p, probabilities; 2 classes: 0, 1"
    assert lines[0] == f"{sentence}; found by name: target, predictions"
    assert lines[1] == "Calibration of class predictions"
    assert "No evidence against calibration" in out


@pytest.mark.slow
def test_the_figures_are_those_of_the_library(capsys, bold):
    status, out, _ = run(capsys, "evaluate", bold, "--json")
    assert status == 0
    found = json.loads(out)
    table = np.genfromtxt(bold, delimiter=",", names=True)
    expected = kc.evaluate(table["y"].astype(int), table["p"]).to_dict()
    for name in ("accuracy", "log_score", "brier_score", "ece", "skce", "skce_root", "test", "pvalue", "verdict"):
        assert found[name] == expected[name], name
    assert found["read"].startswith("read ")
    assert "over-confident" in found["verdict"]


def test_test_prints_the_family(capsys, bold):
    status, out, _ = run(capsys, "test", bold)
    assert status == 0
    for part in ("Calibration test", "slope", "bias", "kernels at", "over-confident", "999 draws"):
        assert part in out
    status, out, _ = run(capsys, "test", bold, "--statistic", "skce", "--json", "--seed", "3", "--draws", "199")
    found = json.loads(out)
    assert [m["name"] for m in found["members"]] == ["SKCE"]
    assert found["draws"] == 199


def test_seed_and_draws_reach_the_test(capsys, honest):
    one = json.loads(run(capsys, "evaluate", honest, "--json", "--seed", "1")[1])["pvalue"]
    table = np.genfromtxt(honest, delimiter=",", names=True)
    assert one == kc.evaluate(table["y"].astype(int), table["p"], rng=1).pvalue


@pytest.mark.parametrize("command", ["evaluate", "test"])
def test_fail_below_is_for_pipelines(capsys, honest, bold, command):
    assert run(capsys, command, bold, "--fail-below", "0.05", *DRAWS)[0] == 1
    assert run(capsys, command, honest, "--fail-below", "0.05", *DRAWS)[0] == 0
    assert run(capsys, command, bold, *DRAWS)[0] == 0
    assert run(capsys, command, honest, bold, "--fail-below", "0.05", *DRAWS)[0] == 1


@pytest.mark.slow
def test_several_files_one_after_the_other(capsys, honest, bold):
    status, out, _ = run(capsys, "evaluate", honest, bold, *DRAWS)
    assert status == 0
    assert out.count("Calibration of class predictions") == 2
    assert out.index(honest) < out.index(bold)
    found = json.loads(run(capsys, "evaluate", honest, bold, "--json", *DRAWS)[1])
    assert [len(found), found[0]["n"], found[1]["n"]] == [2, 120, 300]


def test_json_is_strict_when_the_log_score_is_infinite(capsys, tmp_path):
    path = save(tmp_path / "a.csv", np.array([1, 0, 1]), np.array([0.0, 0.5, 0.7]))
    status, out, _ = run(capsys, "evaluate", path, "--json")
    found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert status == 0
    assert found["log_score"] is None
    assert found["test"]["impossible_rows"] == [0]
    assert "row 0" in found["notes"][0]


def test_two_npy_files_in_either_order(capsys, tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    np.save(tmp_path / "scores.npy", p)
    np.save(tmp_path / "targets.npy", kc.Categorical(p).sample(1)[0])
    files = [str(tmp_path / "scores.npy"), str(tmp_path / "targets.npy")]
    one = run(capsys, "evaluate", *files, *DRAWS)
    other = run(capsys, "evaluate", *files[::-1], *DRAWS)
    assert one[0] == other[0] == 0
    assert one[1].splitlines()[2:9] == other[1].splitlines()[2:9]


def bad_files(tmp_path):
    """Name, content, and a part of the sentence that must come."""
    garbage = bytes(range(129, 256)) * 20
    return {
        "absent.csv": (None, "there is no such file"),
        "garbage.csv": (garbage, "not text in UTF-8"),
        "garbage.npz": (garbage, "not a file in npz format"),
        "garbage.parquet": (garbage, "cannot be read as parquet"),
        "garbage.jsonl": (garbage, "not text in UTF-8"),
        "model.pkl": (b"\x80\x04K\x01.", "pickles are not opened"),
        "model.pt": (garbage, "pickles are not opened"),
        "sheet.ods": (garbage, "csv, tsv, txt, dat, npy (a pair), "),
        "empty.csv": (b"", "the file is empty"),
        "header.csv": (b"y,p\n", "no rows"),
        "ragged.csv": (b"y,p\n1,0.5\n1\n", "line 3: 1 cell, the header has 2"),
        "text.csv": (b"y,p\n1,0.5\n0,often\n", "line 3, column 'p': 'often' is not a number"),
        "percent.csv": (b"y,p\n1,50%\n0,20\n", "cells with and without a percent sign"),
        "percents.csv": (b"y,p\n1,50\n0,20\n1,80\n", "--kind percent"),
        "logits.csv": (b"y,p\n1,-2.5\n0,3\n1,8\n", "--kind"),
        "missing.csv": (b"y,p\n1,0.5\n0,NA\n1,0.5\n", "--drop-missing"),
        "missing_target.csv": (b"y,p\n1,0.5\n,0.2\n1,0.5\n", "--drop-missing"),
        "draws.csv": (b"y,p\n1,0.5\n0,0.2\n0.5,0.5\n", "--drop-target 0.5"),
        "one_based.csv": (b"y,p0,p1\n1,0.5,0.5\n2,0.2,0.8\n", "--one-based"),
        "sums.csv": (b"y,p0,p1\n1,0.5,0.4\n0,0.2,0.8\n", "--normalize"),
        "words.csv": (b"y,p\nspam,0.5\neggs,0.2\n", "classes"),
        "huge.csv": (b"y,p\n1" + b"0" * 400 + b",0.5\n0,0.2\n", "the targets are text"),
        "one.csv": (b"y,p\n1,0.5\n", "at least 2 rows"),
        "names.csv": (b"a,b\n1,0.5\n0,0.2\n", "--target NAME"),
        "semicolon.csv": (b"y;p\n1;0.5\n0;0.2;1\n", "--delimiter ';'"),
    }


@pytest.mark.parametrize("name", bad_files(None))
@pytest.mark.parametrize("command", ["evaluate", "test"])
def test_bad_input_is_one_sentence_and_status_two(capsys, tmp_path, name, command):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    content, message = bad_files(tmp_path)[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    status, _, err = run(capsys, command, str(path))
    assert status == 2
    assert err.startswith("kernelcal: ")
    assert len(err.splitlines()) == 1
    assert name in err
    assert message in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "z"], "there is no column 'z'. The columns are y, p"),
        (["--predictions", "q*"], "no column matches 'q*'"),
        (["--target", "p", "--predictions", "p"], "cannot be both predictions and target"),
        (["--draws", "0"], "draws must be a positive whole number, got 0"),
        (["--draws", "-5"], "draws must be a positive whole number, got -5"),
        (["--draws", "1" + 20 * "0"], "draws must be at most 100,000,000, got 100,000,000,000,000,000,000: smaller"),
        (["--kind", "top-label"], "--kind top-label needs --predicted-label NAME"),
        (["--predicted-label", "y", "--kind", "logits"], "--predicted-label asks about the confidence in one label"),
        (["--one-based", "--classes", "a,b"], "exclude each other"),
        (["--classes", "a,b,c"], "classes names 3 classes, but the predictions have 2"),
        (["--delimiter", "ab"], "--delimiter must be one character"),
        (["--drop-target", "0"], ""),
    ],
)
def test_options_that_do_not_fit(capsys, honest, options, message):
    status, _, err = run(capsys, "evaluate", honest, *options)
    if message:
        assert status == 2
        assert message in err
        assert "Traceback" not in err
    else:
        assert status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["evaluate"],
        ["evaluate", "x.csv", "--draws", "abc"],
        ["evaluate", "x.csv", "--seed", "-1"],
        ["guess", "x.csv"],
        ["evaluate", "x.csv", "--fail-below", "5"],
    ],
)
def test_misuse_is_explained_by_the_parser(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: kernelcal" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"kernelcal {kc.__version__}\n"


def test_folder_and_lonely_npy(capsys, tmp_path):
    status, _, err = run(capsys, "evaluate", str(tmp_path))
    assert (status, "this is a folder" in err) == (2, True)
    np.save(tmp_path / "a.npy", np.array([0.1, 0.2]))
    status, _, err = run(capsys, "evaluate", str(tmp_path / "a.npy"))
    assert status == 2
    assert "npy" in err


def in_process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "kernelcal.cli", *arguments], capture_output=True, text=True, **options
    )


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(bold):
    command = f"{sys.executable} -m kernelcal.cli evaluate {bold} {bold} --draws 99 | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout.startswith("read ")
    assert done.stderr == ""


def test_interrupting_is_quiet(capsys, honest, monkeypatch):
    from kernelcal.cli import tables

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "_compute", interrupt)
    status, _, err = run(capsys, "evaluate", honest)
    assert status == 130
    assert "Traceback" not in err


@pytest.mark.slow
def test_progress_is_for_terminals_only(bold):
    done = in_process("evaluate", bold, "--draws", "99")
    assert done.returncode == 0
    assert done.stderr == ""
    pty = pytest.importorskip("pty")
    controller, terminal = pty.openpty()
    code = [sys.executable, "-m", "kernelcal.cli", "evaluate", bold, "--draws", "99"]
    done = subprocess.run(code, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert "99/99 draws" in shown
    assert shown.endswith("\r\x1b[K")  # the bar is wiped
    assert "draws" not in done.stdout.splitlines()[0]


def test_all_draws(capsys, honest):
    found = json.loads(run(capsys, "evaluate", honest, "--json", "--all-draws", "--draws", "250")[1])
    assert found["test"]["draws"] == 250
    assert not found["test"]["stopped_early"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["test", "--statistic", "skce", "--null", "saddlepoint"], "known law given the predictions, saddlepoint"),
        (["test", "--statistic", "skce-block", "--null", "block"], "normal law of the block values"),
        (["test", "--lens", "class-wise", "--draws", "99"], "p-values corrected by Holm"),
        (["test", "--lens", "class-wise-joint", "--draws", "99"], "ranked together"),
        (["test", "--lens", "class:1", "--statistic", "ece", "--draws", "99"], "class 1 against the rest"),
        (["evaluate", "--lens", "top-label", "--draws", "99", "--confidence-level", "0.8"], "80 % interval"),
        (["evaluate", "--lens", "top-1", "--draws", "99"], "top 1 and the rest"),
    ],
)
def test_lens_and_null_reach_the_library(capsys, bold, arguments, shown):
    from kernelcal.cli import main

    assert main([arguments[0], str(bold), *arguments[1:]]) == 0
    assert shown in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["test", "--lens", "best"], "unknown lens 'best': top-label, top-K"),
        (["test", "--lens", "class:zebra"], "'zebra' is none of the classes"),
        (["evaluate", "--lens", "class-wise"], "this takes one question"),
        (["evaluate", "--weights", "w"], "there is no column 'w'"),
    ],
)
def test_lens_and_weights_are_checked(capsys, bold, arguments, message):
    from kernelcal.cli import main

    assert main([arguments[0], str(bold), *arguments[1:]]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def numbers(tmp_path):
    """Targets with means, standard deviations half as large as they should be, draws and quantiles."""
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=150), rng.uniform(1, 2, 150)
    y = mean + std * rng.normal(size=150)
    columns = {"y": y, "mu": mean, "sd": std / 2}
    columns |= {f"m_{k}": mean + std * rng.normal(size=150) for k in range(9)}
    columns |= {f"q{level}": mean + std * z for level, z in ((0.05, -1.645), (0.5, 0.0), (0.95, 1.645))}
    path = tmp_path / "numbers.csv"
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    path.write_text(",".join(columns) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_evaluate_numbers(capsys, numbers):
    status, out, err = run(capsys, "evaluate", str(numbers), "--mean", "mu", "--std", "sd")
    assert (status, err) == (0, "")
    assert out.startswith(
        f"read {numbers}: 150 rows; target y; Normal from mean mu and std sd; found by name: target\n"
    )
    assert "too narrow" in out
    found = json.loads(run(capsys, "evaluate", str(numbers), "--mean", "mu", "--std", "sd", "--json")[1])
    table = np.genfromtxt(numbers, delimiter=",", names=True)
    expected = kc.evaluate(table["y"], kc.Normal(table["mu"], table["sd"])).to_dict()
    for name in ("n", "skce", "skce_root", "pvalue", "verdict", "notes"):
        assert found[name] == expected[name], name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mean", "mu", "--variance", "sd"], "Normal from mean mu and the root of variance sd"),
        (["--samples", "m_*"], "9 draws a row (m_0 to m_8)"),
        (["--quantiles", "q*"], "3 quantiles from 0.05 to 0.95 (q0.05 to q0.95)"),
        (
            ["--mean", "mu,m_1", "--std", "sd,sd_2", "--target", "y,m_2"],
            "DiagonalNormal from mean and std: y (mu, sd), m_2 (m_1, sd_2)",
        ),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "test"])
def test_every_kind_of_numbers(capsys, numbers, command, options, said):
    text = numbers.read_text().splitlines()
    numbers.write_text("".join(f"{row},{'sd_2' if k == 0 else 1.5}\n" for k, row in enumerate(text)))
    status, out, err = run(capsys, command, str(numbers), *options, *DRAWS)
    assert (status, err) == (0, "")
    assert said in out.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--statistic", "skce"], "SKCE"),
        (["--statistic", "ucme"], "UCME"),
        (["--statistic", "pit"], "uniform PIT values"),
        (["--statistic", "pit", "--null", "exact"], "uniform PIT values"),
    ],
)
def test_statistics_of_numbers(capsys, numbers, options, shown):
    status, out, err = run(capsys, "test", str(numbers), "--mean", "mu", "--std", "sd", *options, *DRAWS)
    assert (status, err) == (0, "")
    assert shown in out


def test_the_swap_law_serves_draws(capsys, numbers):
    default = run(capsys, "test", str(numbers), "--samples", "m_*", "--json", *DRAWS)
    swap = run(capsys, "test", str(numbers), "--samples", "m_*", "--null", "swap", "--json", *DRAWS)
    assert default[0] == swap[0] == 0
    assert json.loads(default[1])["pvalue"] == json.loads(swap[1])["pvalue"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lens", "top-label"], "--lens asks a simpler question about classes"),
        (["--classes", "a,b"], "--classes is said of class probabilities"),
        (["--kind", "logits"], "--kind is said of class probabilities"),
        (["--one-based"], "--one-based is said of class probabilities"),
        (["--normalize"], "--normalize is said of class probabilities"),
        (["--predictions", "mu"], "say one of them"),
        (["--statistic", "pit", "--weights", "m_1"], "leave out weights (command line: --weights, --null)"),
        (["--statistic", "pit", "--null", "bound"], "leave out null=Bound()"),
        (["--where", "mu"], "--where takes column=value"),
    ],
)
def test_what_does_not_belong_to_numbers(capsys, numbers, options, message):
    status, _, err = run(capsys, "test", str(numbers), "--mean", "mu", "--std", "sd", *options, *DRAWS)
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_pit_is_not_for_classes(capsys, honest):
    status, _, err = run(capsys, "test", honest, "--statistic", "pit")
    assert status == 2
    assert err.startswith("kernelcal: ")


def test_help_has_a_group_for_every_kind_of_file(capsys):
    for command in ("evaluate", "test"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        out = capsys.readouterr().out
        groups = ["what the file holds:", "predictions of classes:", "predictions of numbers:", "long tables:"]
        places = [out.index(group) for group in groups]
        assert places == sorted(places)
        assert out.index("predictions of numbers:") < out.rindex("--quantile-levels LEVELS") < out.index("long tables:")


def test_a_hubverse_table_end_to_end(capsys, data_folder):
    table = data_folder / "flusight" / "2024-01-06-FluSight-baseline.csv"
    truth = data_folder / "flusight" / "target-hospital-admissions_2024-04-27.csv"
    arguments = ["evaluate", str(table), "--truth", str(truth), "--where", "horizon=2", "--where", "horizon=3"]
    status, out, err = run(capsys, *arguments, "--json", *DRAWS)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["n"] == 24
    assert "552 of 1,380 lines where horizon=2 or 3" in found["read"]
    status, out, err = run(capsys, "evaluate", str(table))
    assert status == 2
    assert "--truth FILE" in err


def predictions_of(tmp_path, name, factor, seed=0, n=150):
    """The same targets for every name, with predictions whose log-odds are larger by a factor."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return save(tmp_path / name, kc.Bernoulli(p).sample(rng)[0], p**factor / (p**factor + (1 - p) ** factor))


@pytest.fixture
def rounded(tmp_path):
    """Quantiles of one forecast in two files, and outcomes that were rounded to whole numbers; all lie between."""
    rng = np.random.default_rng(0)
    mean = rng.normal(0, 4, 120)
    y, q = np.round(mean + 3 * rng.normal(size=120)), mean[:, None] + 3 * np.array([-1.645, 0.0, 1.645])
    paths = []
    for name, factor in (("one", 1.0), ("two", 0.6)):
        table = np.column_stack([y, mean[:, None] + factor * (q - mean[:, None])])
        paths.append(str(tmp_path / f"{name}.csv"))
        np.savetxt(paths[-1], table, delimiter=",", header="y,q0.05,q0.5,q0.95", comments="")
    return y, q, paths


@pytest.mark.parametrize("command", ["evaluate", "test"])
def test_the_width_of_outcomes(capsys, rounded, command):
    y, q, (path, _) = rounded
    said = [command, path, "--quantiles", "q*", "--json", *DRAWS]
    _, out, _ = run(capsys, *said, "--resolution", "1")
    found = json.loads(out)
    batch = kc.Quantiles(q, [0.05, 0.5, 0.95], resolution=1.0)
    assert found["pvalue"] == kc.calibration_test(y, batch, draws=99).pvalue
    assert "conservative with ties" in found.get("test", found)["null"]
    _, out, _ = run(capsys, *said)
    assert "conservative" not in json.loads(out).get("test", json.loads(out))["null"]
    if command == "evaluate":
        assert ", outcomes rounded to 1 (q0.05 to q0.95)" in found["read"]
        assert found["levels"]["ties"]


@pytest.mark.slow
def test_the_width_of_outcomes_of_several_models_and_of_parts(capsys, rounded, tmp_path):
    y, q, paths = rounded
    said = ["--quantiles", "q*", "--resolution", "1", *DRAWS]
    status, out, _ = run(capsys, "compare", *paths, *said)
    assert status == 0
    assert "weighted interval score" in out
    assert out.count("outcomes rounded to 1") == 2
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    status, out, _ = run(capsys, "report", *paths, *said, "-o", str(page))
    assert status == 0
    assert "least gap" in page.read_text().lower()
    pytest.importorskip("pyarrow")
    status, _, err = run(capsys, "evaluate", paths[0], *said, "--one-pass")
    assert status == 2
    assert "equals a quantile up to its rounding of 1" in err
    far = [float(np.abs(y[:, None] - q).min() / 2)]
    status, out, err = run(capsys, "evaluate", paths[0], "--quantiles", "q*", "--resolution", str(far[0]), "--one-pass")
    assert (status, err) == (0, "")


@pytest.mark.parametrize("width", ["-1", "wide", "nan", "inf"])
def test_a_width_that_is_none_is_refused(capsys, rounded, width):
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", rounded[2][0], "--quantiles", "q*", f"--resolution={width}"])
    assert caught.value.code == 2
    assert "expected the width to which outcomes were rounded, such as 0.1 or 1, or 0" in capsys.readouterr().err


def test_a_width_of_outcomes_belongs_to_quantiles(capsys, honest, numbers):
    for said in ([honest], [str(numbers), "--mean", "mu", "--std", "sd"], [str(numbers), "--samples", "m_*"]):
        status, _, err = run(capsys, "evaluate", *said, "--resolution", "1")
        assert status == 2
        assert "--resolution is said of quantiles or of a long table" in err
        assert "leave it out, or say --quantiles" in err


@pytest.fixture
def three(tmp_path):
    return [
        predictions_of(tmp_path, f"{name}.csv", factor) for name, factor in (("fair", 1), ("bold", 3), ("meek", 0.3))
    ]


@pytest.mark.slow
def test_compare_says_what_it_read_what_it_costs_and_then_the_tables(capsys, three):
    status, out, err = run(capsys, "compare", *three, *DRAWS)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    sentence = f"fair: read {three[0]}: 150 rows; target y; predictions p, probabilities; 2 classes: 0, 1"
    assert lines[0] == f"{sentence}; found by name: target, predictions"
    assert [line.partition(":")[0] for line in lines[1:3]] == ["bold", "meek"]
    assert lines[3] == "comparing 3 models on 150 rows: about 1 s on two cores"
    assert lines[5].endswith(" 150 rows.")
    for part in ("Paired differences", "fair - bold", "tied with", "1 fair"):
        assert part in out


@pytest.mark.slow
def test_compare_gives_the_figures_of_the_library(capsys, three):
    arguments = ["--draws", "99", "--seed", "3", "--within", "0.2", "--confidence-level", "0.9", "--lens", "top-label"]
    status, out, _ = run(capsys, "compare", *three, "--json", *arguments)
    assert status == 0
    found = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    tables = [np.genfromtxt(path, delimiter=",", names=True) for path in three]
    models = {name: table["p"] for name, table in zip(("fair", "bold", "meek"), tables, strict=True)}
    y, options = tables[0]["y"].astype(int), {"within": 0.2, "confidence_level": 0.9, "draws": 99, "rng": 3}
    expected = kc.compare(y, models, lens=kc.TopLabel(), **options).to_dict()
    for name in ("n", "verdict", "differences", "kernels", "notes"):
        assert found[name] == expected[name], name
    for one, other in zip(found["models"], expected["models"], strict=True):
        for name in ("name", "ckce", "ckce_plug_in", "equivalence", "pvalue", "skce"):
            assert one[name] == other[name], name
    assert list(found["read"]) == ["fair", "bold", "meek"]


@pytest.mark.slow
def test_compare_one_table_of_models_with_names_of_rows(capsys, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    y = kc.Bernoulli(p).sample(rng)[0]
    rows = [
        f"{name},{k},{y[k]},{float(p[k] ** power)!r}"
        for name, power in (("a", 1), ("b", 3), ("c", 9))
        for k in range(60)
    ]
    path = tmp_path / "all.csv"
    path.write_text("net,case,y,p\n" + "\n".join(rows[k] for k in rng.permutation(180)) + "\n")
    arguments = [str(path), "--model-column", "net", "--row-id", "case", "--json", *DRAWS]
    status, out, err = run(capsys, "compare", *arguments)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert sorted(model["name"] for model in found["models"]) == ["a", "b", "c"]
    of_a = next(model for model in found["models"] if model["name"] == "a")
    assert of_a["brier_score"] == pytest.approx(((y - p) ** 2).mean())
    status, out, _ = run(capsys, "compare", *arguments, "--where", "net=a", "--where", "net=c")
    assert sorted(model["name"] for model in json.loads(out)["models"]) == ["a", "c"]


def test_compare_numbers(capsys, tmp_path):
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=80), rng.uniform(1, 2, 80)
    y = mean + std * rng.normal(size=80)
    np.savez(tmp_path / "normal.npz", y=y, mean=mean, std=std)
    np.savez(tmp_path / "draws.npz", y=y, samples=mean[:, None] + std[:, None] * rng.normal(size=(80, 9)))
    status, out, err = run(capsys, "compare", str(tmp_path / "normal.npz"), str(tmp_path / "draws.npz"), *DRAWS)
    assert (status, err) == (0, "")
    assert "CRPS" in out
    assert "in 90 %" in out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PNG"])
def test_compare_draws_a_picture(capsys, three, tmp_path, suffix):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / f"a b.{suffix}"
    status, out, err = run(capsys, "compare", *three, "--plot", str(path), *DRAWS)
    assert (status, err) == (0, "")
    assert out.splitlines()[-1] == f"wrote {path}"
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []


@pytest.mark.slow
def test_a_picture_takes_the_place_of_another_at_once(capsys, three, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / "a.png"
    path.write_bytes(b"the picture of yesterday")
    with path.open("rb") as before:
        assert run(capsys, "compare", *three, "--plot", str(path), *DRAWS)[0] == 0
        assert before.read() == b"the picture of yesterday"  # who reads the old one reads it to its end
    assert path.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_a_picture_is_no_part_of_the_json(capsys, three, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    status, out, err = run(capsys, "compare", *three, "--plot", str(tmp_path / "a.png"), "--json", *DRAWS)
    assert status == 0
    assert json.loads(out)["n"] == 150
    assert err == f"wrote {tmp_path / 'a.png'}\n"


@pytest.mark.slow
def test_a_picture_that_fails_leaves_nothing_behind(capsys, three, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    def half(figure, path, **_):
        path.write_bytes(b"half a picture")
        raise OSError("no space left on device")

    old = tmp_path / "a.png"
    old.write_bytes(b"the picture of yesterday")
    monkeypatch.setattr(Figure, "savefig", half)
    status, _, err = run(capsys, "compare", *three, "--plot", str(old), *DRAWS)
    assert (status, err) == (3, "kernelcal: reading or writing failed: no space left on device\n")
    assert old.read_bytes() == b"the picture of yesterday"
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


def test_a_picture_that_cannot_be_is_refused_before_the_work(capsys, three, tmp_path):
    status, out, err = run(capsys, "compare", *three, "--plot", str(tmp_path / "a.xyz"), *DRAWS)
    assert (status, out) == (2, "")
    assert (
        err == f"kernelcal: --plot draws a picture: its name ends in .png or .svg or .pdf, got {tmp_path / 'a.xyz'}\n"
    )
    status, out, err = run(capsys, "compare", *three, "--plot", str(tmp_path / "absent" / "a.png"), *DRAWS)
    assert (status, out) == (2, "")
    assert "there is no folder" in err


@pytest.mark.parametrize("command", ["compare", "measure", "clinical", "ranks", "survival", "monitor --state s.npz"])
def test_without_matplotlib_the_extra_is_named_before_the_work(capsys, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    status, out, err = run(capsys, *command.split(), "not-opened.csv", "--plot", "a.png")
    assert (status, out) == (2, "")
    assert "pip install 'kernelcal[plot]'" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--draws", "50"], "draws must be at least 99 for intervals, got 50"),
        (["--within", "0"], "within must be a positive number"),
        (["--within", "nan"], "within must be a positive number"),
        (["--confidence-level", "1"], "confidence_level must lie between 0 and 1"),
        (["--confidence-level", "0"], "confidence_level must lie between 0 and 1"),
        (["--lens", "class-wise"], "one question"),
        (["--lens", "best"], "unknown lens 'best'"),
        (["--lens", "class:zebra"], "'zebra' is none of the classes"),
        (["--lens", "top-9"], ""),
        (["--weights", "p"], ""),
        (["--weights", "y"], ""),
        (["--row-id", "case"], "model fair: there is no column 'case'"),
        (["--row-id", "y"], "two rows y="),
        (["--row-id", ","], ""),
        (["--model-column", "y"], "reads one table, got 3 files"),
        (["--where", "y"], "--where takes column=value"),
        (["--drop-missing"], "nothing tells rows apart"),
    ],
)
def test_comparisons_that_cannot_be_made_are_one_sentence(capsys, three, arguments, message):
    status, _, err = run(capsys, "compare", *three, *DRAWS, *arguments)
    if status:
        assert status == 2
        assert len(err.splitlines()) == 1
    else:
        assert not message
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", bad_files(None))
def test_compare_names_the_file_that_cannot_be_read(capsys, three, tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    content, message = bad_files(tmp_path)[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    status, _, err = run(capsys, "compare", three[0], str(path), *DRAWS)
    assert status == 2
    assert err.startswith("kernelcal: ")
    assert len(err.splitlines()) == 1
    assert path.stem in err
    assert message in err or "model" in err


def test_compare_one_file_and_files_that_do_not_agree(capsys, three, honest, bold):
    status, _, err = run(capsys, "compare", three[0], *DRAWS)
    assert status == 2
    assert "one model was found (fair)" in err
    assert "the same file was given twice" in run(capsys, "compare", three[0], three[0], *DRAWS)[2]
    assert "model honest has 120 rows and bold 300" in run(capsys, "compare", honest, bold, *DRAWS)[2]


def test_compare_classes_against_numbers(capsys, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    np.savez(tmp_path / "classes.npz", y=y, p=rng.uniform(size=30))
    np.savez(tmp_path / "numbers.npz", y=y, mean=rng.uniform(size=30), std=np.ones(30))
    status, _, err = run(capsys, "compare", str(tmp_path / "classes.npz"), str(tmp_path / "numbers.npz"), *DRAWS)
    assert status == 2
    assert "do not both predict classes" in err


def test_how_a_file_is_read_and_how_that_is_stated(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("P_Cat,P_Dog,label\n" + "0.2,0.8,dog\n0.7,0.3,cat\n0.5,0.5,cat\n" * 20)
    assert main(["evaluate", str(path), "--explain-reading"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("2 classes: cat (P_Cat), dog (P_Dog); found by name: target, predictions, classes")
    assert lines[1] == (
        "question: the predictions have only 3 different values (0.3, 0.5, 0.8): are these predicted labels?"
    )
    assert lines[2:5] == [
        "--target label: label is a usual name of outcomes",
        "--predictions P_Cat,P_Dog: called as the labels of the target",
        "--classes cat,dog: the names of the columns, beside the labels",
    ]
    stated = shlex.split(lines[5].removeprefix("the same, stated: "))
    assert stated[:3] == ["kernelcal", "evaluate", str(path)]
    assert len(lines) == 6  # nothing was computed
    assert main([*stated[1:], "--draws", "99"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == lines[0].removesuffix("; found by name: target, predictions, classes")
    assert main([*stated[1:], "--explain-reading"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "every column was named; nothing was found by name"
    assert main(["compare", str(path), str(path.rename(tmp_path / "b.csv")), "--explain-reading"]) == 2


def test_labels_that_seem_to_count_from_one(capsys, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, p=np.full((60, 3), 1 / 3), y=np.tile([1, 2], 30))
    assert main(["evaluate", str(path), "--draws", "99"]) == 0
    assert "question: no row has label 0, though 20 are expected: do the labels count from 1" in capsys.readouterr().out
