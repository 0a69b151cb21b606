"""How the real command ends: exit status, one line and no traceback, whatever happens."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kernelcal
from kernelcal.cli import main
from kernelcal.cli.commands import evaluation
from kernelcal.cli.ending import as_typed, naming
from kernelcal.surroundings import is_command

SCRIPT = Path(sys.executable).with_name("kernelcal")
WAYS = [[sys.executable, "-m", "kernelcal"], *([[str(SCRIPT)]] if SCRIPT.exists() else [])]
DRAWS = ["--draws", "99"]
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ending")
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    for name, y in (("honest", rng.random(200) < p), ("bold", rng.random(200) < p**4)):
        rows = zip(y.astype(int).tolist(), p.tolist(), strict=True)
        (path / f"{name}.csv").write_text("y,p\n" + "".join(f"{a},{b!r}\n" for a, b in rows))
    (path / "broken.csv").write_text("y,p\n1,2\n")
    return path


def ends(folder, *arguments, way=WAYS[0], **options):
    options = {"capture_output": True, "text": True, "timeout": 60, **options}
    done = subprocess.run([*way, *arguments], cwd=folder, **options)
    assert "Traceback" not in str(done.stderr)
    return done


_LIMITED = """import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
os.execvp(sys.argv[1], sys.argv[1:])
"""
_WITH_LITTLE_MEMORY = [sys.executable, "-c", _LIMITED]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: Path(way[-1]).name)
def test_the_four_statuses_of_the_real_command(folder, way):
    assert ends(folder, "evaluate", "honest.csv", *DRAWS, way=way).returncode == 0
    gate = ["--fail-below", "0.05", *DRAWS]
    assert ends(folder, "evaluate", "honest.csv", *gate, way=way).returncode == 0
    assert ends(folder, "evaluate", "bold.csv", *gate, way=way).returncode == 1
    wrong = ends(folder, "evaluate", "broken.csv", *gate, way=way)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert ends(folder, "evaluate", "--nonsense", way=way).returncode == 2
    huge = ["--engine", "fourier", "--features", "99999999999"]
    full = ends(folder, "evaluate", "bold.csv", *gate, *huge, way=[*_WITH_LITTLE_MEMORY, *way])
    assert full.returncode == 3
    assert full.stderr.startswith("kernelcal: out of memory (")
    assert full.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["evaluate", "honest.csv", *DRAWS], ["evaluate", "honest.csv", "--json", *DRAWS], ["--help"]]
)
def test_a_full_disk_is_a_fault_and_not_a_verdict(folder, arguments):
    with FULL.open("w") as full:
        done = ends(folder, *arguments, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 3
    assert done.stderr == "kernelcal: reading or writing failed: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("error", [ZeroDivisionError("division by zero"), OverflowError("too large"), KeyError("x")])
def test_a_fault_inside_is_status_three_and_names_the_place(capsys, folder, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(evaluation, "evaluated", fails)
    assert main(["evaluate", str(folder / "honest.csv"), "--fail-below", "0.5"]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"kernelcal: a fault of kernelcal, not of what you gave: {type(error).__name__}: ")
    assert "(evaluation.py, line " in said
    assert said.count("\n") == 1


def test_memory_that_is_not_there_is_status_three(capsys, folder, monkeypatch):
    def fails(*_, **__):
        raise MemoryError

    monkeypatch.setattr(evaluation, "evaluated", fails)
    assert main(["evaluate", str(folder / "honest.csv")]) == 3
    assert capsys.readouterr().err.startswith("kernelcal: out of memory: fewer draws or features")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--memory", "9" * 400), ("--features", "9" * 5000), ("--draws", "9" * 5000), ("--seed", "9" * 5000)],
)
def test_numbers_without_end_are_wrong_use(capsys, folder, option, value):
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", str(folder / "honest.csv"), option, value])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {option}: expected" in said
    assert len(said) < 3_000


def test_more_draws_than_can_be_made_are_refused_at_once(capsys, folder):
    assert main(["evaluate", str(folder / "honest.csv"), "--draws", "9" * 20, "--all-draws"]) == 2
    assert "draws must be at most" in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_fault(folder):
    done = subprocess.run(
        f"{sys.executable} -m kernelcal evaluate honest.csv --draws 99 | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.fixture
def takes_interrupts():
    """A shell ignores interrupts in what runs behind `&`, and children do as their parent: what it handles, they take.

    Not `preexec_fn`: it forks, which warns where a library has threads.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("after", [0.15, 0.4, pytest.param(0.8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: Path(way[-1]).name)
def test_an_interrupt_in_the_first_second(folder, way, after, takes_interrupts):
    """As soon as its first module has run; on a slow or busy machine Python itself may take longer to begin."""
    many = ["evaluate", "bold.csv", "--draws", "90000000", "--all-draws"]
    for seconds in (after * 2**longer for longer in range(6)):
        running = subprocess.Popen([*way, *many], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        try:
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
        lines = (line for line in said.splitlines() if f"{Path(kernelcal.__file__).parent}{os.sep}" in line)
        begun = any("__init__.py" not in line and "starting.py" not in line for line in lines)
        if running.returncode == 130 or begun:
            break
    assert (running.returncode, said) == (130, "kernelcal: interrupted\n")


def test_only_the_command_takes_interrupts(takes_interrupts):
    assert is_command(["/usr/bin/kernelcal"], ["python", "/usr/bin/kernelcal", "evaluate"])
    assert is_command(["-m"], ["python", "-m", "kernelcal", "evaluate"])
    assert not is_command(["train.py"], ["python", "train.py"])
    assert not is_command(["/usr/bin/kernelcal"], ["python", "-c", "from multiprocessing.spawn import spawn_main"])
    code = "import signal, kernelcal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n"


@pytest.mark.slow
def test_closed_outputs_change_no_status(folder):
    for closed, status in ((">&-", 0), ("2>&-", 0)):
        line = f"{sys.executable} -m kernelcal evaluate honest.csv --draws 99 {closed}"
        assert subprocess.run(line, shell=True, cwd=folder, capture_output=True).returncode == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("no\x1b]0;T\x07.csv", None),
        ("a.csv", "x\x1b]0;T\x07"),
        pytest.param("a.csv", "x\u202etac", marks=pytest.mark.slow),
        ("b\udcff.csv", None),
    ],
)
def test_names_do_not_command_the_terminal(folder, name, label):
    if label is not None:
        (folder / name).write_text(f"p_a,p_b,l\n0.5,0.5,{label}\n0.5,0.5,b\n0.4,0.6,b\n")
    done = ends(folder, "evaluate", os.fsencode(name), "--predictions", "p_a,p_b", "--target", "l", text=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 2
    assert not set(said) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b]0;T\\x07" in said or "\\u202e" in said or "\\udcff" in said


@pytest.mark.slow
def test_what_was_typed_is_printed_in_full_but_harmless(capsys, folder):
    assert main(["evaluate", str(folder / "honest.csv"), "--lens", "x\x1b[31m"]) == 2
    assert "unknown lens 'x\\x1b[31m'" in capsys.readouterr().err
    assert "\\x1b[31m" in ends(folder, "evaluate", "honest.csv", "--nonsense\x1b[31m").stderr


def test_an_error_names_the_files_once():
    files = [Path("a.npy"), Path("b.npy")]
    assert naming(ValueError("row 3\nis empty"), files) == "a.npy and b.npy: row 3 is empty"
    assert naming(ValueError("b.npy is empty"), files) == "b.npy is empty"
    assert naming(ValueError("map.json is empty"), files, [Path("map.json")]) == "map.json is empty"
    assert naming(MemoryError(), files[:1]) == "a.npy: MemoryError"


def three_classes(path, n=40):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], n)
    lines = [",".join(map(str, [k % 3, k // 4, *row])) for k, row in enumerate(p)]
    path.write_text("\n".join(["y,block,p_0,p_1,p_2", *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["measure", "--measures", "slope"], "ask one question, --lens class:NAME or --lens top-label"),
        (["evaluate", "--lens", "class-wise"], "this takes one question, --lens top-label or --lens class:NAME"),
        (["measure", "--lens", "class-wise-joint"], "asks a question of every class, which kernelcal test answers"),
        (["test", "--lens", "class-wise", "--given", "block"], "given takes one question: use --lens class:NAME or no"),
        (
            ["test", "--statistic", "skce", "--null", "cme"],
            "is the law of --statistic ucme, not of SKCE: pass --statistic ucme, or use --null exact",
        ),
    ],
)
def test_what_python_would_do_is_said_as_options(command, words, tmp_path, capsys):
    place = three_classes(tmp_path / "a.csv")
    assert main([command[0], place, *command[1:], "--draws", "19"]) == 2
    said = capsys.readouterr().err
    assert words in said
    for python in ("lens=", "kernelcal.", "null=", "OneClass", "TopLabel", "ClassWise"):
        assert python not in said.replace("kernelcal.cli", "")


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        (
            "are these logits? Wrap them: kernelcal.Logits(x) (command line: --kind logits)",
            "are these logits? Say --kind logits",
        ),
        ("pass lens=kernelcal.TopLabel() (command line: --lens top-label)", "say --lens top-label"),
        ("use draws=1,999, or ClassWise(joint='full')", "use --draws 1999, or --lens class-wise-joint"),
        ("use null='flips'", "use --null flips"),
        ("clusters= says that rows", "--clusters says that rows"),
        ("names=(1, 2) and time='x' stay", "names=(1, 2) and time='x' stay"),
    ],
)
def test_words_of_python_and_what_is_typed(python, typed):
    from kernelcal.cli.ending import as_typed

    assert as_typed(python) == typed


@pytest.mark.parametrize("command", ["evaluate", "survival", "recalibrate", "ranks", "monitor", "report", "measure"])
@pytest.mark.parametrize("value", ["-1", "1.5", "none"])
def test_a_seed_that_is_none_is_named_as_it_was_typed(command, value, tmp_path, capsys):
    place = three_classes(tmp_path / "a.csv")
    state = ["--state", str(tmp_path / "s.npz")] if command == "monitor" else []
    with pytest.raises(SystemExit) as ended:
        main([command, place, *state, "--seed", value])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"argument --seed: expected a whole number from 0, got '{value}'" in said
    assert "rng" not in said


def test_what_to_type_begins_a_sentence_where_python_did(tmp_path, capsys):
    """No half of the cure for Python is left before the option: every "Wrap ... kernelcal.X(x)" of the messages."""
    path = tmp_path / "scores.csv"
    path.write_text("y,p0,p1\n" + "0,2.5,-4.7\n1,-1.0,3.0\n" * 5)
    assert main(["evaluate", str(path)]) == 2
    said = capsys.readouterr().err
    assert "are these logits (scores before the softmax)? Say --kind logits" in said
    source = Path(kernelcal.__file__).parent
    messages = " ".join(re.sub(r'"\s*f?"', "", file.read_text()) for file in source.rglob("*.py"))
    cures = re.findall(r"[Ww]rap [^\"?.]{0,20}kernelcal\.\w+\(x\)\s*\(command line: --kind [\w-]+\)", messages)
    assert len(cures) >= 6
    for cure in cures:
        assert re.fullmatch(r"[Ss]ay --kind [\w-]+", as_typed(cure)), cure
