"""Pages and their pictures: python docs/make_reports.py FOLDER.

Makes the screenshots of docs/howto/report.rst and the chart of docs/howto/comparing_models.rst, for which it needs the
data of shared/data, Chromium and playwright. What is in FOLDER already is not made again.

``--kinds`` makes instead a page of every kind, of examples/ and tests/data, and photographs each as a reader sees it:
1,200 and 400 pixels wide, in the dark, and on paper. Look at them when a template changed: can somebody who knows no
statistics say in one sentence what to do?
"""

import argparse
import io
import os
import runpy
import shlex
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import rdata
from PIL import Image
from playwright.sync_api import sync_playwright

import kernelcal as kc
from kernelcal.cli import main as typed
from kernelcal.reporting import report

HERE = Path(__file__).parent
DATA = Path(os.environ.get("KERNELCAL_DATA", HERE.parents[1] / "shared" / "data"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
UNITS = ["location", "target_end_date", "target_type", "model", "horizon"]
TOP = 1500  # pixels of a page that are shown
MEASURES = "slope,oe,ici,ece,auroc"
KINDS = {  # commands, typed beside the files of examples/ and tests/data
    "binary": ["report biopsies.csv --target malignant --predictions risk -o binary.html"],
    "ten_classes": ["report digits_logistic.csv -o ten_classes.html"],
    "numbers": ["report temperatures.csv --clusters week -o numbers.html"],
    "quantiles": [
        "report 2024-01-06-FluSight-baseline.csv --truth target-hospital-admissions_2024-04-27.csv -o quantiles.html"
    ],
    "ensembles": ["report wind.npz -o ensembles.html"],
    "compare_two": ["report digits_logistic.csv digits_naive_bayes.csv -o compare_two.html"],
    "compare_four": [
        "report digits_logistic.csv digits_naive_bayes.csv digits_both.csv digits_bold.csv -o compare_four.html"
    ],
    "groups": ["report answers.jsonl --abstained answer= --clusters question --groups task -o groups.html"],
    "measures": [f"report biopsies.csv --target malignant --predictions risk --measures {MEASURES} -o measures.html"],
    "survival": [
        "survival cohort.csv --duration months --event status=dead --censoring-time study_end --family weibull "
        "--parameters scale,shape --horizons 12,24 -o survival.html"
    ],
    "history": [
        f"monitor {' '.join(f'day{k}.csv' for k in range(1, 9))} --target late --state days.npz --fail-on none",
        "report --state days.npz -o history.html",
    ],
    "sums": [
        "evaluate biopsies.csv --target malignant --predictions risk --save sums.npz",
        "report --state sums.npz -o sums.html",
    ],
    "before_after": ["recalibrate temperatures.csv --clusters week --save map.json --report before_after.html"],
}
LOOKS = {"wide": (1200, "light"), "phone": (400, "light"), "dark": (1200, "dark"), "paper": (718, "light")}


def cifar10(path):
    """Eight networks on the test images."""
    files = {file.stem: np.load(file) for file in sorted((DATA / "cifar10_networks").glob("*.npz"))}
    y = next(iter(files.values()))["labels"]
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    predictions = {name: file["probabilities"] for name, file in files.items()}
    read = "8 networks, 10,000 test images of CIFAR-10, softmax outputs; no row was dropped"
    return report(np.array(names)[y], predictions, path, classes=names, title="Eight CIFAR-10 networks", read=read)


def covid(path):
    """Quantile forecasts of the European forecast hub, from scoringutils; outcomes equal quantiles, so no groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file's text encoding is not declared
        frame = next(iter(rdata.read_rda(DATA / "scoringutils" / "example_quantile.rda").values()))
    dropped = int(frame["predicted"].isna().sum())
    frame = frame[frame["predicted"].notna() & (frame["model"] == "EuroCOVIDhub-ensemble")]
    table = frame.pivot(index=UNITS, columns="quantile_level", values="predicted")
    y = frame.groupby(UNITS)["observed"].first().loc[table.index].to_numpy(float)
    batch = kc.Quantiles(table.to_numpy(float), table.columns.to_numpy(float))
    read = (
        f"example_quantile.rda of scoringutils: {len(y)} forecasts of EuroCOVIDhub-ensemble, {table.shape[1]} "
        f"quantiles each, reported cases and deaths of a week; {dropped} lines without a forecast were dropped"
    )
    title = "COVID-19 forecasts, EuroCOVIDhub-ensemble"
    return report(y, batch, path, title=title, read=read)


def language_models(path):
    """Confidence that eleven language models state, and whether the answer was right."""
    frame = pd.read_csv(DATA / "llm_confidence" / "llm-confidence-correct.csv")
    y = frame["correct"].to_numpy()
    groups = {"model": frame["llm"].to_numpy(object), "questions": frame["qset"].to_numpy(object)}
    read = (
        f"llm-confidence-correct.csv: {len(y):,} answers, stated_confidence against correct; no row was dropped. "
        "Answers of several models to one question are not independent"
    )
    batch = kc.Bernoulli(frame["stated_confidence"].to_numpy(float), ("wrong", "right"))
    y = np.where(y, "right", "wrong").astype(object)
    title = "Stated confidence of language models"
    return report(y, batch, path, groups=groups, title=title, read=read)


PAGES = {"cifar10": cifar10, "covid": covid, "llm": language_models}


def screenshot(browser, page, width, scheme, scale=1, whole=False, media="screen"):
    context = browser.new_context(
        viewport={"width": width, "height": TOP}, color_scheme=scheme, device_scale_factor=scale
    )
    tab = context.new_page()
    tab.emulate_media(media=media)
    tab.goto(page.resolve().as_uri())
    image = Image.open(io.BytesIO(tab.screenshot(full_page=whole))).convert("RGB")
    context.close()
    return image


def save(image, name):
    path = HERE / "images" / f"report_{name}.png"
    image.quantize(64).save(path, optimize=True)
    print(path.name, f"{path.stat().st_size / 1000:.0f} kB")


def side_by_side(images):
    wide = Image.new("RGB", (sum(i.width + 24 for i in images) - 24, max(i.height for i in images)), "white")
    left = 0
    for image in images:
        wide.paste(image, (left, 0))
        left += image.width + 24
    return wide


def chart(folder):
    """The drawing of ``kernelcal compare`` in docs/howto/comparing_models.rst."""
    if not (folder / "compare.png").exists():
        files = [str(file) for file in sorted((DATA / "cifar10_networks").glob("*.npz"))]
        typed(["compare", *files, "--plot", str(folder / "compare.png")])
    shutil.copy(folder / "compare.png", HERE / "images")


def further_digits():
    """Two more models of the digits: the mean of both, and one that is too sure."""
    first, second = (pd.read_csv(f"digits_{name}.csv") for name in ("logistic", "naive_bayes"))
    names = [name for name in first if name != "label"]
    for name, p in (("both", (first[names] + second[names]) / 2), ("bold", first[names] ** 3)):
        table = p.div(p.sum(axis=1), axis=0)
        table.insert(0, "label", first["label"])
        table.to_csv(f"digits_{name}.csv", index=False)


def every_kind(folder, browser, only):
    """Make a page of every kind in the folder, and its pictures."""
    for place in (*(HERE.parent / "examples").iterdir(), *(HERE.parent / "tests" / "data").glob("*/*.csv")):
        if place.is_file():
            shutil.copy(place, folder)
    os.chdir(folder)
    runpy.run_path("make_days.py", run_name="__main__")
    further_digits()
    for name in only or KINDS:
        for command in KINDS[name]:
            print("kernelcal", command, flush=True)
            assert typed(shlex.split(command)) == 0
        for look, (width, scheme) in LOOKS.items():
            media = "print" if look == "paper" else "screen"  # 718 pixels are what A4 has between its margins
            image = screenshot(browser, folder / f"{name}.html", width, scheme, whole=True, media=media)
            image.save(f"{name}_{look}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS], help="a page of these kinds, or of all")
    options = parser.parse_args()
    folder = options.folder.resolve()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if options.kinds is not None:
            every_kind(folder, browser, options.kinds)
            return
        chart(folder)
        for name, make in PAGES.items():
            if not (folder / f"{name}.html").exists():
                print(make(folder / f"{name}.html"), flush=True)
        for name in PAGES:
            save(screenshot(browser, folder / f"{name}.html", 1000, "light", scale=2), name)
        phones = [screenshot(browser, folder / f"{name}.html", 375, "dark") for name in PAGES]
        save(side_by_side(phones), "phone")
        browser.close()


if __name__ == "__main__":
    main()
