"""Files as other programs, registries and competitions write them, and the numbers that are right, by NumPy alone.

Every entry is what it is: a function that writes it, what is said when it is asked for, and the right numbers: the
probability of what came true, or the outcome beside what was predicted of a number.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

RNG = np.random.default_rng(20261129)
N = 60
P = RNG.uniform(0.03, 0.97, N).round(3)
HIT = (RNG.uniform(size=N) < P).astype(int)
ROWS = RNG.dirichlet([3, 2, 2], N).round(3)
ROWS[:, 2] = (1 - ROWS[:, 0] - ROWS[:, 1]).round(3)
LABELS = np.array([RNG.choice(3, p=np.abs(row) / np.abs(row).sum()) for row in ROWS])
GUESS = ROWS.argmax(axis=1)
TOP = ROWS.max(axis=1)
RIGHT = (GUESS == LABELS).astype(int)
PERCENT = (100 * P).round().astype(int)
MU = RNG.normal(10, 3, N).round(2)
SD = RNG.uniform(0.5, 2, N).round(2)
Y = (MU + SD * RNG.normal(size=N)).round(2)
DRAWS = (MU[:, None] + SD[:, None] * RNG.normal(size=(N, 8))).round(2)
NINE = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
Q = np.sort(MU[:, None] + SD[:, None] * RNG.normal(size=(N, 9)), axis=1).round(2)
K = np.arange(N)
DAYS = np.array([f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in K])
STATUS = np.array(["C", "CL", "D"])
SPECIES = np.array(["setosa", "versicolor", "virginica"])
RESULT = np.array(["H", "D", "A"])
LETTERS = np.array(["A", "B", "C"])
RARE = (np.random.default_rng(6).uniform(size=N) < P / 100).astype(int)
SHUFFLED = np.random.default_rng(5).permutation(N)

CAME = ROWS[K, LABELS]
HITS = np.where(HIT == 1, P, 1 - P)
CONFIDENT = np.where(RIGHT == 1, TOP, 1 - TOP)
WHOLE = np.where(HIT == 1, PERCENT / 100, 1 - PERCENT / 100)
NORMAL = np.column_stack([Y, MU, SD])
ENDS = np.column_stack([Y, Q[:, [0, 8]]])


def text(columns, mark=",", before=""):
    rows = [columns, *zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)]
    return before + "\n".join(mark.join(map(str, row)) for row in rows) + "\n"


def save(folder, name, content):
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(content.encode()))
    elif isinstance(content, str):
        path.write_text(content)
    else:
        content(path)
    return path


def csv(**columns):
    return {"a.csv": text(columns)}


def named(names, matrix):
    return dict(zip(names, np.asarray(matrix).T.tolist(), strict=True))


def lines(rows):
    return {"a.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def comma(values):
    return [str(value).replace(".", ",") for value in np.asarray(values).tolist()]


def frame(suffix, **columns):
    def write(path):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame(columns)
        if suffix == ".rda":
            rdata = pytest.importorskip("rdata")
            texts = [name for name in table if table[name].dtype.kind not in "if"]
            rdata.write_rda(path, {"results": table.astype(dict.fromkeys(texts, "category"))})
        elif suffix == ".csv":
            table.to_csv(path)
        else:
            table.to_json(path, orient=suffix.removesuffix(".json") or None)

    return {f"a.{suffix.rpartition('.')[2]}": write}


def polars(**columns):
    def write(path):
        pytest.importorskip("pyarrow")
        table = pytest.importorskip("polars").DataFrame(columns)
        table.with_columns(table["label"].cast(pytest.importorskip("polars").Categorical)).write_ipc(path)

    return {"a.feather": write}


def workbook(*rows):
    def write(path):
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)

    return {"a.xlsx": write}


def ensemble(target):
    def write(path):
        xarray = pytest.importorskip("xarray")
        days = np.arange("2026-01-01", "2026-03-02", dtype="datetime64[D]")
        xarray.Dataset(
            {"t2m": (("number", "time"), DRAWS.T), target: ("time", Y)},
            {"time": days, "number": np.arange(8), "height": 2.0},
        ).to_netcdf(path, engine="scipy")

    return {"a.nc": write}


def inference(path):
    pytest.importorskip("h5netcdf")
    xarray = pytest.importorskip("xarray")
    draws = xarray.Dataset({"y": (("chain", "draw", "obs_id"), DRAWS.T.reshape(2, 4, N))})
    tree = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset({"mu": (("chain", "draw"), np.zeros((2, 4)))}),
            "posterior_predictive": draws,
            "observed_data": xarray.Dataset({"y": ("obs_id", Y)}),
        }
    )
    tree.to_netcdf(path, engine="h5netcdf")


def helm():
    stats = [{"exact_match": int(RIGHT[k]), "max_prob": float(TOP[k]), "num_prompt_tokens": 11.0} for k in K]
    return [
        {
            "instance_id": f"id{k}",
            "train_trial_index": 0,
            "stats": [
                {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}
                for name, value in stats[k].items()
            ],
        }
        for k in K
    ]


FILES = {
    "clinical registry: predicted_30d_mortality, died_30d": (
        csv(patient_id=K, age=60 + K % 20, predicted_30d_mortality=P, died_30d=HIT),
        [],
        HITS,
    ),
    "clinical registry: EuroSCORE II (%), Died in hospital (Yes, No)": (
        csv(**{"Patient": K, "EuroSCORE II (%)": PERCENT, "Died in hospital": np.where(HIT, "Yes", "No")}),
        [{"predictions": "EuroSCORE II (%)"}],
        WHOLE,
    ),
    "registry: Predicted risk (%), Outcome": (
        csv(**{"Case": K, "Predicted risk (%)": PERCENT, "Outcome": HIT}),
        [],
        WHOLE,
    ),
    "credit scoring: loan_id, PD, default_flag": (csv(loan_id=K + 1, PD=P, default_flag=HIT), [], HITS),
    "Kaggle: Status_C, Status_CL, Status_D, Status": (
        csv(id=K, **named(["Status_C", "Status_CL", "Status_D"], ROWS), Status=STATUS[LABELS]),
        [],
        CAME,
    ),
    "Kaggle: Class_1 to Class_3, target": (
        csv(
            id=K,
            **named(["Class_1", "Class_2", "Class_3"], ROWS),
            target=[f"Class_{k + 1}" for k in LABELS],
        ),
        [],
        CAME,
    ),
    "Kaggle: submission and solution, both called target": (
        csv(id=K, target=P)
        | {"truth.csv": text({"id": K[SHUFFLED], "target": HIT[SHUFFLED], "Usage": ["Public"] * N})},
        [],
        HITS,
    ),
    "Kaggle: submission of three authors, and their names": (
        csv(id=[f"id{k}" for k in K], **named(["EAP", "HPL", "MWS"], ROWS))
        | {
            "truth.csv": text(
                {"id": [f"id{k}" for k in SHUFFLED], "author": np.array(["EAP", "HPL", "MWS"])[LABELS][SHUFFLED]}
            )
        },
        [],
        CAME,
    ),
    "forecasts, and outcomes whose id has another name": (
        csv(case_id=K, p=P) | {"truth.csv": text({"CaseNumber": K[SHUFFLED], "outcome": HIT[SHUFFLED]})},
        [{"truth_keys": "case_id=CaseNumber"}],
        HITS,
    ),
    "inspect-ai: samples with scores and metadata": (
        lines(
            {
                "id": int(k),
                "epoch": 1,
                "input": "?",
                "choices": ["x", "y", "z"],
                "target": "B",
                "messages": [{"role": "user", "content": "?"}],
                "output": {"model": "m", "completion": "B", "usage": {"input_tokens": 9}},
                "scores": {"choice": {"value": "C" if HIT[k] else "I", "answer": "B", "explanation": "so"}},
                "metadata": {"confidence": float(P[k])},
            }
            for k in K
        ),
        [],
        HITS,
    ),
    "HELM: per_instance_stats": ({"a.json": json.dumps(helm())}, [], CONFIDENT),
    "simple-evals: score, confidence 85": (
        lines(
            {
                "question": "?",
                "extracted_answer": "B",
                "correct_answer": "B" if h else "C",
                "score": float(h),
                "confidence": int(c),
            }
            for h, c in zip(HIT, PERCENT, strict=True)
        ),
        [{"kind": "percent"}],
        WHOLE,
    ),
    "Humanity's Last Exam: judge says correct: yes, confidence: 85": (
        lines(
            {"model_answer": "x", "correct": "yes" if h else "no", "confidence": int(c)}
            for h, c in zip(HIT, PERCENT, strict=True)
        ),
        [{"kind": "percent"}],
        WHOLE,
    ),
    "answers: gold, predicted letter, confidence": (
        csv(qid=K, gold=LETTERS[LABELS], predicted_answer=LETTERS[GUESS], confidence=TOP),
        [],
        CONFIDENT,
    ),
    "survey: confident (1 to 5), correct": (csv(respondent=K, confidence=1 + K % 5, correct=HIT), None, None),
    "survey: how sure (very likely, ...)": (
        csv(respondent=K, likelihood=np.array(["unlikely", "possible", "very likely"])[K % 3], happened=HIT),
        None,
        None,
    ),
    "weather: fc_mean, fc_std, obs": (csv(date=DAYS, station=["A"] * N, fc_mean=MU, fc_std=SD, obs=Y), [], NORMAL),
    "weather: POP (%), rain": (
        csv(date=DAYS, POP=PERCENT, rain=HIT),
        [{"predictions": "POP", "target": "rain"}, {"kind": "percent"}],
        WHOLE,
    ),
    "weather: obs in Celsius, forecasts in Fahrenheit": (
        csv(date=DAYS, obs_C=Y, fcst_mean_F=(MU * 1.8 + 32).round(2), fcst_std_F=(SD * 1.8).round(3)),
        None,
        None,
    ),
    "energy: timestamp, actual, q0.1 to q0.9": (
        csv(timestamp=DAYS, actual=Y, **named([f"q{level:.1f}" for level in NINE], Q)),
        [],
        np.column_stack([Y, Q]),
    ),
    "prices: Price_actual, P10, P50, P90": (
        csv(hour=K, Price_actual=Y, **named(["P10", "P50", "P90"], Q[:, [0, 4, 8]])),
        [],
        np.column_stack([Y, Q[:, [0, 4, 8]]]),
    ),
    "COVID-19 hub: type, quantile, value, and JHU truth": (
        {
            "a.csv": "forecast_date,target,target_end_date,location,type,quantile,value\n"
            + "".join(
                f"2026-01-05,1 wk ahead inc death,{DAYS[k]},US,quantile,{level:g},{value}\n"
                for k in K
                for level, value in zip(NINE, Q[k], strict=True)
            ),
            "truth.csv": text(
                {"date": DAYS, "location": ["US"] * N, "location_name": ["United States"] * N, "value": Y}
            ),
        },
        [],
        np.column_stack([Y, Q]),
    ),
    "M5: item_id, sales, 0.1 to 0.9": (
        csv(item_id=[f"FOODS_{k}" for k in K], date=DAYS, sales=Y, **named([f"{level:.1f}" for level in NINE], Q)),
        [{"target": "sales"}],
        np.column_stack([Y, Q]),
    ),
    "Prophet: ds, y, yhat, yhat_lower, yhat_upper": (
        csv(ds=DAYS, trend=MU, yhat_lower=Q[:, 0], yhat_upper=Q[:, 8], trend_lower=MU, trend_upper=MU, yhat=MU, y=Y),
        [{"interval": 0.8}],
        ENDS,
    ),
    "nixtla: AutoARIMA-lo-90, AutoARIMA-hi-90": (
        csv(
            unique_id=["s"] * N,
            ds=DAYS,
            cutoff=DAYS,
            y=Y,
            AutoARIMA=MU,
            **{"AutoARIMA-lo-90": Q[:, 0], "AutoARIMA-hi-90": Q[:, 8]},
        ),
        [],
        ENDS,
    ),
    "nixtla: two models with intervals": (
        csv(
            unique_id=["s"] * N,
            ds=DAYS,
            y=Y,
            AutoARIMA=MU,
            **{"AutoARIMA-lo-80": Q[:, 0], "AutoARIMA-hi-80": Q[:, 8]},
            AutoETS=MU,
            **{"AutoETS-lo-80": Q[:, 1], "AutoETS-hi-80": Q[:, 7]},
        ),
        [{"quantiles": "AutoARIMA-lo-80,AutoARIMA-hi-80", "quantile_levels": "0.1,0.9"}],
        ENDS,
    ),
    "AutoGluon: mean, 0.1 to 0.9, target": (
        csv(item_id=["s"] * N, timestamp=DAYS, target=Y, mean=MU, **named([f"{level:.1f}" for level in NINE], Q)),
        [],
        np.column_stack([Y, Q]),
    ),
    "NGBoost: y, loc, scale": (csv(y=Y, loc=MU, scale=SD), [{"mean": "loc", "std": "scale"}], NORMAL),
    "xarray: obs(time), t2m(number, time)": (ensemble("obs"), [], np.column_stack([Y, DRAWS])),
    "xarray: t2m_era5(time), t2m(number, time)": (
        ensemble("t2m_era5"),
        [{"target": "t2m_era5"}],
        np.column_stack([Y, DRAWS]),
    ),
    "ArviZ: netCDF with observed_data, posterior_predictive": ({"a.nc": inference}, [], np.column_stack([Y, DRAWS])),
    "PyTorch: npz of logits, targets": (
        {"a.npz": lambda path: np.savez(path, logits=np.log(np.maximum(ROWS, 1e-9)).astype("f4"), targets=LABELS)},
        [],
        CAME,
    ),
    "PyTorch: npz of outputs (logits), labels": (
        {"a.npz": lambda path: np.savez(path, outputs=np.log(np.maximum(ROWS, 1e-9)) + 2, labels=LABELS)},
        [{"predictions": "outputs"}, {"kind": "logits"}],
        CAME,
    ),
    "Keras: y_pred.npy (softmax), y_test.npy": (
        {"y_pred.npy": lambda path: np.save(path, ROWS), "y_test.npy": lambda path: np.save(path, LABELS)},
        [],
        CAME,
    ),
    "Keras: softmax.npy, labels.npy (one-hot)": (
        {"softmax.npy": lambda path: np.save(path, ROWS), "labels.npy": lambda path: np.save(path, np.eye(3)[LABELS])},
        [],
        CAME,
    ),
    "Keras: probs.npy of shape (n, 1), labels.npy": (
        {"probs.npy": lambda path: np.save(path, P[:, None]), "labels.npy": lambda path: np.save(path, HIT[:, None])},
        [],
        HITS,
    ),
    "caret (rda): pred, obs, No, Yes": (
        frame(
            ".rda",
            pred=np.where(P > 0.5, "Yes", "No"),
            obs=np.where(HIT, "Yes", "No"),
            No=(1 - P).round(3),
            Yes=P,
            rowIndex=K,
        ),
        [],
        HITS,
    ),
    "SAS: BAD; P_BAD1; P_BAD0 with decimal commas": (
        {
            "a.csv": text(
                {"ID": K, "P_BAD1": comma(P), "P_BAD0": comma((1 - P).round(3)), "BAD": HIT, "I_BAD": P > 0.5}, ";"
            )
        },
        [],
        HITS,
    ),
    "German: Wahrscheinlichkeit; Ergebnis": (
        {"a.csv": text({"Wahrscheinlichkeit": comma(P), "Ergebnis": np.where(HIT, "ja", "nein")}, ";")},
        [{"predictions": "Wahrscheinlichkeit", "target": "Ergebnis"}],
        HITS,
    ),
    "Excel: a title above the header": (
        workbook(
            ["Model validation 2026"], [], ["Probability", "Outcome"], *zip(P.tolist(), HIT.tolist(), strict=True)
        ),
        [],
        HITS,
    ),
    "csv: lines of notes (#) above the header": (
        {"a.csv": text({"p": P, "y": HIT}, before="# model: v3\n# date: 2026-11-29\n")},
        [],
        HITS,
    ),
    "csv: a title above the header": ({"a.csv": text({"p": P, "y": HIT}, before="Results of model 3\n")}, [], HITS),
    "polars: feather with a categorical label": (
        polars(label=SPECIES[LABELS].tolist(), **named([f"prob_{s}" for s in SPECIES], ROWS)),
        [],
        CAME,
    ),
    "pandas: an index without a name": (frame(".csv", y_true=HIT, y_prob=P), [], HITS),
    "pandas: Unnamed: 0, label, pred_proba": (csv(**{"Unnamed: 0": K}, label=HIT, pred_proba=P), [], HITS),
    "pandas: lists in cells": (csv(label=LABELS, probs=[f'"{row}"' for row in ROWS.tolist()]), [], CAME),
    "NumPy: arrays in cells": (
        csv(label=LABELS, probs=["[" + " ".join(map(str, row)) + "]" for row in ROWS.tolist()]),
        [],
        CAME,
    ),
    "Spark: label, prediction, probability as a vector": (
        csv(
            label=HIT,
            prediction=(P > 0.5).astype(float),
            probability=[f'"[{round(1 - p, 3)},{p}]"' for p in P.tolist()],
        ),
        [],
        HITS,
    ),
    "tabs in a txt file": ({"a.txt": text({"target": HIT, "p1": P}, "\t")}, [], HITS),
    "csv in gzip": ({"a.csv.gz": text({"y_true": HIT, "y_score": P})}, [], HITS),
    "JSON of pandas: records": (frame("records.json", y=HIT, p=P), [], HITS),
    "JSON of pandas: columns": (frame("columns.json", y=HIT, p=P), [], HITS),
    "JSON of pandas: split (MLflow)": (frame("split.json", target=HIT, score=P), [], HITS),
    "JSON of pandas: index": (frame("index.json", y=HIT, p=P), [], HITS),
    "scikit-learn: cross_val_predict with text classes": (
        csv(**named(SPECIES, ROWS), species=SPECIES[LABELS], pred=SPECIES[GUESS]),
        [],
        CAME,
    ),
    "XGBoost: label, pred": (csv(label=HIT, pred=P), [], HITS),
    "H2O: predict, p0, p1, actual": (
        csv(predict=(P > 0.4).astype(int), p0=(1 - P).round(3), p1=P, actual=HIT),
        [],
        HITS,
    ),
    "BigQuery ML: predicted_default, predicted_default_probs": (
        lines(
            {
                "predicted_default": str(int(p > 0.5)),
                "predicted_default_probs": [{"label": "1", "prob": p}, {"label": "0", "prob": round(1 - p, 3)}],
                "default": str(h),
            }
            for p, h in zip(P.tolist(), HIT.tolist(), strict=True)
        ),
        [],
        HITS,
    ),
    "Azure: income, Scored Labels, Scored Probabilities": (
        csv(**{"income": HIT, "Scored Labels": (P > 0.5).astype(int), "Scored Probabilities": P}),
        [{"target": "income"}],
        HITS,
    ),
    "forecasting tournament: forecast, resolution (yes, no)": (
        csv(question_id=K, forecast=P, resolution=np.where(HIT, "yes", "no")),
        [],
        HITS,
    ),
    "football: FTR, B365H, B365D, B365A (odds)": (
        csv(
            HomeTeam=["X"] * N,
            AwayTeam=["Y"] * N,
            FTR=RESULT[LABELS],
            **named(["B365H", "B365D", "B365A"], (0.95 / np.maximum(ROWS, 0.02)).round(2)),
        ),
        None,
        None,
    ),
    "football: result, H, D, A (odds)": (
        csv(result=RESULT[LABELS], **named(RESULT, (0.95 / np.maximum(ROWS, 0.02)).round(2))),
        None,
        None,
    ),
    "betting: odds, won": (csv(race=K, odds=(1 / np.maximum(P, 0.05)).round(2), won=HIT), None, None),
    "sktime: two lines of names": (
        {
            "a.csv": ",y,y,y\n,0.1,0.5,0.9\n"
            + text(named(["k", "a", "b", "c"], np.column_stack([K, Q[:, [0, 4, 8]]]))).partition("\n")[2]
        },
        None,
        None,
    ),
    "R: NA in a column": (csv(obs=HIT, prob=[*P[:-1].tolist(), "NA"]), [{"drop_missing": True}], HITS[:-1]),
    "R: TRUE, FALSE": ({"a.csv": text({'"y"': np.where(HIT, "TRUE", "FALSE"), '"phat"': P})}, [], HITS),
    "P(y=1)": (csv(**{"P(y=1)": P, "y": HIT}), [], HITS),
}


# written after those above had been mended, to see whether kinds were mended or files
LATER = {
    "hospital: Sex, Mortality_Prob, Hospital_Death": (
        csv(PatID=K, Sex=K % 2, LOS=K % 9, Mortality_Prob=P, Hospital_Death=HIT),
        [],
        HITS,
    ),
    "APACHE: apache_4a_hospital_death_prob, hospital_death": (
        csv(encounter_id=K, apache_4a_hospital_death_prob=P, hospital_death=HIT, gender=K % 2),
        [],
        HITS,
    ),
    "telco: customerID, churn_probability, Churn (Yes/No)": (
        csv(customerID=K, churn_probability=P, Churn=np.where(HIT, "Yes", "No")),
        [],
        HITS,
    ),
    "mlr3: truth, response, prob.A, prob.B, prob.C": (
        csv(
            row_ids=K + 1, truth=LETTERS[LABELS], response=LETTERS[GUESS], **named(["prob.A", "prob.B", "prob.C"], ROWS)
        ),
        [{"target": "truth"}],
        CAME,
    ),
    "tidymodels: .pred_A, .pred_B, .pred_C, .pred_class, class": (
        csv(
            **{".pred_class": LETTERS[GUESS]},
            **named([".pred_A", ".pred_B", ".pred_C"], ROWS),
            **{"class": LETTERS[LABELS]},
        ),
        [],
        CAME,
    ),
    "tidymodels regression: .pred, .pred_lower, .pred_upper, mpg": (
        csv(**{".pred": MU, ".pred_lower": Q[:, 0], ".pred_upper": Q[:, 8], "mpg": Y}),
        [{"target": "mpg"}, {"interval": 0.8}],
        ENDS,
    ),
    "pycaret: target, prediction_label, prediction_score (of the label)": (
        csv(target=HIT, prediction_label=(P > 0.5).astype(int), prediction_score=np.maximum(P, 1 - P).round(3)),
        [],
        np.where((P > 0.5) == (HIT == 1), np.maximum(P, 1 - P), 1 - np.maximum(P, 1 - P)),
    ),
    "fastai: target, Loss, preds as a list": (csv(target=LABELS, preds=[f'"{r}"' for r in ROWS.tolist()]), [], CAME),
    "Weka: actual, predicted, prediction (2:yes)": (
        csv(
            **{
                "inst#": K + 1,
                "actual": [f"{h + 1}:{'yes' if h else 'no'}" for h in HIT],
                "predicted": [f"{int(p > 0.5) + 1}:{'yes' if p > 0.5 else 'no'}" for p in P],
                "prediction": np.maximum(P, 1 - P).round(3),
            }
        ),
        None,
        None,
    ),
    "HF trainer: logits_0, logits_1, logits_2, labels": (
        csv(**named(["logits_0", "logits_1", "logits_2"], np.log(np.maximum(ROWS, 1e-9)).round(6)), labels=LABELS),
        [],
        CAME,
    ),
    "sales: date, actual_sales, forecast_mean, forecast_std": (
        csv(date=DAYS, actual_sales=Y, forecast_mean=MU, forecast_std=SD),
        [],
        NORMAL,
    ),
    "wind: power_obs, power_q10, power_q50, power_q90": (
        csv(t=K, power_obs=Y, **named(["power_q10", "power_q50", "power_q90"], Q[:, [0, 4, 8]])),
        [],
        np.column_stack([Y, Q[:, [0, 4, 8]]]),
    ),
    "darts: target, target_q0.10, target_q0.50, target_q0.90": (
        csv(time=DAYS, target=Y, **named(["target_q0.10", "target_q0.50", "target_q0.90"], Q[:, [0, 4, 8]])),
        [],
        np.column_stack([Y, Q[:, [0, 4, 8]]]),
    ),
    "chemprop: smiles, logP, logP_pred, logP_unc": (
        csv(smiles=["C"] * N, logP=Y, logP_pred=MU, logP_unc=SD),
        [],
        NORMAL,
    ),
    "Polymarket: question, price, resolved (True/False)": (
        csv(question=K, price=P, resolved=HIT == 1),
        [{"predictions": "price"}],
        HITS,
    ),
    "Metaculus: community_prediction, resolution 0/1": (csv(qid=K, community_prediction=P, resolution=HIT), [], HITS),
    "vision: image, gt_class, pred_class, conf": (
        csv(image=[f"{k}.png" for k in K], gt_class=LABELS, pred_class=GUESS, conf=TOP),
        [{"target": "gt_class"}],
        CONFIDENT,
    ),
    "clusters: cluster, cluster_0 to cluster_2 (no outcome)": (
        csv(id=K, cluster=GUESS, **named(["cluster_0", "cluster_1", "cluster_2"], ROWS)),
        None,
        None,
    ),
    "pred, pred_0 to pred_2, tumour": (
        csv(pred=GUESS, pred_0=ROWS[:, 0], pred_1=ROWS[:, 1], pred_2=ROWS[:, 2], tumour=LABELS),
        [{"target": "tumour"}],
        CAME,
    ),
    "credit scoring: PD, default_other_loan, SeriousDlqin2yrs": (
        csv(id=K, default_other_loan=K % 2, PD=P, SeriousDlqin2yrs=HIT),
        [{"target": "SeriousDlqin2yrs"}],
        HITS,
    ),
    "risk_pct, all below 1": (
        csv(id=K, risk_pct=P, y=RARE),
        [{"kind": "percent"}],
        np.where(RARE == 1, P / 100, 1 - P / 100),
    ),
    "grid: resolution, temp, member_0 to member_7": (
        csv(resolution=[0.25] * N, temp=Y, **named([f"member_{k}" for k in range(8)], DRAWS)),
        [{"target": "temp"}],
        np.column_stack([Y, DRAWS]),
    ),
    "label, pred (0, 1), prediction_std": (
        csv(label=HIT, pred=(P > 0.5).astype(int), prediction_std=(P / 4).round(4)),
        None,
        None,
    ),
    "SPSS: Y; PRE_1; PGR_1 with decimal commas": (
        {"a.csv": text({"Y": HIT, "PRE_1": comma(P), "PGR_1": (P > 0.5).astype(int)}, ";")},
        [{"predictions": "PRE_1"}],
        HITS,
    ),
    "Stata: tab, phat, y": ({"a.txt": text({"y": HIT, "phat": P}, "\t")}, [], HITS),
    "Excel as csv: a title with empty cells above the header": (
        {"a.csv": text({"Probability": P, "Event": HIT}, before="Report,\n,\n")},
        [],
        HITS,
    ),
    "LLM answers (jsonl): logprobs of A, B, C, gold": (
        lines(
            {
                "prompt": "?",
                "logprobs": dict(zip(LETTERS.tolist(), np.log(np.maximum(r, 1e-9)).tolist(), strict=True)),
                "gold": str(LETTERS[l]),
            }
            for r, l in zip(ROWS, LABELS, strict=True)
        ),
        [],
        CAME,
    ),
    "MMLU: prob_A to prob_C, answer, correct": (
        csv(question=K, **named(["prob_A", "prob_B", "prob_C"], ROWS), answer=LETTERS[LABELS], correct=RIGHT),
        [{"target": "answer"}],
        CAME,
    ),
    "TruthfulQA: p_true, is_true": (csv(p_true=P, is_true=HIT), [{"target": "is_true"}], HITS),
    "conf, acc": (csv(conf=TOP, acc=RIGHT), [], CONFIDENT),
    "JSON: y_true, y_pred with a list a row": (
        {"a.json": json.dumps({"y_true": LABELS.tolist(), "y_pred": ROWS.tolist()})},
        [],
        CAME,
    ),
    "German: Datum; Ist; q10; q90": (
        {
            "a.csv": text(
                {
                    "Datum": [f"{1 + k % 28}.01.2026" for k in K],
                    "Ist": comma(Y),
                    "q10": comma(Q[:, 0]),
                    "q90": comma(Q[:, 8]),
                },
                ";",
            )
        },
        [{"target": "Ist"}],
        ENDS,
    ),
    "columns of species, and outcomes by Image_ID": (
        csv(image_id=K, **named(SPECIES, ROWS))
        | {"truth.csv": text({"Image_ID": K[SHUFFLED], "species": SPECIES[LABELS][SHUFFLED]})},
        [],
        CAME,
    ),
    "Id, mean, std, and a file with SalePrice": (
        csv(Id=K, mean=MU, std=SD) | {"truth.csv": text({"Id": K[SHUFFLED], "SalePrice": Y[SHUFFLED]})},
        [],
        NORMAL,
    ),
}
FILES |= LATER


def write(folder, name):
    """Paths of the files that a command names, and the file of outcomes, where there is one."""
    made = [save(Path(folder), file, content) for file, content in FILES[name][0].items()]
    truth = [path for path in made if path.stem == "truth"]
    return [path for path in made if path not in truth], truth[0] if truth else None
