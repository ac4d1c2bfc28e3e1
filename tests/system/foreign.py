# SPDX-License-Identifier: Apache-2.0
"""Files of other programs: what their own libraries or writers by the specification make. A set has files of `count` samples of
about `size` bytes each; each writer returns the names of all that it made for a file, the file itself first."""
import json
import os
import struct
import subprocess

import h5py
import numpy
import PIL.Image

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def masked(data):
    """TensorFlow's checksum of a record: CRC-32C, rotated."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data, whole=False):
    """A record of TensorFlow's; haul's count reads the checksum of its length, so the other is only made where it is asked for."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + (masked(data) if whole else bytes(4))


def save(name, *parts):
    with open(name, "wb") as f:
        for part in parts:
            f.write(part)
    return name


def indexes(name, sizes):
    """DLIO's two indexes beside a binary file."""
    begins = [sum(sizes[:i]) for i in range(len(sizes))]
    return [save(name + ".off.idx", struct.pack(f"<{len(sizes)}Q", *begins)),
            save(name + ".sz.idx", struct.pack(f"<{len(sizes)}Q", *sizes))]


def sizes_of(rng, count, size):
    return [size + rng.randrange(size // 4) for _ in range(count)]


def data_of(rng, n):
    return rng.randbytes(n)


def array(rng, count, size):
    return numpy.frombuffer(data_of(rng, count * size), dtype=numpy.uint8).reshape(count, size)


def hdf5(rng, name, count, size):
    """As h5py writes it: by default, or with the latest format; contiguous, or in chunks, compressed or not."""
    with h5py.File(name, "w", libver=rng.choice((None, "latest"))) as f:
        more = rng.choice(({}, {"chunks": (1, size)}, {"chunks": (1, size), "compression": "gzip"}))
        f.create_dataset(rng.choice(("records_0", "records", "images")), data=array(rng, count, size), **more)
        f.create_dataset("labels", data=numpy.zeros(count, dtype=numpy.int64))
    return [name]


def npz(rng, name, count, size):
    numpy.savez(name, x=array(rng, count, size), y=numpy.zeros(count, dtype=numpy.int64))
    return [name]


def npy(rng, name, count, size):
    numpy.save(name, array(rng, count, size).view(rng.choice(("u1", "<f4" if size % 4 == 0 else "u1"))))
    return [name]


def tfrecord(rng, name, count, size, index=None):
    sizes = sizes_of(rng, count, size) if rng.random() < 0.7 else [size] * count
    save(name, *(record(data_of(rng, n), whole=rng.random() < 0.05) for n in sizes))
    if index is False or (index is None and rng.random() < 0.5):
        return [name]
    at, lines = 0, ""
    for n in sizes:
        lines += f"{at} {n + 16}\n"
        at += n + 16
    return [name, save(rng.choice((name + ".idx", name.rpartition(".")[0] + ".idx")), lines.encode())]


def parquet(rng, name, count, size):
    """By DuckDB. Row groups have at least 2,048 rows, so these are of one."""
    rows = array(rng, count, size).tobytes().hex()
    values = ", ".join(f"({i}, '{rows[2 * size * i:2 * size * (i + 1)]}')" for i in range(count))
    code = ("const d = require('module').createRequire(process.env.HAUL_NPM + '/package.json')('@duckdb/node-api');"
            "d.DuckDBInstance.create(':memory:').then(async db => { const c = await db.connect();"
            "await c.run(require('fs').readFileSync(0, 'utf8')); });")
    query = f"COPY (SELECT * FROM (VALUES {values}) t(id, data)) TO '{name}' (FORMAT parquet, COMPRESSION {rng.choice(('snappy', 'zstd', 'uncompressed'))})"
    subprocess.run(["node", "-e", code], input=query, text=True, check=True)
    return [name]


def picture(rng, name, count, size):
    assert count == 1
    side = max(8, int((size / 3) ** 0.5))
    PIL.Image.fromarray(array(rng, side, side * 3).reshape(side, side, 3)).save(name)
    return [name]


def indexed_binary(rng, name, count, size):
    sizes = sizes_of(rng, count, size)
    save(name, data_of(rng, sum(sizes)))
    return [name, *indexes(name, sizes)]


def megatron(rng, name, count, size):
    """A pair as Megatron-LM writes it: tokens, and an index in place of the ending."""
    code, element = rng.choice(((8, 2), (4, 4)))
    lengths = [n // element for n in sizes_of(rng, count, size)]
    begins = [element * sum(lengths[:i]) for i in range(count)]
    save(name, data_of(rng, element * sum(lengths)))
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, count, count + 1)
    index += struct.pack(f"<{count}i", *lengths) + struct.pack(f"<{count}q", *begins)
    index += struct.pack(f"<{count + 1}q", *range(count + 1))
    return [name, save(name.rpartition(".")[0] + ".idx", index)]


def safetensors(rng, name, count, size):
    sizes = sizes_of(rng, count, size)
    header = {"__metadata__": {"format": "pt"}}
    for i, n in enumerate(sizes):
        header[f"layer.{i}.\"weight\""] = {"dtype": "U8", "shape": [n], "data_offsets": [sum(sizes[:i]), sum(sizes[:i + 1])]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    save(name, struct.pack("<Q", len(text)), text, data_of(rng, sum(sizes)))
    return [name]


def csv(rng, name, count, size):
    save(name, *(",".join(str(rng.randrange(256)) for _ in range(size // 4)).encode() + b"\n" for _ in range(count)))
    return [name]


def raw(rng, name, count, size):
    return [save(name, data_of(rng, count * size))]


# What writes files of a format, their ending, the format of the job, whether the files say how many samples they hold.
WRITERS = {
    "hdf5": (hdf5, "h5", "hdf5", True), "npz": (npz, "npz", "npz", True), "npy": (npy, "npy", "npy", True),
    "tfrecord": (tfrecord, "tfrecord", "tfrecord", True), "parquet": (parquet, "parquet", "parquet", True),
    "png": (picture, "png", "png", True), "jpeg": (picture, "jpeg", "jpeg", True),
    "indexed_binary": (indexed_binary, "bin", "indexed_binary", True),
    "mmap_indexed_binary": (indexed_binary, "bin", "mmap_indexed_binary", True),
    "megatron": (megatron, "bin", "indexed_binary", True), "safetensors": (safetensors, "safetensors", "safetensors", True),
    "csv": (csv, "csv", "csv", True), "raw": (raw, "bin", "raw", False), "arrow": (raw, "arrow", "raw", False),
}
SINGLE = ("png", "jpeg")


def with_holes(name):
    """The same file with a part of it never written: the same size, fewer blocks."""
    size, block = os.path.getsize(name), 4096
    first = size // 3 // block * block + block
    last = size // block * block
    with open(name, "rb") as f:
        data = f.read()
    assert last - first >= block, f"{name} is too small for a hole"
    os.unlink(name)
    with open(name, "wb") as f:
        f.write(data[:first])
        f.seek(last)
        f.write(data[last:])
        f.truncate(size)
