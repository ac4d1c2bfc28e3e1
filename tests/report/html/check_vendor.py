# SPDX-License-Identifier: Apache-2.0
"""The library that draws the charts: the files are those of its release, by their SHA-256, its licence is beside them and in
the page, and nothing else lies there."""
import hashlib
import os

SOURCE = os.environ["HAUL_SOURCE"]
FOLDER = os.path.join(SOURCE, "report", "html", "vendor")
# uPlot 1.6.32. A newer release takes the place of these hashes and of SHA256SUMS.
WANTED = {
    "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


found = {name: hashlib.sha256(read(FOLDER, name)).hexdigest() for name in os.listdir(FOLDER) if name != "SHA256SUMS"}
assert found == WANTED, f"{found}"
listed = dict(reversed(line.split()) for line in read(FOLDER, "SHA256SUMS").decode().splitlines())
assert listed == WANTED, f"{listed}"
page = read(SOURCE, "report", "html", "page.html").decode()
for name in WANTED:
    assert f"<!--include vendor/{name}-->" in page, f"{name} is not in the page"
assert b"MIT License" in read(FOLDER, "LICENSE") and b"v1.6.32" in read(FOLDER, "uPlot.iife.min.js")
print("ok    the files of uPlot are those of its release")
