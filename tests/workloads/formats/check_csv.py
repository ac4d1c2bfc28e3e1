# SPDX-License-Identifier: Apache-2.0
"""CSV files: Python's csv module reads the files that write_files made, with the right rows, columns, ids and numbers.

check_csv.py WRITE_FILES"""
import csv
import os

from written import each_file, numbers, stream


def check(path):
    samples, size = numbers(path)
    assert os.path.getsize(path) == samples * size
    with open(path, newline="", encoding="ascii") as text:
        rows = list(csv.reader(text))
    assert len(rows) == samples, len(rows)
    columns = (size - 21) // 4
    values = 100 + stream(samples, 0, samples * columns).reshape(samples, columns).astype(int)
    for k, row in enumerate(rows):
        assert int(row[0]) == 1000 * samples + k, row[0]
        assert sum(map(len, row)) + len(row) == size
        assert row[-1][3:] == "0" * ((size - 21) % 4), row[-1]
        assert [int(v[:3]) for v in row[1:]] == values[k].tolist(), k
        assert all(len(v) == 3 for v in row[1:-1])


each_file(check, "csv", 30)
