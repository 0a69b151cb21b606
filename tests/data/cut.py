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
COVID = "data/scoringutils/example_quantile.rda"
ASKED = "data/llm_confidence/llm-confidence-correct.csv"
ANSWERS = ("gemini-2.5-flash", "gemini-2.5-pro")  # two models' answers to every third question
QUESTIONS = 3
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


def covid(path):
    """Forecasts of the ensemble as a hub has them, a line a quantile, the outcome beside each; seven of 23 levels."""
    import rdata

    frame = next(iter(rdata.read_rda(path).values()))
    frame = frame[(frame["model"] == "EuroCOVIDhub-ensemble") & frame["predicted"].notna()]
    levels = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
    lines = ["forecast_date,horizon,target_end_date,location,target,output_type,output_type_id,value,observed"]
    for row in frame.itertuples():
        level = next((level for level in levels if abs(row.quantile_level - level) < 1e-9), None)
        if level is not None:
            made, due = (np.datetime64(int(day), "D") for day in (row.forecast_date, row.target_end_date))
            known = f"{made},{int(row.horizon)},{due},{row.location},{row.target_type},quantile"
            lines.append(f"{known},{level:g},{row.predicted:.12g},{row.observed:.12g}")
    return ("\n".join(lines) + "\n").encode()


def answers(path):
    """Two models' answers to the same questions, and how sure they said they were."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    mine = [row for row in rows if row["qset"] == "sciq_test" and row["llm"] in ANSWERS]
    named = ("llm", "question_id", "stated_confidence", "correct")
    kept = [[row[name] for name in named] for row in mine if int(row["question_id"]) % QUESTIONS == 0]
    return "".join(",".join(cells) + "\n" for cells in [named, *kept]).encode()


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
    yield "scoringutils/ensemble_forecasts.csv", covid(collection / COVID)
    yield "llm_confidence/two_models.csv", answers(collection / ASKED)


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
