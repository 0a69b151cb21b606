"""Cut the data of the tests out of the whole collection: python tests/data/cut.py [COLLECTION] [--check].

The collection is a folder with `data`, `reference` and `cases.json`; by default `../shared`, beside the repository.
Every file is cut by one rule, always the same rows. `--check` writes nothing and says which files differ from it.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
BESIDE = HERE.parents[2] / "shared"

KINDS = ("binary", "nominal", "ordinal", "quantile", "sample_discrete")
WHOLE = [  # small, and needed as they are
    "cases.json",
    *(f"reference/{name}" for name in ("julia_facts.json", "ckce_reference.json", "covariate_shift.md")),
    *(f"reference/kccsd_{name}" for name in ("case_A.npz", "case_B.npz", "case_E.npz", "rates.json", "reference.json")),
    *(
        f"data/scoringutils/example_{name}.rda"
        for name in ("binary", "nominal", "ordinal", "quantile", "sample_discrete")
    ),
    "data/fivethirtyeight/world_cup_matches_men.csv",
]
EVERY = {  # one row in so many, from the first
    "data/netcal_records/lenet-5-cifar-10.npz": 16,
    "data/netcal_records/wideresnet-16-4-cifar-10.npz": 16,
    "data/netcal_records/wideresnet-16-4-cifar-100.npz": 40,
    "data/expected_cost/agnews_gpt2.scores.npy": 16,
    "data/expected_cost/agnews_gpt2.targets.npy": 16,
    "data/expected_cost/cifar10_repvgg_a2.scores.npy": 16,
    "data/expected_cost/cifar10_repvgg_a2.targets.npy": 16,
    "data/expected_cost/pathmnist_resnet50.scores.npy": 16,
    "data/expected_cost/pathmnist_resnet50.targets.npy": 16,
    "data/imagenet_toplabel/resnet101.csv": 50,
    "data/imagenet_toplabel/probs_resnet110_c100_logits.csv": 20,
    "data/imagenet_toplabel/snacks.csv": 2,
    "data/fivethirtyeight/nba_games.csv": 16,
    "data/fivethirtyeight/nfl_games.csv": 4,
    "data/fivethirtyeight/mlb_games.csv": 32,
    "data/llm_confidence/llm-confidence-correct.csv": 60,
}
TIES = ("nfl_games", "mlb_games")  # games without a winner are rare: all are kept
PLACES = ("01", "02", "04", "05", "06", "11", "17", "36", "48", "56", "72", "US")  # of the influenza forecasts
FORECASTS = "data/flusight/2024-01-06-FluSight-baseline.csv"
OUTCOMES = "data/flusight/target-hospital-admissions_2024-04-27.csv"
RAIN = "data/niamey_precip/precip_Niamey_2016.csv"


def lines_of(path, wanted):
    """The header and the lines whose number and cells are wanted."""
    header, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    cells = ([cell.strip('"') for cell in line.rstrip("\n").split(",")] for line in lines)
    names = [name.strip('"') for name in header.rstrip("\n").split(",")]
    rows = (dict(zip(names, row, strict=True)) for row in cells)
    kept = [line for k, (line, row) in enumerate(zip(lines, rows, strict=True)) if wanted(k, row)]
    return "".join([header, *kept]).encode()


def archive(arrays):
    """Bytes of an npz file, neither compressed nor dated: the same on every machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, array in arrays.items():
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), plain(array))
    return stream.getvalue()


def plain(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def thinned(path, step):
    """One row in `step`."""
    if path.suffix == ".npy":
        return plain(np.load(path)[::step])
    if path.suffix == ".npz":
        with np.load(path) as file:
            return archive({name: file[name][::step] for name in file.files})
    ties = path.stem in TIES
    return lines_of(path, lambda k, row: k % step == 0 or (ties and row["prob1_outcome"] == "0.5"))


def rain(path):
    """The ensemble of the weather centre and what it observed: the columns whose licence is known."""
    table = [line.split(",") for line in path.read_text().splitlines()]
    kept = [k for k, name in enumerate(table[0]) if name.strip('"') in ("date", "ENS", "obs")]
    return "".join(",".join(row[k] for k in kept) + "\n" for row in table).encode()


def cuts(collection):
    """Path under `tests/data` and bytes of every file."""
    for name in WHOLE:
        yield name.removeprefix("data/"), (collection / name).read_bytes()
    for name, step in EVERY.items():
        yield name.removeprefix("data/"), thinned(collection / name, step)
    for name in (FORECASTS, OUTCOMES):
        recent = name == FORECASTS  # the truth of earlier weeks is left out
        kept = lines_of(
            collection / name,
            lambda k, row, recent=recent: row["location"] in PLACES and (recent or row["date"] >= "2023-12-01"),
        )
        yield name.removeprefix("data/"), kept
    yield RAIN.removeprefix("data/"), rain(collection / RAIN)


def main(arguments):
    check = "--check" in arguments
    folders = [Path(a) for a in arguments if a != "--check"]
    different = []
    for name, content in cuts(folders[0] if folders else BESIDE):
        path = HERE / name
        if check:
            different += [name] if not path.exists() or path.read_bytes() != content else []
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print("\n".join(f"differs: {name}" for name in different) or ("every file is its cut" if check else "cut"))
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
