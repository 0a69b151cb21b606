"""Drawing without a screen, with matplotlib's own settings, and without figures left open."""

import pytest


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        matplotlib.use("agg")
        plt.close("all")  # what other tests and the examples in the docs left open
        yield plt
        plt.close("all")
