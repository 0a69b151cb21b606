"""Threads: results in order, and none are started where there is nothing to share."""

import threading

import numpy as np

import kernelcal as kc
from kernelcal.pairs import threads


def test_results_come_in_the_order_of_the_items():
    assert threads.threaded_map(lambda x: x * x, (x for x in range(50)), 3) == [x * x for x in range(50)]
    assert threads.threaded_map(lambda x: x, [], 3) == []


def test_one_item_and_few_rows_start_no_threads(monkeypatch):
    def refused(*args):
        raise AssertionError("a pool was started")

    monkeypatch.setattr(threads, "ThreadPoolExecutor", refused)
    monkeypatch.setattr(threads, "thread_count", lambda asked: asked or 4)
    assert threads.threaded_map(lambda x: threading.current_thread(), [0], 4) == [threading.main_thread()]
    p, y = np.repeat([0.2, 0.7], 50), np.arange(100) % 2
    assert kc.skce(y, p).engine == "exact pairs of 2 unique predictions"
    kc.calibration_test(y, p, draws=99)
