"""What compares two result files of the benchmarks: it flags what became slower, and noise is no slowdown."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "compare.py"


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("benchmark_compare", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def times(seed, factor=1.0, noise=0.03, number=9):
    return (factor * 0.2 * np.random.default_rng(seed).lognormal(0, noise, number)).tolist()


def test_noise_is_seldom_called_slower_and_a_slowdown_is_found(compare):
    alike = [compare.verdict(times(seed), times(1000 + seed))[2] for seed in range(300)]
    slower = [compare.verdict(times(seed), times(1000 + seed, 1.25))[2] for seed in range(300)]
    faster = [compare.verdict(times(seed), times(1000 + seed, 0.7))[2] for seed in range(300)]
    assert alike.count("slower") <= 12  # of 300
    assert slower.count("slower") >= 280
    assert faster.count("faster") >= 280
    assert compare.verdict(times(0, noise=0.5), times(1, 1.25, noise=0.5))[2] == "alike"  # nobody can tell


def test_two_files_end_in_a_table_and_a_status(compare, tmp_path, capsys):
    found = {"machine": "one", "seconds": {"a": times(1), "b": times(2), "c": times(3)}}
    later = {"machine": "one", "seconds": {"a": times(4), "b": times(5, 2.0)}}
    first, second = tmp_path / "before.json", tmp_path / "after.json"
    first.write_text(json.dumps(found))
    second.write_text(json.dumps(later))
    assert compare.main([str(first), str(second)]) == 1
    printed = capsys.readouterr().out
    assert "| slower |" in printed.split("| b |")[1]
    assert "not measured" in printed.split("| c |")[1]
    assert compare.main([str(first), str(first)]) == 0
    second.write_text(json.dumps({**later, "machine": "another"}))
    compare.main([str(first), str(second)])
    assert "the machines differ: one and another" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        compare.main([str(first)])
