# SPDX-License-Identifier: Apache-2.0
"""The scripts of bench/ run for a moment, each row once: what they print is no measurement, but a row that fails is an error."""
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD, HAUL = os.environ["HAUL_SOURCE"], sys.argv[1], os.environ["HAUL"]
# The script, its words, and how many rows it prints in all (lines that begin with "| " and a name, without headings).
BENCHES = {
    "run_http.py": ([f"{BUILD}/bench/bench_http", "1", "0.1", "1"], ["--here"], 14),
    "run_file.sh": ([f"{BUILD}/bench/bench_file", "FOLDER", "1"], ["direct-random", "direct-write", "memory-unique"], 9),
    "run_vector.py": ([HAUL, "FOLDER", "1"], ["--seconds", "1"], 3),
    "run_kvcache.py": ([HAUL, "FOLDER", "1"], ["--seconds", "10"], 3),
    "run_checkpoint.py": ([HAUL, "FOLDER", "1"], ["--checkpoints", "2", "--gib", "0.25"], 2),
}


def rows(text):
    """Lines of tables whose second column is a number, or that a script prints without a table."""
    return [line for line in text.splitlines() if re.search(r"(^\| [^|]+\|.*\d)|(^\S.* \d+\.\d+)", line)]


def main():
    wrong = []
    for name, (words, more, least) in BENCHES.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [f"{SOURCE}/bench/{name}", *(folder if word == "FOLDER" else word for word in words), *more]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900)
            found = rows(done.stdout)
            print(f"{name}: exit {done.returncode}, {len(found)} rows", flush=True)
            if done.returncode or len(found) < least or re.search(r"\b(nan|inf)\b", done.stdout):
                wrong.append(f"{name}: exit {done.returncode}, {len(found)} rows of at least {least}\n{done.stdout}{done.stderr}")
    sys.exit("\n".join(wrong) or None)


main()
