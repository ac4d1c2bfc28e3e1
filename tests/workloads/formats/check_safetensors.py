# SPDX-License-Identifier: Apache-2.0
"""Files of safetensors: a reader written here by the format's rules reads the files that write_files made. The header is one
JSON object that starts with '{', offsets leave no holes and do not overlap, and every byte of every tensor is right.

check_safetensors.py WRITE_FILES"""
import json
import struct

from written import each_file, numbers, payload


def no_doubles(pairs):
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def check(path):
    samples, size = numbers(path)
    want = payload(samples, size)
    with open(path, "rb") as f:
        data = f.read()
    (n,) = struct.unpack("<Q", data[:8])
    assert n % 8 == 0 and n <= 100_000_000 and data[8:9] == b"{"
    header = json.loads(data[8:8 + n].decode("utf-8"), object_pairs_hook=no_doubles)
    assert header.pop("__metadata__") == {"format": "haul"}
    assert len(header) == samples, len(header)
    tensors = data[8 + n:]
    at = 0
    for i, (name, tensor) in enumerate(header.items()):
        assert name.startswith("sample.") and int(name[7:]) == i, name
        assert set(tensor) == {"dtype", "shape", "data_offsets"}
        assert tensor["dtype"] == "U8" and tensor["shape"] == [size], tensor
        begin, end = tensor["data_offsets"]
        assert begin == at and end == at + size, tensor
        assert tensors[begin:end] == want[i].tobytes(), i
        at = end
    assert at == len(tensors), (at, len(tensors))


each_file(check, "safetensors", 100)
