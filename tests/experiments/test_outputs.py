"""Short runs write elsewhere, and every tracked table and picture has the command that made it."""

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

if not (ROOT / "experiments").exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def outputs():
    spec = importlib.util.spec_from_file_location("outputs_under_test", ROOT / "experiments" / "outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_whole_runs_write_over_tracked_files(outputs):
    assert not outputs.ACTIVE  # a test is no experiment
    assert outputs.base([], None) == ROOT
    assert outputs.base(["--part", "rates", "--processes", "1"], None) == ROOT
    for short in (["--repetitions", "10"], ["--trials=2"], ["--part", "rates", "--sizes", "20"], ["--only", "x"]):
        assert ROOT not in [outputs.base(short, None), *outputs.base(short, None).parents]
    assert outputs.base(["--repetitions", "10"], "tracked") == ROOT
    assert outputs.base([], "elsewhere") == Path.cwd() / "elsewhere"


SCRIPT = """import sys
from pathlib import Path
sys.path.append(str(Path(__file__).resolve().parents[1]))
import outputs
(outputs.tables() / "made_by_a_test.csv").write_text("a,b")
(outputs.folder(Path(__file__).parent) / "own.csv").write_text("c,d")
"""


def test_a_short_run_leaves_the_tree_as_it_was(tmp_path):
    """A script in a tree of its own: what it wrote, and the commands that are recorded."""
    (tmp_path / "experiments" / "some").mkdir(parents=True)
    copied = tmp_path / "experiments" / "outputs.py"
    copied.write_text((ROOT / "experiments" / "outputs.py").read_text())
    script = tmp_path / "experiments" / "some" / "run.py"
    script.write_text(SCRIPT)

    def run(*arguments):
        return subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True, text=True).stdout

    other = tmp_path / "other"
    said = run("--repetitions", "3", "--output", str(other))
    assert "2 files are in" in said
    assert not (tmp_path / "docs").exists()
    assert (other / "docs" / "tables" / "made_by_a_test.csv").exists()
    run()
    with (tmp_path / "docs" / "tables" / "commands.csv").open() as stream:
        lines = list(csv.reader(stream))
    command = "python experiments/some/run.py"
    assert lines[1:] == [["docs/tables/made_by_a_test.csv", command], ["experiments/some/own.csv", command]]
    run("--repetitions", "7", "--output", "tracked")
    assert "run.py --repetitions 7 --output tracked" in (tmp_path / "docs" / "tables" / "commands.csv").read_text()


def test_every_tracked_table_and_picture_has_its_command(outputs):
    known, missing = outputs.read_commands(ROOT), []
    for watched in outputs.WATCHED:
        for path in (ROOT / watched).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in (".csv", ".png") and name != outputs.COMMANDS.as_posix() and name not in known:
                missing.append(name)
    assert not missing
    assert not [name for name in known if not (ROOT / name).exists()]
    for command in known.values():
        words = command.split()
        assert words[0] != "python" or (ROOT / words[1]).exists(), command


def test_a_run_takes_no_files_of_other_scripts(outputs):
    """What was written meanwhile, by a script that ran beside it, keeps its command."""
    known = {"a.csv": "python experiments/a/run.py --part x", "b.png": "python docs/b.py", "c.png": "a photo"}
    assert outputs.of_other_scripts(known, "python experiments/a/run.py") == {"b.png", "c.png"}


def test_pictures_of_the_guides_are_those_of_their_scripts(outputs):
    for name, command in outputs.read_commands(ROOT).items():
        for start, script in (("plot_", "docs/make_pictures.py"), ("report_", "docs/make_reports.py")):
            assert not name.startswith(f"docs/images/{start}") or command.split()[1] == script, name


def test_every_experiment_that_writes_asks_where_to(outputs):
    """No script names the folder of the tables by itself."""
    for script in (ROOT / "experiments").rglob("*.py"):
        text = script.read_text()
        assert '"docs" / "tables"\n' not in text or script.name == "outputs.py", script
