"""Tables in memory, spreadsheets, data of R, and arrays with named axes: all are read as the csv of their columns."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.io import ReadOptions, read

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 60
P = RNG.uniform(0.05, 0.95, N).round(6)
Y = (RNG.uniform(size=N) < P).astype(int)
MU = RNG.normal(size=N).round(6)
Z = (MU + RNG.normal(size=N)).round(6)
DRAWS = (MU[:, None] + RNG.normal(size=(N, 7))).round(6)
FRAME = pd.DataFrame({"id": np.arange(N), "p": P, "won": Y, "site": np.where(Y, "a", "b"), "w": np.ones(N)})


def load(path, **options):
    return read([path], ReadOptions(**options))


def polars():
    return pytest.importorskip("polars").from_pandas(FRAME)


def duckdb():
    module = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = module.connect()
    connection.register("frame", FRAME)
    return connection.sql("select * from frame order by id")


def arrow():
    return pytest.importorskip("pyarrow").Table.from_pandas(FRAME)


TABLES = {
    "pandas": lambda: FRAME,
    "pandas with an index": lambda: FRAME.set_index(np.arange(N)[::-1]),
    "pandas of nullable types": lambda: FRAME.convert_dtypes(),
    "pandas of categories": lambda: FRAME.astype({"site": "category"}),
    "polars": polars,
    "lazy polars": lambda: polars().lazy(),
    "arrow": arrow,
    "a batch of arrow": lambda: arrow().combine_chunks().to_batches()[0],
    "a reader of arrow": lambda: arrow().to_reader(),
    "duckdb": duckdb,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.quick_cases(1)
def test_columns_of_tables_by_name(name):
    if name != "pandas":
        pytest.importorskip("pyarrow")
    expected = kc.evaluate(Y, P, draws=99)
    for arguments, options in ((("p",), {"target": "won"}), ((), {"target": "won"}), ((["p"],), {"target": "won"})):
        found = kc.evaluate(TABLES[name](), *arguments, draws=99, **options)
        assert found.log_score == expected.log_score
        assert found.pvalue == expected.pvalue


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", ["pandas", "polars", "arrow", "duckdb"])
def test_text_and_conditions_of_tables(name):
    found = kc.evaluate(TABLES[name](), "p", target="site", classes=["b", "a"], draws=99)
    assert found.log_score == kc.evaluate(Y, P, draws=99).log_score
    found = kc.evaluate(TABLES[name](), "p", target="won", where="site=a", draws=99)
    assert found.n == Y.sum()
    with pytest.raises(InputError, match=r"there is no column 'q'. The columns are id, p, won, site, w"):
        kc.evaluate(TABLES[name](), "q", target="won")


def test_a_frame_beside_arrays_holds_targets():
    pytest.importorskip("narwhals")
    assert kc.evaluate(FRAME[["won"]], P, draws=99).n == N
    mean, std = DRAWS[:, :2], np.ones((N, 2))
    vectors = pd.DataFrame({"u": DRAWS[:, 2], "v": DRAWS[:, 3]})
    found = kc.evaluate(vectors, kc.DiagonalNormal(mean, std), draws=99)
    assert found.pvalue == kc.evaluate(vectors.to_numpy(), kc.DiagonalNormal(mean, std), draws=99).pvalue


def test_missing_values_and_doubles_in_frames():
    pytest.importorskip("pyarrow")
    frame = FRAME.convert_dtypes()
    frame.loc[3, "p"] = pd.NA
    with pytest.raises(InputError, match="row 3 is missing"):
        kc.evaluate(frame, "p", target="won")
    assert kc.evaluate(frame, "p", target="won", drop_missing=True, draws=99).n == N - 1
    with pytest.raises(InputError, match="column 'p' occurs more than once"):
        kc.evaluate(FRAME.rename(columns={"w": "p"}), "p", target="won")


# ---- files of other programs


def test_feather_and_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(arrow(), str(tmp_path / "a.feather"))
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as sink, pa.ipc.new_stream(sink, arrow().schema) as writer:
        writer.write_table(arrow())
    for name in ("a.feather", "b.arrow"):
        data = load(tmp_path / name, target="won")
        np.testing.assert_array_equal(data.predictions.p, P)
    (tmp_path / "c.feather").write_bytes(b"PK")
    with pytest.raises(InputError, match="cannot be read as feather or arrow"):
        load(tmp_path / "c.feather")


def test_spreadsheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [("p", "won", None), *zip(P.tolist(), Y.tolist(), [None] * N, strict=True)]:
        sheet.append(row)
    book.create_sheet("notes")
    book.save(tmp_path / "a.xlsx")
    data = load(tmp_path / "a.xlsx", target="won")
    np.testing.assert_array_equal(data.predictions.p, P)
    assert data.y.tolist() == Y.tolist()
    book["notes"].append(("x",))
    book["notes"].append((1,))
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="the workbook has sheets Sheet, notes: save the sheet that is meant"):
        load(tmp_path / "b.xlsx")
    (tmp_path / "c.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match="cannot be read as xlsx"):
        load(tmp_path / "c.xlsx")


def test_extras_that_are_not_there_are_named(tmp_path, monkeypatch):
    import sys

    for name, module, extra in (
        ("a.xlsx", "openpyxl", "excel"),
        ("a.rda", "rdata", "r"),
        ("a.feather", "pyarrow", "frame"),
        ("a.nc", "xarray", "xarray"),
    ):
        (tmp_path / name).write_bytes(b"PK")
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(kc.MissingExtraError, match=rf"pip install 'kernelcal\[{extra}\]'"):
            load(tmp_path / name)


@pytest.mark.slow
def test_data_of_r(data_folder):
    pytest.importorskip("rdata")
    data = load(data_folder / "scoringutils" / "example_sample_discrete.rda", long=True, drop_missing=True)
    assert data.predictions.size == 40
    assert len(data.y) == 887


# ---- arrays with named axes


def dataset(**variables):
    xarray = pytest.importorskip("xarray")
    return xarray.Dataset(variables, coords={"time": np.arange(12), "place": list("abcde")})


GRID = ("time", "place")


def test_ensembles_with_named_axes():
    members = DRAWS.reshape(12, 5, 7)
    found = dataset(obs=(GRID, Z.reshape(12, 5)), forecast=(("member", "place", "time"), members.transpose(2, 1, 0)))
    expected = kc.evaluate(Z, kc.Samples(DRAWS), draws=99)
    assert kc.evaluate(found, draws=99).pvalue == expected.pvalue
    assert kc.evaluate(found.rename(obs="rain"), target="rain", draws=99).pvalue == expected.pvalue
    with pytest.raises(
        InputError, match=r"no variable has a usual name .* --target NAME. The variables are rain, fore"
    ):
        kc.evaluate(found.rename(obs="rain"))
    assert kc.evaluate(found, where="place=a", draws=99).n == 12


def test_quantiles_classes_means_with_named_axes():
    levels = np.array([0.1, 0.5, 0.9])
    values = np.sort(DRAWS[:, :3], axis=1)
    found = dataset(obs=(GRID, Z.reshape(12, 5)), q=((*GRID, "quantile"), values.reshape(12, 5, 3)))
    found = found.assign_coords(quantile=levels)
    expected = kc.evaluate(Z, kc.Quantiles(values, levels), draws=99)
    assert kc.evaluate(found, draws=99).pvalue == expected.pvalue
    probs = RNG.dirichlet([1, 1, 1], N)
    kinds = np.array(["dry", "rain", "snow"])
    y = kinds[RNG.integers(0, 3, N)]
    found = dataset(label=(GRID, y.reshape(12, 5)), p=((*GRID, "category"), probs.reshape(12, 5, 3)))
    found = found.assign_coords(category=kinds)
    expected = kc.evaluate(y, probs, classes=list(kinds), draws=99)
    assert kc.evaluate(found, draws=99).pvalue == expected.pvalue
    found = dataset(obs=(GRID, Z.reshape(12, 5)), mean=(GRID, MU.reshape(12, 5)), std=("place", np.ones(5)))
    assert kc.evaluate(found, draws=99).pvalue == kc.evaluate(Z, kc.Normal(MU, np.ones(N)), draws=99).pvalue


def test_several_variables_of_predictions_are_asked_for():
    members = (("time", "place", "member"), DRAWS.reshape(12, 5, 7))
    found = dataset(obs=(GRID, Z.reshape(12, 5)), one=members, other=members)
    with pytest.raises(InputError, match="say which is meant, --samples one, --samples other"):
        kc.evaluate(found)
    assert kc.evaluate(found, samples="one", draws=99).n == N


def tree():
    xarray = pytest.importorskip("xarray")
    draws = DRAWS[:, :6].T.reshape(2, 3, N)
    return xarray.DataTree.from_dict(
        {
            "observed_data": xarray.Dataset({"y": ("obs", Z)}),
            "posterior_predictive": xarray.Dataset({"y": (("chain", "draw", "obs"), draws)}),
            "posterior": xarray.Dataset({"beta": (("chain", "draw"), np.zeros((2, 3)))}),
        }
    )


def test_trees_of_observed_and_predicted_data():
    expected = kc.evaluate(Z, kc.Samples(DRAWS[:, :6]), draws=99)
    assert kc.evaluate(tree(), draws=99).pvalue == expected.pvalue
    assert kc.evaluate(tree(), target="y", draws=99).pvalue == expected.pvalue
    without = tree()
    del without["posterior_predictive"]
    with pytest.raises(
        InputError, match="groups observed_data and posterior_predictive are expected, got observed_data"
    ):
        kc.evaluate(without)


def test_inference_data():
    arviz = pytest.importorskip("arviz")
    draws = DRAWS[:, :6].T.reshape(2, 3, N)
    groups = {"observed_data": {"y": Z}, "posterior_predictive": {"y": draws}}
    found = arviz.from_dict(**groups) if hasattr(arviz, "InferenceData") else arviz.from_dict(groups)
    assert kc.evaluate(found, draws=99).pvalue == kc.evaluate(Z, kc.Samples(DRAWS[:, :6]), draws=99).pvalue


@pytest.mark.parametrize(("suffix", "package"), [(".nc", "h5netcdf"), (".zarr", "zarr"), ("3.nc", "scipy")])
def test_files_with_named_axes(tmp_path, suffix, package):
    pytest.importorskip(package)
    members = (("time", "place", "member"), DRAWS.reshape(12, 5, 7))
    found = dataset(obs=(GRID, Z.reshape(12, 5)), forecast=members)
    expected = kc.evaluate(Z, kc.Samples(DRAWS), draws=99)
    path = tmp_path / f"a{suffix}"
    if package == "zarr":
        found.drop_vars("place").to_zarr(path, consolidated=False)  # text has no specification yet
    else:
        found.to_netcdf(path, engine=package)
    assert kc.evaluate(path, draws=99).pvalue == expected.pvalue
    if package != "scipy":
        whole = tmp_path / f"b{suffix}"
        tree().to_zarr(whole, consolidated=False) if package == "zarr" else tree().to_netcdf(whole, engine=package)
        assert kc.evaluate(whole, draws=99).pvalue == kc.evaluate(Z, kc.Samples(DRAWS[:, :6]), draws=99).pvalue
