"""Checks of binnings, lenses, readers and drawings find deliberate defects."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.binning import Binning, Bins
from kernelcal.errors import InputError
from kernelcal.io import READERS, reads
from kernelcal.lenses import Lens, View
from kernelcal.testing import check_binning, check_lens, check_plot, check_reader


def bites(check, subject, message, **options):
    with pytest.raises(AssertionError, match=message) as caught:
        check(subject, **options)
    assert len(str(caught.value)) > 50


# binnings


@dataclass(frozen=True)
class Halves(Binning):
    """Right: two bins of one probability."""

    def index(self, p):
        return (p[:, 0] > 0.5).astype(np.int64)

    def edges(self):
        return np.array([0, 0.5]), np.array([0.5, 1])

    def assign(self, p, weights=None):
        if p.shape[1] != 1:
            raise InputError("Halves takes one probability: ask question='top label'")
        return Bins(self.index(p), 2, *self.edges())

    def __str__(self):
        return "two halves"


def test_the_right_binning_passes():
    check_binning(Halves(), columns=[1], refuses=[2])


class LeavesOut(Halves):
    def index(self, p):
        return np.where(p[:, 0] == 1, 2, super().index(p))


class Negative(Halves):
    def index(self, p):
        return super().index(p) - 1


class SplitsTies(Halves):
    def index(self, p):
        return (np.arange(len(p)) % 2).astype(np.int64)


class ByOrder(Halves):
    def assign(self, p, weights=None):
        order = np.argsort(p[:, 0], kind="stable")
        index = np.empty(len(p), dtype=np.int64)
        index[order] = np.arange(len(p)) * 2 // len(p)
        return Bins(index, 2, np.array([0, np.median(p)]), np.array([np.median(p), 1]))


class Falling(Halves):
    def index(self, p):
        return 1 - super().index(p)

    def edges(self):
        return np.array([0.5, 0]), np.array([1, 0.5])


class WrongEdges(Halves):
    def edges(self):
        return np.array([0, 0.6]), np.array([0.4, 1])


class NoEdges(Halves):
    def assign(self, p, weights=None):
        return Bins(super().assign(p).index, 2)


class FloatIndex(Halves):
    def index(self, p):
        return super().index(p).astype(float)


class Column(Halves):
    def index(self, p):
        return super().index(p)[:, None]


class Writes(Halves):
    def assign(self, p, weights=None):
        p *= 0.99
        return super().assign(p)


class Random(Halves):
    def index(self, p):
        return np.full(len(p), np.random.default_rng().integers(2**31) % 2)


class TakesAll(Halves):
    def assign(self, p, weights=None):
        return super().assign(p[:, :1])


class ByWeight(Halves):
    def assign(self, p, weights=None):
        return super().assign(p if weights is None else 1 - p)


class Anonymous(Halves):
    def __str__(self):
        return repr(self)


@dataclass
class Mutable(Binning):
    def assign(self, p, weights=None):
        return Halves().assign(p)

    def __str__(self):
        return "two halves"


@pytest.mark.parametrize(
    ("binning", "message"),
    [
        (LeavesOut(), "every row has a bin.*index goes from 0 to 2, size is 2"),
        (Negative(), "index goes from -1"),
        (SplitsTies(), r"(equal predictions share a bin\. Here row|the order of the rows changes nothing)"),
        (ByOrder(), "(equal predictions share a bin|the order of the rows)"),
        (Falling(), "bins are in the order of the values"),
        (WrongEdges(), "hold what is inside.*is in the bin from"),
        (NoEdges(), "hold what is inside. Here they are None"),
        (FloatIndex(), "index is float64"),
        (Column(), r"index has shape \(40, 1\) for 40 rows"),
        (Writes(), "assign.p. takes predictions.*read-only"),
        (Random(), "(the order of the rows changes nothing|in the order of the values|hold what is inside)"),
        (TakesAll(), "3 probabilities a row are refused.*was accepted"),
        (ByWeight(), "(weights of 1 gave other bins)"),
        (Anonymous(), "what results print.*define __str__"),
        (Mutable(), "it is a frozen dataclass"),
        (15, "a binning derives from kernelcal.binning.Binning. Here it is a int"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_broken_binnings_are_found(binning, message):
    bites(check_binning, binning, message, columns=[1], refuses=[3])


# lenses


@dataclass(frozen=True)
class FirstTwo(Lens):
    """Right: the classes 0 and 1 together, against the rest."""

    question = "0 or 1"

    def number(self, p):
        return p[:, 0] + p[:, 1]

    def labels(self, labels):
        return (labels < 2).astype(np.int64)

    def view(self, predictions):
        p = self.number(predictions.probabilities)
        one = kc.Bernoulli(p, ("rest", "first two"), predictions.notes, self.question)
        return View(one, self.labels)


def test_the_right_lens_passes():
    check_lens(FirstTwo())


class WrongSum(FirstTwo):
    def number(self, p):
        return p[:, 0]


class Swapped(FirstTwo):
    def labels(self, labels):
        return (labels >= 2).astype(np.int64)


class Normalised(FirstTwo):
    def number(self, p):
        return (p[:, 0] + p[:, 1]) / (p[:, 0] + p[:, 1]).max()


class SumsRows(FirstTwo):
    def labels(self, labels):
        return (labels < 2).sum(axis=0)


class BooleanLabels(FirstTwo):
    def labels(self, labels):
        return labels < 2


class BeyondLabels(FirstTwo):
    def labels(self, labels):
        return 2 * (labels < 2).astype(np.int64)


class WritesLabels(FirstTwo):
    def labels(self, labels):
        labels[labels > 1] = 0
        return labels


class SignedOnly(FirstTwo):
    def labels(self, labels):
        return ((labels - 2).astype(np.int64) < 0).astype(np.int64)


class LosesNotes(FirstTwo):
    def view(self, predictions):
        return View(kc.Bernoulli(self.number(predictions.probabilities), question="x"), self.labels)


class AsksNothing(FirstTwo):
    question = None


class OnlyNumPy(FirstTwo):
    def view(self, predictions):
        p = np.asarray(kc.arrays.to_numpy(predictions.probabilities))
        return View(kc.Bernoulli(self.number(p), None, predictions.notes, self.question), self.labels)


class LosesRows(FirstTwo):
    def view(self, predictions):
        return super().view(predictions[1:])


class ReturnsPair(FirstTwo):
    def view(self, predictions):
        seen = super().view(predictions)
        return seen.predictions, seen.relabel


class WritesProbabilities(FirstTwo):
    def number(self, p):
        p[:, 0] += p[:, 1]
        return p[:, 0]


class OfTheBatch(FirstTwo):
    def view(self, predictions):
        order = np.argsort(predictions.probabilities[:, 0])
        likely = np.isin(np.arange(len(order)), order[len(order) // 2 :])
        p = np.where(likely, predictions.probabilities[:, 0], predictions.probabilities[:, 1])
        relabel = lambda labels: np.where(likely, labels == 0, labels == 1).astype(np.int64)  # noqa: E731
        return View(kc.Bernoulli(p, None, predictions.notes, self.question), relabel)


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        (WrongSum(), "the sum over the labels that become it.*a probability is"),
        (Swapped(), "the sum over the labels that become it"),
        (Normalised(), "a row is seen as if it were alone"),
        (SumsRows(), r"shape \(7, 30\), gave shape \(30,\)"),
        (BooleanLabels(), "they are bool"),
        (BeyondLabels(), "they go from 0 to 2 for 2 classes"),
        (WritesLabels(), "relabel turns labels.*read-only"),
        (SignedOnly(), "labels in uint8 give others than in int64"),
        (LosesNotes(), "notes are .*, expected those of the predictions"),
        (AsksNothing(), "question is a text. Here it is None"),
        (OnlyNumPy(), "array_api_strict gives the same probabilities, as its own arrays"),
        (LosesRows(), "they have 29 rows for 30"),
        (ReturnsPair(), "returns a kernelcal.lenses.View. Here it returned tuple"),
        (WritesProbabilities(), "view.predictions. returns.*read-only"),
        (OfTheBatch(), "a row is seen as if it were alone"),
        (kc.ClassWise(), "a lens derives from kernelcal.lenses.Lens"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
@pytest.mark.filterwarnings("ignore:The .array_api_strict")
def test_broken_lenses_are_found(lens, message):
    bites(check_lens, lens, message)


# readers


def write(path, columns):
    path.write_text(json.dumps(columns))


def load(path):
    """Right: one JSON object of columns."""
    try:
        columns = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"{path}: cannot be read as columns: {error}") from None
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


@pytest.fixture
def registered():
    yield reads(".columns")
    READERS.forget(".columns")


def test_the_right_reader_passes(registered):
    registered(load)
    check_reader(".columns", write)
    assert ".columns" in kc.io.readers()


def shortened(path):
    return {name: values[:-1] for name, values in load(path).items()}


def reordered(path):
    return dict(sorted(load(path).items(), reverse=True))


def rounded(path):
    columns = load(path)
    return columns | {"p": np.array([None if x is None else round(x, 1) for x in columns["p"]], dtype=object)}


def zeros(path):
    return {
        name: np.array([0 if x is None else x for x in values], dtype=object) for name, values in load(path).items()
    }


def lower(path):
    return {
        k: np.array([x.lower() if isinstance(x, str) else x for x in v], dtype=object) for k, v in load(path).items()
    }


def tidies(path):
    found = load(path)
    path.write_text(json.dumps({name: list(values) for name, values in found.items()}, indent=1))
    return found


OPEN = []


def stays_open(path):
    OPEN.append(open(path))  # noqa: SIM115
    return load(path)


def anything(path):
    try:
        return load(path)
    except InputError:
        return {"p": np.array([0.5]), "y": np.array([1])}


def raw_errors(path):
    return {name: np.array(values, dtype=object) for name, values in json.loads(path.read_text()).items()}


def nameless(path):
    try:
        return raw_errors(path)
    except ValueError as error:
        raise InputError(f"cannot be read as columns: {error}") from None


def text_numbers(path):
    return {name: np.array([str(x) for x in values]) for name, values in load(path).items()}


def flat(path):
    return {name: np.array(values, dtype=object)[:, None, None] for name, values in load(path).items()}


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (shortened, "(numbers are read to the last digit.*shape)"),
        (reordered, "columns have the names of the file, in its order"),
        (rounded, "numbers are read to the last digit.*a number is 0.2"),
        (zeros, "a missing value is None or NaN"),
        (lower, "text is read letter by letter"),
        (tidies, "its bytes changed"),
        (stays_open, "it is still open"),
        (anything, "is refused with an InputError that begins with its name. Here it was read"),
        (raw_errors, "is refused with an InputError.*JSONDecodeError"),
        (nameless, "the message begins otherwise"),
        (text_numbers, "numbers are read to the last digit"),
        (flat, "(numbers|text).*it raised|It raised InputError"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_broken_readers_are_found(registered, reader, message):
    registered(reader)
    bites(lambda suffix: check_reader(suffix, write), ".columns", message)
    while OPEN:
        OPEN.pop().close()


def test_a_suffix_without_a_reader_is_said():
    bites(lambda suffix: check_reader(suffix, write), ".nothing", "it is registered")


# drawings


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def axes(ax):
    return kc.plots.axes_or_new(ax, 5.0, 4.0)


def bars(ax=None, name="class"):
    """Right."""
    ax = axes(ax)
    ax.barh([kc.plots.literal(name), "other"], [0.3, 0.6], label="share of hits")
    ax.legend()
    return ax


@pytest.mark.slow
def test_the_right_drawing_passes(plt):
    figures = plt.get_fignums()
    check_plot(bars)
    assert plt.get_fignums() == figures


def returns_nothing(ax=None, name="class"):
    bars(ax, name)


def new_figure(ax=None, name="class"):
    return bars(None, name)


def draws_elsewhere(ax=None, name="class"):
    import matplotlib.pyplot as plt

    plt.plot([0, 1], label="line")
    return ax if ax is not None else bars(None, name)


def sets_current(ax=None, name="class"):
    import matplotlib.pyplot as plt

    ax = bars(ax, name)
    plt.sca(ax)
    return ax


def empty(ax=None, name="class"):
    ax = axes(ax)
    ax.set_title(kc.plots.literal(name))
    return ax


def formula(ax=None, name="class"):
    ax = axes(ax)
    ax.barh([name, "other"], [0.3, 0.6], label="share of hits")
    ax.legend()
    return ax


def escapes_all(ax=None, name="class"):
    ax = bars(ax)
    ax.set_title(name.replace("_", r"\_"))
    return ax


def changes_settings(ax=None, name="class"):
    import matplotlib.pyplot as plt

    plt.rcParams["axes.facecolor"] = "0.9"
    return bars(ax, name)


def no_legend(ax=None, name="class"):
    ax = bars(ax, name)
    ax.get_legend().remove()
    return ax


def no_labels(ax=None, name="class"):
    ax = axes(ax)
    ax.barh([kc.plots.literal(name), "other"], [0.3, 0.6])
    return ax


def formula_beside_the_title(ax=None, name="class"):
    ax = bars(ax, name)
    ax.set_title(kc.plots.literal(name))
    ax.set_xlabel(name)
    return ax


def half_a_legend(ax=None, name="class"):
    ax = bars(ax, name)
    ax.plot([0.1, 0.2], [0, 1], label="a line that the legend leaves out")
    return ax


def huge(ax=None, name="class"):
    ax = kc.plots.axes_or_new(ax, 12.0, 12.0)
    return bars(ax, name)


def two_figures(ax=None, name="class"):
    import matplotlib.pyplot as plt

    if ax is None:
        plt.figure()
    return bars(ax, name)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (returns_nothing, "it draws on the axes that it is given, and returns them. Here it returned None"),
        (new_figure, "it returned <Axes"),
        (draws_elsewhere, "(nothing was drawn on them|it drew on other axes)"),
        (sets_current, "the current axes changed"),
        (empty, "nothing was drawn on them"),
        (formula, "shown letter by letter"),
        (formula_beside_the_title, "is drawn as a formula at 1 places"),
        (escapes_all, "shown letter by letter"),
        (changes_settings, "it changes no setting.*axes.facecolor"),
        (no_legend, "there is no legend"),
        (no_labels, "no artist has a label"),
        (half_a_legend, "the legend says"),
        (huge, "inches wide.*it is 12.0 x 12.0"),
        (two_figures, "it made 2 figures"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
@pytest.mark.quick_cases(2)
def test_broken_drawings_are_found(plt, draw, message):
    before = dict(plt.rcParams)
    bites(check_plot, draw, message)
    assert dict(plt.rcParams) == before
