"""Python's csv reads what write_files made: rows, columns, ids, numbers.

check_csv.py WRITE_FILES"""
import csv
import os
import subprocess
import sys
import tempfile


def check(path):
    _, samples, size = os.path.basename(path).split(".")[0].split("-")
    samples, size = int(samples), int(size)
    assert os.path.getsize(path) == samples * size
    values = set()
    with open(path, newline="", encoding="ascii") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) == samples, len(rows)
    for k, row in enumerate(rows):
        assert int(row[0]) == 1000 * samples + k, row[0]
        assert len(row) == 1 + (size - 21) // 4, len(row)
        assert sum(map(len, row)) + len(row) == size
        numbers = [int(v) for v in row[1:]]
        assert all(100 <= n < 356 for n in numbers[:-1]), "out of range"
        assert row[-1][3:] == "0" * ((size - 21) % 4) and 100 <= int(row[-1][:3]) < 356, row[-1]
        values.update(numbers[:-1])
    assert len(values) == 256 or samples * size < 30000, len(values)
    assert samples < 2 or size < 60 or len({tuple(r[1:]) for r in rows}) == samples, "rows are alike"


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    files = sorted(n for n in os.listdir(folder) if n.endswith(".csv"))
    assert len(files) > 30, files
    for name in files:
        try:
            check(os.path.join(folder, name))
        except Exception as e:
            sys.exit(f"{name}: {type(e).__name__}: {e}")
    print(f"{len(files)} files read")
