"""The command line on every whole class file, the forecasts of FluSight, and the cuts of the tests."""

import contextlib
import io
import json
import subprocess
import sys

from networks import ROOT, SHARED, same

from kernelcal.cli import main
from kernelcal.io import ReadOptions, read

FIVE = "fivethirtyeight"
NETWORKS = ("densenet121", "densenet169", "mobilenet_v2", "resnet18", "resnet50", "vgg11_bn", "vgg13_bn", "vgg19_bn")
TOP = [
    "--kind",
    "top-label",
    "--target",
    "true_label",
    "--predicted-label",
    "pred_label",
    "--predictions",
    "confidence",
]
GAME = ["--target", "prob1_outcome", "--predictions", "prob1"]
CUP = ["--target", "prob1_outcome,probtie_outcome,prob2_outcome", "--predictions", "prob1,probtie,prob2"]
LLM = ["--target", "correct", "--predictions", "stated_confidence"]
PAIR = "expected_cost/{0}.scores.npy expected_cost/{0}.targets.npy"
RAIN = "niamey_precip/precip_Niamey_2016.csv"

FILES = {  # files, options, rows
    **{name: (f"cifar10_networks/{name}.npz", [], 10_000) for name in NETWORKS},
    "lenet": ("netcal_records/lenet-5-cifar-10.npz", [], 10_000),
    "wideresnet": ("netcal_records/wideresnet-16-4-cifar-10.npz", [], 10_000),
    "wideresnet-100": ("netcal_records/wideresnet-16-4-cifar-100.npz", [], 10_000),
    "resnet101": ("imagenet_toplabel/resnet101.csv", TOP, 50_000),
    "resnet110": ("imagenet_toplabel/probs_resnet110_c100_logits.csv", TOP, 10_000),
    "snacks": ("imagenet_toplabel/snacks.csv", TOP, 952),
    "agnews": (PAIR.format("agnews_gpt2"), ["--kind", "log-probabilities"], 7_600),
    "pathmnist": (PAIR.format("pathmnist_resnet50"), ["--kind", "log-probabilities"], 7_180),
    "repvgg": (PAIR.format("cifar10_repvgg_a2"), ["--kind", "logits"], 10_000),
    "nba": (f"{FIVE}/nba_games.csv", GAME, 8_886),
    "nfl": (f"{FIVE}/nfl_games.csv", [*GAME, "--drop-target", "0.5"], 1_882),
    "mlb": (f"{FIVE}/mlb_games.csv", [*GAME, "--drop-target", "0.5"], 15_747),
    "world cup": (f"{FIVE}/world_cup_matches_men.csv", CUP, 176),
    **{f"rain, {name}": (RAIN, ["--target", "obs", "--predictions", name], 92) for name in ("Logistic", "EMOS")},
    **{f"rain, {name}": (RAIN, ["--target", "obs", "--predictions", name], 92) for name in ("ENS", "EPC")},
    "llm": ("llm_confidence/llm-confidence-correct.csv", LLM, 72_185),
    "langid": ("py3langid_gettext/py3langid_gettext.npz", ["--classes", "classes"], 5_100),
}


def run(files, options):
    """Status, what was printed and what was complained of."""
    out, err = io.StringIO(), io.StringIO()
    paths = [str(SHARED / "data" / name) for name in files.split()]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["evaluate", *paths, "--draws", "99", *options])
    return status, out.getvalue(), err.getvalue()


def checks():
    """Rows of every file, and what is known of the verdict."""
    models = json.loads((SHARED / "reference" / "julia_facts.json").read_text())["cifar10"]["models"]
    for name, (files, options, rows) in FILES.items():
        status, out, err = run(files, [*options, "--json"])
        found = json.loads(out) if status == 0 else {}
        yield same(f"{name}: rows", found.get("n"), rows)
        yield f"{name}: p-value", found.get("pvalue"), "in (0, 1]", not err and 0 < found.get("pvalue", 0) <= 1
        if name in models:
            yield same(f"{name}: accuracy of the command line", found["accuracy"], models[name]["accuracy"])
        if name == "llm":
            yield same("llm: strongest evidence", found["test"]["fired"], "impossible label")
        if name == "langid":
            yield "langid: verdict", found["verdict"][:26], "under-confident", "under-confident" in found["verdict"]
    status, _, err = run("cifar10_networks/resnet18.npz", ["--one-based"])
    yield "resnet18, counted from one", status, "2, with the row", status == 2 and "row" in err


def flusight():
    """Quantile forecasts joined to their outcomes; those of scoringutils are whole in the tests."""
    folder = SHARED / "data" / "flusight"
    paths = folder / "2024-01-06-FluSight-baseline.csv", folder / "target-hospital-admissions_2024-04-27.csv"
    data = read([paths[0]], ReadOptions(truth=paths[1]))
    yield same("FluSight: forecasts", len(data.y), 265)
    flat = "23 quantiles from 0.01 to 0.99, 107 rows with equal neighbouring quantiles"
    yield "FluSight: description", data.description[-40:], flat[-40:], flat in data.description
    ahead = read([paths[0]], ReadOptions(truth=paths[1], where=["horizon=-1"]))
    yield same("FluSight: forecasts of one horizon", len(ahead.y), 53)
    part = "1,219 of 6,095 lines where horizon=-1"
    yield "FluSight: lines of one horizon", ahead.description[-40:], part, ahead.description.endswith(part)


def cuts():
    """The files of the tests are cut from the collection by their rule."""
    command = [sys.executable, str(ROOT / "tests" / "data" / "cut.py"), str(SHARED), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    yield "tests/data", done.stdout.strip().splitlines()[0], "every file is its cut", done.returncode == 0
