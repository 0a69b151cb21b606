"""Files with one row a prediction of a number: means with their spread, draws, vectors."""

import re

import numpy as np
import pytest

from kernelcal.predictions import DiagonalNormal, MultivariateNormal, Normal, Samples

NORMAL = "y,mu,sd,var 1.5,1,2,4 2.5,2,0.5,0.25 -1,0,1,1"
VECTOR = "a,b,mu_a,mu_b,sd_a,sd_b 1,2,3,4,5,6 7,8,9,10,11,12"


def test_mean_and_std(save, load):
    path = save(NORMAL)
    data = load(path, mean="mu", std="sd")
    assert isinstance(data.predictions, Normal)
    np.testing.assert_array_equal(data.y, [1.5, 2.5, -1])
    np.testing.assert_array_equal(data.predictions.mean, [1, 2, 0])
    np.testing.assert_array_equal(data.predictions.std, [2, 0.5, 1])
    assert data.description == f"read {path}: 3 rows; target y; Normal from mean mu and std sd"


def test_the_root_of_a_variance_is_taken_and_said(save, load, refused):
    data = load(save(NORMAL), mean="mu", variance="var")
    np.testing.assert_array_equal(data.predictions.std, [2, 0.5, 1])
    assert data.description.endswith("Normal from mean mu and the root of variance var")
    message = refused(save("y,mu,var 1,1,1 2,2,0 3,3,2"), mean="mu", variance="var")
    assert message.startswith("the variance in row 1 is 0, expected a positive number; a point prediction alone")
    message = refused(save("y,mu,var 1,1,1 2,2,0 3,3,-1"), mean="mu", variance="var")
    assert message.startswith("the variance in row 2 is -1, expected a positive number; no spread is below 0")
    assert "the standard deviation in row 0 is -2" in refused(save("y,mu,sd 1,1,-2"), mean="mu", std="sd")


@pytest.mark.parametrize("options", [{"mean": "mu"}, {"std": "sd"}, {"mean": "mu", "std": "sd", "variance": "var"}])
def test_a_mean_needs_one_spread(save, refused, options):
    message = refused(save(NORMAL), **options)
    assert message.startswith("a normal prediction takes --mean NAME and one of --std NAME and --variance NAME, got --")
    assert "a mean alone cannot be tested for calibration" in message
    assert message.endswith("The columns are y, mu, sd, var")


@pytest.mark.parametrize("text", ["y,mean,std 1,2,3 4,5,6", "observed,mean,std 1,2,3 4,5,6"])
def test_usual_names_need_no_option(save, load, text):
    data = load(save(text))
    np.testing.assert_array_equal(data.predictions.std, [3, 6])
    assert data.description.endswith("; Normal from mean and std")


def test_class_files_with_columns_called_mean_and_std_stay_class_files(save, load):
    data = load(save("y,p,mean,std 1,0.5,2,3 0,0.5,5,6"))
    np.testing.assert_array_equal(data.predictions.p, [0.5, 0.5])


def test_several_targets_are_paired_in_the_order_given(save, load):
    data = load(save(VECTOR), mean="mu_*", std="sd_*", target="a,b")
    assert isinstance(data.predictions, DiagonalNormal)
    np.testing.assert_array_equal(data.y, [[1, 2], [7, 8]])
    np.testing.assert_array_equal(data.predictions.mean, [[3, 4], [9, 10]])
    np.testing.assert_array_equal(data.predictions.std, [[5, 6], [11, 12]])
    assert data.description.endswith("targets a, b; DiagonalNormal from mean and std: a (mu_a, sd_a), b (mu_b, sd_b)")
    turned = load(save(VECTOR), mean="mu_b,mu_a", std="sd_b,sd_a", target="b,a")
    np.testing.assert_array_equal(turned.predictions.mean, [[4, 3], [10, 9]])
    squared = load(save(VECTOR), mean="mu_*", variance="sd_*", target="a,b")
    np.testing.assert_allclose(squared.predictions.std, np.sqrt([[5, 6], [11, 12]]))


def test_pairs_in_another_order_are_refused(save, refused):
    for options in ({"std": "sd_b,sd_a", "target": "a,b"}, {"std": "sd_*", "target": "b,a"}):
        message = refused(save(VECTOR), mean="mu_*", **options)
        assert "are paired one by one, but stand in another order: name them as lists a,b,c in one order" in message


def test_unequal_numbers_are_refused(save, refused):
    assert refused(save(VECTOR), mean="mu_*", std="sd_a", target="a,b") == (
        "2 numbers a row in a, b, but 1 number a row in sd_a: one mean and one standard deviation a target are expected"
    )
    message = refused(save(VECTOR), mean="mu_*", std="sd_*", target="a")
    assert message.startswith("1 number a row in a, but 2 numbers a row in mu_a, mu_b")


def test_draws_side_by_side(save, load):
    data = load(save("y,m_1,m_2,m_3,n 0,1,2,3,9 0,4,5,6,9"), samples="m_*")
    assert isinstance(data.predictions, Samples)
    np.testing.assert_array_equal(data.predictions.draws, [[1, 2, 3], [4, 5, 6]])
    assert data.description.endswith("target y; 3 draws a row (m_1 to m_3)")


def test_one_draw_is_no_distribution(save, refused):
    message = refused(save("y,m 0,1 0,2"), samples="m")
    assert message.startswith("m is one number a row, but a prediction takes several samples")
    assert "--samples NAMES" in message


def test_the_missing_member_of_an_ensemble(save, load, refused):
    path = save("y,m_0,m_1,m_2 1.5,1,2,NaN 0.5,0,1,2")  # cases.json nan-member
    message = refused(path, samples="m_*")
    assert message.startswith("row 0: m_2 is missing (1 row with missing values there)")
    assert "--drop-missing" in message
    assert load(path, samples="m_*", drop_missing=True).description.endswith("dropped 1 row with missing values")


def test_npz_by_names(tmp_path, load):
    rng = np.random.default_rng(0)
    y, mean, std = rng.normal(size=4), rng.normal(size=4), rng.uniform(1, 2, 4)
    path = tmp_path / "a.npz"
    np.savez(path, y=y, mean=mean, std=std)
    data = load(path)
    np.testing.assert_array_equal(data.predictions.std, std)
    np.testing.assert_array_equal(data.y, y)
    np.savez(path, y=y, mean=mean, variance=std)
    np.testing.assert_allclose(load(path).predictions.std, np.sqrt(std))
    np.savez(path, y=y, samples=rng.normal(size=(4, 7)))
    assert load(path).description.endswith("target y; 7 draws a row (samples)")
    np.savez(path, y=y, quantiles=[[1, 2], [3, 3], [0, 1], [5, 6]], levels=[0.25, 0.75])
    assert load(path).description.endswith(
        "2 quantiles from 0.25 to 0.75, 1 row with equal neighbouring quantiles (quantiles)"
    )


def test_npz_of_vectors_by_names(tmp_path, load):
    y = np.arange(8.0).reshape(4, 2)
    path = tmp_path / "a.npz"
    np.savez(path, y=y, mean=y, std=y + 1)
    assert isinstance(load(path).predictions, DiagonalNormal)
    cov = np.broadcast_to([[2.0, 1.0], [1.0, 2.0]], (4, 2, 2))
    np.savez(path, y=y, mean=y, cov=cov)
    data = load(path)
    assert isinstance(data.predictions, MultivariateNormal)
    np.testing.assert_array_equal(data.predictions.cov, cov)
    assert data.description.endswith("target y; MultivariateNormal from mean and cov")
    draws = np.random.default_rng(0).normal(size=(4, 5, 2))
    np.savez(path, y=y, samples=draws)
    data = load(path)
    np.testing.assert_array_equal(data.predictions.draws, draws)
    assert data.description.endswith("5 draws of 2 numbers a row (samples)")
    np.savez(path, y=y[:, :1], samples=draws[:, :, :1])
    np.testing.assert_array_equal(load(path).predictions.draws, draws[:, :, 0])


def test_several_kinds_in_one_npz_are_a_doubt(tmp_path, load, refused):
    path = tmp_path / "a.npz"
    np.savez(path, y=[1.0, 2], mean=[1.0, 2], std=[1.0, 2], samples=[[1.0, 2], [3, 4]])
    message = refused(path)
    assert message.startswith("the file holds mean and std as well as samples: say which are meant")
    assert "--samples samples" in message
    assert isinstance(load(path, samples="samples").predictions, Samples)
    assert isinstance(load(path, mean="mean", std="std").predictions, Normal)


def test_arrays_that_do_not_fit(tmp_path, refused):
    path = tmp_path / "a.npz"
    np.savez(path, y=np.zeros(4), samples=np.zeros((9, 4)))
    assert refused(path) == (
        "4 targets in y, but 9 rows in samples: one row a prediction is expected, turn the array round"
    )
    np.savez(path, y=np.zeros((4, 2)), samples=np.zeros((4, 9)))
    assert refused(path).startswith("2 numbers a row in y, but samples has shape (4, 9): samples have shape (n, S)")
    np.savez(path, y=np.zeros((4, 2)), quantiles=np.zeros((4, 2)), levels=[0.1, 0.9])
    assert refused(path).endswith("but quantiles has shape (4, 2): quantiles have shape (n, Q)")
    np.savez(path, y=np.zeros(4), mean=np.zeros(4), std=np.zeros(3))
    assert refused(path) == "4 targets in y, but 3 rows in std"


def test_parquet_with_lists_of_draws(tmp_path, load):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"y": [1.0, 2.0], "samples": [[1.0, 2, 3], [4, 5, 6]]}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(load(tmp_path / "a.parquet").predictions.draws, [[1, 2, 3], [4, 5, 6]])


def test_weights_where_and_missing_values_together(save, load, refused):
    path = save("y,mu,sd,w,model 1,1,1,2,a 2,,1,3,a 3,3,3,4,b 4,4,4,5,a 5,5,-1,6,c")
    data = load(path, mean="mu", std="sd", weights="w", where=["model=a"], drop_missing=True)
    np.testing.assert_array_equal(data.y, [1, 4])
    np.testing.assert_array_equal(data.weights, [2, 5])
    assert data.description.endswith("; weights w; 3 of 5 rows where model=a; dropped 1 row with missing values")
    either = load(path, mean="mu", std="sd", where=["model=b", "model=a"], drop_missing=True)
    np.testing.assert_array_equal(either.y, [1, 3, 4])
    both = load(path, mean="mu", std="sd", where=["model=a", "w=5.0"])
    np.testing.assert_array_equal(both.y, [4])
    assert "row 4 is -1" in refused(path, mean="mu", std="sd", where=["model=c", "model=b"])  # as the file counts
    assert "row 1: mu is missing (1 row with missing values there)" in refused(path, mean="mu", std="sd")


def test_where_that_fits_nothing(save, refused):
    path = save("y,mu,sd,model 1,1,1,a 2,2,1,b")
    assert refused(path, mean="mu", std="sd", where=["model=c"]) == "no row has model=c: the column holds a, b"
    assert "there is no column 'kind'" in refused(path, mean="mu", std="sd", where=["kind=c"])
    message = refused(path, mean="mu", std="sd", where=["model"])
    assert message == "--where takes column=value, such as horizon=1, got 'model'"
    assert refused(path, mean="mu", std="sd", where=["model=a", "y=2"]) == (
        "no rows are left; 0 of 2 rows where model=a and y=2"
    )


def test_where_keeps_codes_apart(save, load):
    path = save("y,mu,sd,place 1,1,1,01 2,2,1,1 3,3,1,10")
    np.testing.assert_array_equal(load(path, mean="mu", std="sd", where=["place=01"]).y, [1])
    np.testing.assert_array_equal(load(path, mean="mu", std="sd", where=["place=1"]).y, [2])
    np.testing.assert_array_equal(load(path, mean="mu", std="sd", where=["place=10.0"]).y, [3])


def test_where_is_for_classes_too(save, load):
    data = load(save("y,p,model 1,0.2,a 0,0.3,b 1,0.4,a"), where=["model=a"])
    np.testing.assert_array_equal(data.predictions.p, [0.2, 0.4])
    assert data.description.endswith("2 classes: 0, 1; 2 of 3 rows where model=a")


def test_drop_target(save, load, refused):
    data = load(save("y,mu,sd 1,1,1 -99,2,1"), mean="mu", std="sd", drop_target="-99")
    np.testing.assert_array_equal(data.y, [1])
    assert data.description.endswith("dropped 1 row with target -99")
    assert "--drop-target is for one target column" in refused(
        save(VECTOR), mean="mu_*", std="sd_*", target="a,b", drop_target="1"
    )


def test_missing_targets_are_named(save, refused):
    message = refused(save("y,mu,sd 1,1,1 NA,2,1"), mean="mu", std="sd")
    assert message.startswith("row 1: y is missing")
    assert "line 3, column 'y': 'high' is not a number" in refused(save("y,mu,sd 1,1,1 high,2,1"), mean="mu", std="sd")


@pytest.mark.parametrize("name", ["p", "predictions", "forecast"])
def test_point_predictions_alone_cannot_be_tested(save, refused, name):
    message = refused(save(f"y,{name} 3.1,2.9 4.2,4.4 5.3,5.1"))  # cases.json std-question
    assert message.startswith(f"column {name!r} holds point predictions of the numbers in 'y' (row 0 is 2.9)")
    assert "point predictions alone cannot be tested for calibration" in message
    for option in (f"--mean {name} --std NAME", "--samples", "--quantiles"):
        assert option in message


def test_percentages_and_logits_are_no_point_predictions(save, load, refused):
    assert "--predictions NAMES" in refused(save("y,forecast 1,20 0,30 1,80"))
    with pytest.raises(Exception, match="--kind percent"):
        load(save("y,p 1,20 0,30 1,80"))
    assert "point predictions" not in refused(save("y,forecast 3.1,0.2 4.2,0.3 5.3,0.4"))
    message = refused(save("y,a,b 3.1,2.9,1 4.2,4.4,1 5.3,5.1,1"))
    assert message.startswith("no column has a usual name for the predictions")
    assert "predictions of numbers are named with --mean and --std, --samples or --quantiles" in message
    assert "parameters of a family with --family and --parameters" in message


# parameters of a family


def parameters_file(tmp_path):
    rng = np.random.default_rng(5)
    n = 40
    columns = {
        "y": rng.gamma(2, size=n),
        "concentration": rng.uniform(1, 3, n),
        "rate": rng.uniform(1, 2, n),
        "nu": rng.uniform(3, 9, n),
        "m": rng.normal(size=n),
        "s": rng.uniform(1, 2, n),
        "hits": rng.integers(0, 5, n),
        "p": rng.uniform(0.2, 0.8, n),
    }
    shares = rng.dirichlet([1, 2, 3], n)
    columns |= {f"t{k}": shares[:, k] for k in range(3)} | {f"c{k}": rng.uniform(1, 3, n) for k in range(3)}
    path = tmp_path / "rows.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows)]))
    return path, columns


@pytest.mark.parametrize(
    ("options", "family", "columns", "words"),
    [
        ({"family": "gamma"}, "Gamma", ("concentration", "rate"), "target y; Gamma from concentration and rate"),
        (
            {"family": "student-t", "parameters": "nu,m,s"},
            "StudentT",
            ("nu", "m", "s"),
            "StudentT from df nu, loc m and scale s",
        ),
        ({"family": "StudentT", "parameters": "4, m ,s"}, "StudentT", (4.0, "m", "s"), "StudentT from df 4, loc m and"),
        ({"family": "laplace", "parameters": "m,1"}, "Laplace", ("m", 1.0), "Laplace from loc m and scale 1"),
        ({"family": "log_normal", "parameters": "m,s"}, "LogNormal", ("m", "s"), "LogNormal from mu m and sigma s"),
        ({"family": "poisson", "parameters": "s", "target": "hits"}, "Poisson", ("s",), "Poisson from rate s"),
        ({"family": "binomial", "parameters": "4,p", "target": "hits"}, "Binomial", (4.0, "p"), "from n 4 and p"),
        (
            {"family": "negative-binomial", "parameters": "s,nu", "target": "hits"},
            "NegativeBinomial",
            ("s", "nu"),
            "NegativeBinomial from mean s and dispersion nu",
        ),
        (
            {"family": "dirichlet", "parameters": "c[0-2]", "target": "t0,t1,t2"},
            "Dirichlet",
            None,
            r"Dirichlet from concentration: t0 \(c",
        ),
    ],
)
def test_parameters_of_families_are_columns(tmp_path, load, options, family, columns, words):
    path, held = parameters_file(tmp_path)
    data = load(path, **options)
    assert type(data.predictions).__name__ == family
    assert re.search(words, data.description)
    for name, column in zip(data.predictions.given_by, columns or (), strict=columns is not None):
        expected = held[column] if isinstance(column, str) else np.full(40, column)
        np.testing.assert_allclose(getattr(data.predictions, name), expected)
    if columns is None:
        np.testing.assert_allclose(data.predictions.concentration, np.stack([held[f"c{k}"] for k in range(3)], axis=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "pareto"}, "--family is one of .*beta, binomial, .*dirichlet, .*student-t.*got 'pareto'"),
        ({"parameters": "m,s"}, "--parameters names the columns of a family: say which, such as --family gamma"),
        (
            {"family": "gamma", "parameters": "m"},
            "Gamma has the parameters concentration, rate, got the columns m",
        ),
        ({"family": "beta"}, "no column is called a: say which hold them with --parameters NAMES"),
        ({"family": "gamma", "parameters": "m,s"}, "the concentration in row .* is .*, expected a positive number"),
        ({"family": "gamma", "mean": "m"}, "--mean says that the file holds means .* parameters of a family"),
        ({"family": "student-t", "parameters": "y,m,s"}, "'y' cannot be both predictions and target"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(tmp_path, refused, options, message):
    path, _ = parameters_file(tmp_path)
    assert re.search(message, refused(path, **options))


def test_columns_of_a_family_that_are_called_otherwise_are_asked_for(save, refused):
    path = save("y,mu,s 1,2,1 2,3,1 3,3,1")
    message = "StudentT has the parameters df, loc, scale, and no column is called df: say which hold them with"
    assert message in refused(path, family="student-t")
    assert "no column is called concentration" in refused(path, family="dirichlet", target="mu,s")
