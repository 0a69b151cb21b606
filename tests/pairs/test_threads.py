"""Threads: results in order, and none are started where there is nothing to share."""

import threading

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.pairs import base


def test_results_come_in_the_order_of_the_items():
    assert base.threaded_map(lambda x: x * x, (x for x in range(50)), 3) == [x * x for x in range(50)]
    assert base.threaded_map(lambda x: x, [], 3) == []


def test_one_item_and_few_rows_start_no_threads(monkeypatch):
    def refused(*args):
        raise AssertionError("a pool was started")

    monkeypatch.setattr(base, "ThreadPoolExecutor", refused)
    monkeypatch.setattr(base, "thread_count", lambda asked: asked or 4)
    assert base.threaded_map(lambda x: threading.current_thread(), [0], 4) == [threading.main_thread()]
    p, y = np.repeat([0.2, 0.7], 50), np.arange(100) % 2
    assert kc.skce(y, p).engine == "exact pairs of 2 unique predictions"
    kc.calibration_test(y, p, draws=99)


def test_one_task_of_many_starts_no_threads(monkeypatch):
    used = []
    with base.one_thread():
        base.threaded_map(lambda x: used.append(threading.current_thread()), range(4), 4)
        assert base.thread_count(8) == 1
    assert set(used) == {threading.main_thread()}
    assert base.thread_count(8) == 8


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stream_is_made_as_it_is_used_and_keeps_its_order(threads):
    made, alone = [], []

    def items():
        for k in range(20):
            made.append(k)
            yield k

    def square(k):
        alone.append(base.thread_count(8))
        if k == 17:
            raise ValueError("seventeen")
        return k * k

    found = base.threaded_stream(square, items(), threads)
    assert next(found) == 0
    assert len(made) <= threads + 1
    assert [next(found) for _ in range(16)] == [k * k for k in range(1, 17)]
    with pytest.raises(ValueError, match="seventeen"):
        next(found)
    assert set(alone) == ({8} if threads == 1 else {1})
    assert base.thread_count(8) == 8


def test_threads_change_no_number_of_a_sketch(monkeypatch):
    from kernelcal.sketch import sums

    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 3000)
    y = kc.Categorical(p).sample(rng)[0]
    monkeypatch.setattr(sums, "_PART", 500)
    found = []
    for number in (1, 3):
        monkeypatch.setattr(sums, "thread_count", lambda _, number=number: number)
        found.append(kc.Sketch(kc.Gaussian(0.3), engine=kc.RandomFourier(20), draws=19).update(y, p)._sums)
    assert all(np.array_equal(one, found[1][name]) for name, one in found[0].items())


def test_linear_algebra_has_one_thread_inside_and_its_own_afterwards():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def now(_=None):
        return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = now()
        for _ in range(2):  # the libraries are looked for once
            inside = base.threaded_map(now, range(2), 2)
            assert inside == [[1] * len(before)] * 2
            assert now() == before
    assert set(before) == {2}
