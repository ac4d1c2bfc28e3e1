# SPDX-License-Identifier: Apache-2.0
"""haul compare on results files on disk, whose repeats are drawn from known distributions with fixed seeds: how often equal sides
are said to differ, how often a difference of 10 % is found, with a variation of 3 % and five repeats, and what becomes of a drift
of 10 %.

compare_files.py JUDGE_FILES; HAUL is the program. The files are one that haul wrote, with other bytes, samples, seconds and times
of beginning in the attributes of its phases. With HAUL_TEST_FULL there are 400 trials of each kind."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

import h5py

HAUL, MPIEXEC = os.environ["HAUL"], os.environ["HAUL_MPIEXEC"]
FULL = bool(os.environ.get("HAUL_TEST_FULL"))
TRIALS, REPEATS = 400 if FULL else 20, 5
# Of 400 trials 20 are expected to be wrong, and 33 are 3 standard deviations more; of 20 that is 1 and 4.
WRONG_MOST = 33 if FULL else 4
SAMPLE_BYTES = 1000
JOB = """{"name": "drawn", "seed": 1, "stores": {"data": {"uri": "null://x"}},
"dataset": {"store": "data", "format": "raw", "files": 4000, "sample_bytes": 1000},
"phases": [{"train": {"null_steps": 0, "warmup_steps": 0, "batch": 1, "compute": "1 us", "loader": {"workers": 1}}}]}"""


def made(folder):
    """A file of two combinations with five repeats each, with its phases in the file itself."""
    with open(f"{folder}/job.json", "w") as f:
        f.write(JOB)
    words = ["run", "job.json", "--sweep", "train.epochs=1,2", "--repeat", str(REPEATS), "--quiet"]
    subprocess.run([MPIEXEC, "-n", "1", HAUL, *words], cwd=folder, check=True, timeout=300, stdin=subprocess.DEVNULL)
    path, drawn = f"{folder}/results.h5", f"{folder}/drawn.h5"
    shutil.copy(path, drawn)
    with h5py.File(path, "r") as f, h5py.File(drawn, "r+") as whole:
        for name in f["phases"]:
            del whole["phases"][name]
            f.copy(f["phases"][name], whole["phases"], name)
    return drawn


def draw(path, seed, in_turn, faster=1, cv=0.03, drift=1):
    """Writes the repeats of a trial: the first combination is faster by a factor, and the last repeat of all than the first by
    another one."""
    numbers = random.Random(seed)
    with h5py.File(path, "r+") as f:
        for phase in f["phases"].values():
            side, repeat = int(phase.attrs["combination"]) - 1, int(phase.attrs["repeat"]) - 1
            at = 2 * repeat + side if in_turn else REPEATS * side + repeat
            rate = 1e9 * (1 if side else faster) * (1 + cv * numbers.gauss(0, 1)) * (1 + (drift - 1) * at / (2 * REPEATS - 1))
            phase.attrs.modify("bytes_read", round(rate))
            phase.attrs.modify("samples", round(rate / SAMPLE_BYTES))
            phase.attrs.modify("samples_per_second", rate / SAMPLE_BYTES)
            phase.attrs.modify("bytes_written", 0)
            phase.attrs.modify("bytes_per_second", rate)
            phase.attrs.modify("seconds", 1.0)
            phase.attrs.modify("started", 1_700_000_000_000_000_000 + at * 10_000_000_000)


def verdicts(judge, path, first_seed, in_turn, **drawn):
    """The verdicts of all trials."""
    found = []
    for seed in range(first_seed, first_seed + TRIALS):
        draw(path, seed, in_turn, **drawn)
        judge.stdin.write(path + "\n")
        judge.stdin.flush()
        verdict, paired, judged = map(int, judge.stdout.readline().split())
        assert judged and bool(paired) == in_turn, f"seed {seed}: judged {judged}, in pairs {paired}"
        found.append(verdict)
    return found


def test_verdicts(judge, path):
    for in_turn, drawn in (False, {}), (True, {}), (True, {"drift": 0.9}), (True, {"drift": 0.9, "cv": 0.003}):
        wrong = sum(v != 0 for v in verdicts(judge, path, 1000, in_turn, **drawn))
        print(f"wrong verdicts of {TRIALS} on equal sides, in turn {in_turn}, {drawn}: {wrong}")
        assert wrong <= WRONG_MOST, wrong
    for factor, verdict in (1.1, 1), (1 / 1.1, -1):
        power = verdicts(judge, path, 5000, False, faster=factor).count(verdict)
        print(f"differences of 10 % that are found in {TRIALS}, by the factor {factor:.2f}: {power}")
        assert power >= TRIALS * 95 // 100, power


def compared(path):
    r = subprocess.run([HAUL, "compare", path], text=True, capture_output=True, timeout=300)
    assert r.returncode == 0, r
    return r.stdout


def test_sentences(path):
    """What a person reads of a difference, and of a drift: it is named where the repeats were not taken in turn, and is no
    difference where they were."""
    draw(path, 5000, False, faster=1.3)
    text = compared(path)
    assert "\nA is 1." in text and " times as fast as B (" in text, text
    draw(path, 1000, False, drift=0.9, cv=0.003)
    text = compared(path)
    assert "10 % slower. The interval is widened by this drift, since the repeats were not" in " ".join(text.split()), text
    assert "A and B are not shown to differ: " in text, text
    draw(path, 1000, True, drift=0.9, cv=0.003)
    text = compared(path)
    assert "taken in turn; geometric means" in text and "A and B are not shown to differ: " in text, text


def main(program):
    with tempfile.TemporaryDirectory(prefix="haul-compare-") as folder:
        path = made(folder)
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as judge:
            test_verdicts(judge, path)
            judge.stdin.close()
        test_sentences(path)
    print("ok    verdicts on files of known distributions")


main(*sys.argv[1:])
