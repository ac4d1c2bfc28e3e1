#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all fuzz targets of a sanitized build in turn until their runs add up, and prints a table of runs and crashes.

    tests/fuzz/many.py --runs 10000000 [--build build/asan] [--seconds 30] [--only NAME …]

Each target gets so many seconds a round, so fast ones make more runs than slow ones. Inputs that reach new code are kept in
<build>/tests/fuzz/found, from which the next round and the next call go on. An input that crashes a target is kept beside it,
and the exit status is 1."""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Target:
    def __init__(self, build, name):
        self.name, self.folder = name, f"{build}/tests/fuzz"
        self.found, self.corpus = f"{self.folder}/found/{name}", f"{SOURCE}/tests/fixtures/fuzz/{name}"
        self.runs = self.seconds = self.crashes = 0

    def part(self, runs, seconds, seed):
        """Makes so many runs at most, for so long at most."""
        os.makedirs(self.found, exist_ok=True)
        began = time.monotonic()
        r = subprocess.run([f"{self.folder}/fuzz_{self.name}", f"-seed={seed}", f"-runs={runs}", f"-max_total_time={seconds}",
                            "-max_len=65536", "-timeout=100", "-rss_limit_mb=4096", "-print_final_stats=1",
                            f"-artifact_prefix={self.folder}/{self.name}-", self.found, self.corpus],
                           capture_output=True, text=True, errors="replace")
        self.seconds += time.monotonic() - began
        made = re.search(r"stat::number_of_executed_units: *(\d+)", r.stderr)
        self.runs += int(made.group(1)) if made else 0
        if r.returncode:
            self.crashes += 1
            print(f"fuzz_{self.name} ends with {r.returncode}:\n{r.stderr[-4000:]}", flush=True)


def table(targets):
    yield f"{'target':20}{'runs':>12}{'runs/s':>9}{'crashes':>9}"
    for t in targets:
        yield f"{t.name:20}{t.runs:12,}{t.runs / max(t.seconds, 1e-9):9,.0f}{t.crashes:9}"
    yield f"{'all':20}{sum(t.runs for t in targets):12,}{'':9}{sum(t.crashes for t in targets):9}"


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("--runs", type=int, default=1000000, help="of all targets together")
    say.add_argument("--build", default=f"{SOURCE}/build/asan")
    say.add_argument("--seconds", type=int, default=30, help="of a target in a round")
    say.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    say.add_argument("--only", nargs="+", help="names of targets")
    args = say.parse_args()
    there = sorted(os.path.basename(p)[5:] for p in glob.glob(f"{args.build}/tests/fuzz/fuzz_*") if os.access(p, os.X_OK))
    targets = [Target(args.build, name) for name in there if not args.only or name in args.only]
    if not targets:
        sys.exit(f"no fuzz targets in {args.build}/tests/fuzz: cmake --preset asan -D HAUL_TESTS=ON -D HAUL_FUZZ_GUIDED=ON")
    print(f"seed {args.seed}", flush=True)
    left, seed = args.runs, args.seed
    while left > 0:
        for t in targets:
            before = t.runs
            if left > 0:
                t.part(left, args.seconds, seed)
            left -= t.runs - before
        seed += 1
        print(*table(targets), sep="\n", flush=True)
        if all(t.runs == 0 for t in targets):
            sys.exit("no target made a run")
    sys.exit(any(t.crashes for t in targets))


if __name__ == "__main__":
    main()
