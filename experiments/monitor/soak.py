"""A soak of what is kept in files: a monitor and a one-pass sketch, killed at random and with damaged files.

    python experiments/monitor/soak.py                # 10,000,000 rows of each: 20 minutes on one core
    python experiments/monitor/soak.py --rows 4000 --days 8 --stretches 4 --kills 4     # some seconds

A monitor takes days of rows in, in stretches by a loop in Python and by `kernelcal monitor` in turn, on one state file.
Processes are killed (SIGKILL) at random moments, half of them as soon as they begin to write. After every stretch the
state is damaged: emptied, cut off, a bit flipped, written as another version, replaced by a sketch, by the state of
another stream, by one that is old. What is damaged must be refused with a cure, which is then followed. At the end the
file must be that of an undisturbed run, byte for byte.

Sketches of days, a file each, are made in the same way, by Python and `kernelcal evaluate --save` in turn, and added up
by `kernelcal merge`. Damaged and doubled files must be refused; the sums must be those of one undisturbed sketch, to
the last bit.

The exit status is 1 where anything was lost, counted twice, or accepted that was damaged. POSIX only: processes fork.
Writes docs/tables/soak_*.csv, one for each.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # processes fork

import numpy as np

import kernelcal as kc
from kernelcal.cli import main as main_of_the_command

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

FORK = multiprocessing.get_context("fork")
DAMAGES = ("emptied", "cut off", "a bit flipped", "another version", "a sketch", "of another stream", "an old one")


def day(stream, k, rows):
    """Outcomes and calibrated predictions of a day, with six decimals, which a table keeps to the last bit."""
    rng = np.random.default_rng([41, stream, k])
    p = rng.beta(0.8, 1.4, rows).round(6)
    return (rng.random(rows) < p).astype(int), p


def name_of(k):
    """Key of a day, the name of its table."""
    return f"day{k:05d}.csv"


class Soak:
    """A folder, random moments, and what was done in it."""

    def __init__(self, folder, days, rows, rng):
        self.folder, self.days, self.rows, self.rng = Path(folder), days, rows, rng
        self.lasted = {}  # seconds that a task took which was left alone, by its name: kills come within
        self.done = dict.fromkeys(("kills", "kills while writing", "starts", "damaged files", "refused"), 0)

    def tables(self, first, last):
        """Tables of days first to last - 1; others are taken away."""
        wanted = {name_of(k): k for k in range(max(first, 0), last)}
        for path in self.folder.glob("day*.csv"):
            if path.name not in wanted:
                path.unlink()
        for name, k in wanted.items():
            if not (self.folder / name).exists():
                y, p = day(0, k, self.rows)
                lines = "\n".join(f"{a},{b:.6f}" for a, b in zip(y.tolist(), p.tolist(), strict=True))
                (self.folder / name).write_text(f"y,p\n{lines}\n")
        return sorted(wanted)

    def killed(self, name, start, watched):
        """Begin a process and kill it, at any moment or while it writes; tell whether it was faster."""
        while_writing = self.rng.random() < 0.5
        process = start()
        self.done["starts"] += 1
        end = time.monotonic() + self.rng.uniform(0, self.lasted.get(name, 5.0))
        while process.is_alive() and (while_writing or time.monotonic() < end):
            if while_writing and any(watched.glob(".kernelcal.*.part")):
                time.sleep(self.rng.choice([0.0, 0.001, 0.003]))
                break
            time.sleep(0.0002 if while_writing else 0.002)
        if not process.is_alive():
            return True
        os.kill(process.pid, signal.SIGKILL)
        status = ended(process)
        self.done["kills"] += status == -signal.SIGKILL
        self.done["kills while writing"] += status == -signal.SIGKILL and any(watched.glob(".kernelcal.*.part"))
        return status != -signal.SIGKILL

    def through(self, name, start, kills, watched):
        """Kill so many processes of one task, then let one come to its end; its exit status."""
        for _ in range(kills):
            self.killed(name, start, watched)
        began, process = time.monotonic(), start()
        self.done["starts"] += 1
        status = ended(process)
        self.lasted[name] = time.monotonic() - began
        return status


def ended(process):
    """Wait for its end; the exit status, negative for a signal."""
    process.join()
    return process.exitcode


def forked(task, *arguments):
    """A process with what this one has imported: a new interpreter for each would be most of the time."""
    process = FORK.Process(target=task, args=arguments)
    process.start()
    return process


def command(folder, *words):
    """The command as people type it, in a process of its own."""
    return forked(typed, folder, words)


def typed(folder, words):
    """Run the command in a folder, with what it prints in a file."""
    os.chdir(folder)
    with open("said.txt", "w") as told:
        sys.stdout = sys.stderr = told
        status = main_of_the_command(list(words))
    os._exit(status)  # at once: nothing of the parent is to be flushed or taken away twice


def said(folder):
    """What the last command printed."""
    return (folder / "said.txt").read_text()


def take(state, stream, last, rows):
    """The loop that people write: what the state has not taken yet, in the order of time."""
    monitor = kc.Monitor.load(state) if state.exists() else kc.Monitor()
    for k in range(last):
        if name_of(k) not in monitor.keys:
            monitor.update(*day(stream, k, rows), key=name_of(k)).save(state, backup=True)


def hurt(path, damage, rng, others):
    """Damage a file."""
    text = path.read_bytes()
    if damage == "emptied":
        path.write_bytes(b"")
    elif damage == "cut off":
        path.write_bytes(text[: rng.integers(1, len(text))])
    elif damage == "a bit flipped":  # in numbers, most of the file
        at = int(rng.integers(len(text) // 4, len(text) // 2))
        path.write_bytes(text[:at] + bytes([text[at] ^ (1 << rng.integers(8))]) + text[at + 1 :])
    elif damage == "another version":
        with np.load(path) as file:
            arrays = dict(file)
        head = json.loads(str(arrays.pop("settings")))
        np.savez(path, settings=np.array(json.dumps({**head, "version": head["version"] - 1})), **arrays)
    else:
        path.write_bytes(others[damage].read_bytes())


def soak_monitor(soak, stretches, kills):
    """Days through one state; tell what differs from an undisturbed run."""
    folder, wrong = soak.folder, []
    state, whole, other, sketch = (folder / f"{name}.npz" for name in ("state", "whole", "other", "sketch"))
    take(other, 1, 2, soak.rows)
    kc.Sketch.like(day(0, 0, 100)[1]).save(sketch)
    own = folder / "own"  # the state has a folder of its own, in which kills are watched
    own.mkdir()
    state, old = own / "state.npz", folder / "old.npz"
    edges = np.linspace(0, soak.days, stretches + 1).astype(int).tolist()
    for at, last in enumerate(edges[1:]):
        if state.exists():
            old.write_bytes(state.read_bytes())
        if at % 2:
            files = soak.tables(kc.Monitor.load(state).rows // soak.rows - 1, last)  # one that was taken, and the rest
            words = ["monitor", *files, "--target", "y", "--state", str(state), "--fail-on", "none"]
            status = soak.through("monitor", lambda words=words: command(folder, *words), kills, own)
        else:
            status = soak.through("loop", lambda last=last: forked(take, state, 0, last, soak.rows), kills, own)
        if status:
            wrong.append(f"stretch {at}: status {status}, {said(folder)}")
        damage = DAMAGES[at % len(DAMAGES)] if at else "emptied"
        wrong += damaged_state(soak, state, damage, {"a sketch": sketch, "of another stream": other, "an old one": old})
        if last < soak.days:
            continue
        soak.through("loop", lambda: forked(take, state, 0, soak.days, soak.rows), 0, own)  # what the last damage took
    take(whole, 0, soak.days, soak.rows)
    if state.read_bytes() != whole.read_bytes():
        wrong.append("the state is another one than that of an undisturbed run")
    left = sorted({path.name for path in own.iterdir()} - {"state.npz", "state.npz.before"})
    found = kc.Monitor.load(state)
    if left or found.rows != soak.days * soak.rows or len(found.keys) != soak.days:
        wrong.append(f"{found.rows} rows of {len(found.keys)} days, left over: {left}")
    return wrong, found.verdict


def damaged_state(soak, state, damage, others):
    """Damage the state, see it refused and nothing written, and do what the message says."""
    last = kc.Monitor.load(state).rows // soak.rows
    first = 0 if damage == "of another stream" else last - 1  # which is known by days of the same names
    file = soak.tables(first, first + 1)[0]
    hurt(state, damage, soak.rng, others)
    soak.done["damaged files"] += 1
    text, words = state.read_bytes(), ["monitor", file, "--target", "y", "--state", str(state), "--fail-on", "none"]
    status = ended(command(soak.folder, *words))
    if damage == "an old one":  # a whole state: days since are taken again, in the order of time
        state.write_bytes(text)
        return [] if status == 0 else [f"{damage}: {said(soak.folder)}"]
    told = said(soak.folder)
    soak.done["refused"] += status == 2
    cured = "with other rows" in told if damage == "of another stream" else f"copy it to {state}" in told
    right = status == 2 and cured and state.read_bytes() == text
    state.write_bytes(Path(f"{state}.before").read_bytes())
    return [] if right else [f"{damage}: status {status}, {told}"]


def sum_up(folder, start, last, rows):
    """A file of sums for every day that has none."""
    empty = kc.Sketch.load(start)
    for k in range(last):
        part = folder / f"part{k:05d}.npz"
        if not part.exists():
            y, p = day(0, k, rows)
            empty.empty().update(y, p, first_row=k * rows).save(part)


def soak_sketch(soak, stretches, kills):
    """Days in files of sums, and their total; tell what differs from one sketch of all."""
    folder, parts, total, wrong = soak.folder, soak.folder / "parts", soak.folder / "total.npz", []
    parts.mkdir()
    start = folder / "start.npz"
    kc.Sketch.like(day(0, 0, 1000)[1], engine=kc.RandomFourier(64)).save(start)
    edges = np.linspace(0, soak.days, stretches + 1).astype(int).tolist()
    for at, (first, last) in enumerate(itertools.pairwise(edges)):
        if at % 2:
            for k, name in zip(range(first, last), soak.tables(first, last), strict=True):
                part = parts / f"part{k:05d}.npz"
                words = ["evaluate", name, "--target", "y", "--save", str(part), "--like", str(start)]
                words += ["--first-row", str(k * soak.rows)]
                each = kills // (last - first) + (k - first < kills % (last - first))
                status = soak.through("evaluate", lambda words=words: command(folder, *words), each, parts)
                if status:
                    wrong.append(f"day {k}: status {status}, {said(folder)}")
        else:
            soak.through("loop", lambda last=last: forked(sum_up, parts, start, last, soak.rows), kills, parts)
        wrong += damaged_part(soak, parts, DAMAGES[at % 5], at)
    sum_up(parts, start, soak.days, soak.rows)
    names = sorted(str(path) for path in parts.glob("part*.npz"))
    words = ["merge", *names, "-o", str(total)]
    if soak.through("merge", lambda: command(folder, *words), kills, folder):
        wrong.append(said(folder))
    if ended(command(folder, "merge", *names, names[0])) != 2 or "twice" not in said(folder):
        wrong.append(f"a day twice: {said(folder)}")
    whole = kc.Sketch.load(start).empty()
    for k in range(soak.days):
        y, p = day(0, k, soak.rows)
        whole.update(y, p)
    found = kc.Sketch.load(total)
    if found.to_bytes() != whole.to_bytes():
        wrong.append("the sum is another one than that of an undisturbed sketch")
    return wrong, f"{found.n:,} rows, p-value {found.result().pvalue}"


def damaged_part(soak, parts, damage, at):
    """Damage a file of sums, see it refused by name, and make it again."""
    part = soak.rng.choice(sorted(parts.glob("part*.npz")))
    other = soak.folder / "monitor.npz"
    kc.Monitor().update(*day(0, 0, 50)).save(other)
    hurt(part, damage, soak.rng, {"a sketch": other})  # of a sketch the other kind of file is a monitor
    soak.done["damaged files"] += 1
    status = ended(command(soak.folder, "merge", str(part), "-o", str(soak.folder / "none.npz")))
    refused = status == 2 and part.name in said(soak.folder) and not (soak.folder / "none.npz").exists()
    soak.done["refused"] += refused
    part.unlink()
    return [] if refused else [f"{damage} in stretch {at}: {said(soak.folder)}"]


SOAKS = {"monitor": (soak_monitor, 1000), "sketch": (soak_sketch, 40)}  # days


def soaked(what, rows, days, stretches, kills, seed=0):
    """Run one of both; its line of the table, and what was wrong."""
    with tempfile.TemporaryDirectory() as folder:
        began, busy = time.monotonic(), time.process_time() + sum(os.times()[2:4])
        soak = Soak(folder, days, rows // days, np.random.default_rng([42, seed]))
        wrong, told = SOAKS[what][0](soak, stretches, -(-kills // stretches))
        busy = time.process_time() + sum(os.times()[2:4]) - busy
    line = {"rows": days * (rows // days), "days": days, **soak.done, "wrong": len(wrong)}
    line |= {"minutes": f"{(time.monotonic() - began) / 60:.1f}", "minutes of processor": f"{busy / 60:.1f}"}
    print(f"{what}: {told}", *wrong, line, sep="\n  ", flush=True)
    return line, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each (default: 10,000,000)")
    parser.add_argument("--days", type=int, help="of each (default: 1,000 and 40)")
    parser.add_argument("--stretches", type=int, default=20)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--part", choices=[*SOAKS, "all"], default="all")
    options = parser.parse_args()
    failed = []
    for what in SOAKS if options.part == "all" else [options.part]:
        days = options.days or SOAKS[what][1]
        line, wrong = soaked(what, options.rows, days, min(options.stretches, days), options.kills)
        failed += wrong
        with open(outputs.tables() / f"soak_{what}.csv", "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([line.keys(), line.values()])
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
