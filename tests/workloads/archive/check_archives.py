# SPDX-License-Identifier: Apache-2.0
"""Archives of tensors are read by others than haul: torch's by Python's zipfile and pickle, and by a reader of its records
that is written here; safetensors by JSON and offsets. Names, types, shapes and bytes are compared with the raw archive's.
The pickle of torch is, byte by byte, the one that Python's own pickler makes of the same objects.

check_archives.py WRITE_ARCHIVES"""
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import zipfile
from collections import OrderedDict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
from written import need, stream  # noqa: E402

numpy, = need("numpy")
CASES = ("none", "one", "thousand", "many", "few_bytes", "no_bytes", "types", "blocks", "huge")
HUGE = 1000003  # larger tensors of the case "huge" are holes
# type: (dtype of safetensors, storage class of torch, dtype of numpy)
TYPES = {
    "fp64": ("F64", "DoubleStorage", "<f8"), "fp32": ("F32", "FloatStorage", "<f4"), "fp16": ("F16", "HalfStorage", "<f2"),
    "bf16": ("BF16", "BFloat16Storage", "<u2"), "fp8": ("F8_E4M3", "UntypedStorage", "u1"), "int8": ("I8", "CharStorage", "i1"),
    "uint8": ("U8", "ByteStorage", "u1"), "int4": ("U8", "ByteStorage", "u1"),
}
BLOCK = 65536


class Tensor:
    """A tensor as haul listed it; int4 as it is stored, two numbers in a byte."""

    def __init__(self, number, line):
        self.name, self.type, size, shape = line.rstrip("\n").split("\t")
        self.number, self.bytes, self.shape = number, int(size), [int(n) for n in shape.split()]
        if self.type == "int4":
            even = self.shape and self.shape[-1] % 2 == 0
            self.shape = self.shape[:-1] + [self.shape[-1] // 2] if even else [self.bytes]
        self.elements = 1
        for n in self.shape:
            self.elements *= n
        self.dtype, self.storage, self.numpy = TYPES[self.type]
        assert self.elements * numpy.dtype(self.numpy).itemsize == self.bytes, line

    def strides(self):
        out, step = [], 1
        for n in reversed(self.shape):
            out.insert(0, step)
            step *= max(n, 1)
        return out

    # What torch's tensors tell a pickler about themselves.
    def __reduce_ex__(self, protocol):
        new = self.type == "fp8"
        args = (Storage(self), 0, tuple(self.shape), tuple(self.strides()), False, OrderedDict())
        if new:
            return TORCH["_utils"]._rebuild_tensor_v3, args + (TORCH["torch"].float8_e4m3fn,)
        return TORCH["_utils"]._rebuild_tensor_v2, args


class Storage:
    def __init__(self, tensor):
        self.tensor = tensor


class Float8:
    __module__ = "torch"

    def __reduce__(self):
        return "float8_e4m3fn"


def module(name, **members):
    out = types.ModuleType(name)
    for key, member in members.items():
        if isinstance(member, (type, types.FunctionType)):
            member.__module__, member.__qualname__ = name, key
        setattr(out, key, member)
    sys.modules[name] = out
    return out


def rebuild(count):
    def function(storage, offset, shape, strides, grad, hooks, dtype=None):
        assert offset == 0 and grad is False and hooks == OrderedDict() and (dtype is None) == (count == 6)
        return storage, list(shape), list(strides), dtype
    return function


def storage_class(name):
    return type(name, (), {})


# Stands for torch, which is not installed here.
TORCH = {
    "torch": module("torch", float8_e4m3fn=Float8(), **{s: storage_class(s) for _, s, _ in TYPES.values() if s != "UntypedStorage"}),
    "_utils": module("torch._utils", _rebuild_tensor_v2=rebuild(6), _rebuild_tensor_v3=rebuild(7)),
    "storage": module("torch.storage", UntypedStorage=storage_class("UntypedStorage")),
}


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        t = value.tensor
        untyped = t.storage == "UntypedStorage"
        where = TORCH["storage" if untyped else "torch"]
        return ("storage", getattr(where, t.storage), str(t.number), "cpu", t.bytes if untyped else t.elements)


def pickled(tensors):
    out = io.BytesIO()
    Pickler(out, 2).dump(OrderedDict((t.name, t) for t in tensors))
    return out.getvalue()


class Unpickler(pickle.Unpickler):
    KNOWN = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
             "torch.float8_e4m3fn", "torch.storage.UntypedStorage"} | {f"torch.{s}" for _, s, _ in TYPES.values()}

    def find_class(self, where, name):
        assert f"{where}.{name}" in self.KNOWN, (where, name)
        return super().find_class(where, name)

    def persistent_load(self, pid):
        kind, storage, key, location, numbers = pid
        assert kind == "storage" and location == "cpu"
        return storage.__name__, key, numbers


def little(data, at, form):
    return struct.unpack_from("<" + form, data, at)


def check_records(f, archive, size):
    """The file is its records and nothing else: local headers that are padded to 64, data, descriptors, the directory."""
    at = 0
    for info in archive.infolist():
        assert info.header_offset == at and info.compress_type == zipfile.ZIP_STORED and info.date_time[:3] == (1980, 0, 0)
        f.seek(at)
        head = f.read(30 + 400)
        signature, _, flags, method, _, _, crc, packed, plain, name, extra = little(head, 0, "IHHHHHIIIHH")
        assert signature == 0x04034B50 and method == 0 and (crc, packed, plain) == (0, 0, 0)
        assert flags == (0x808 if info.file_size else 0x800) == info.flag_bits, (info, flags)
        assert head[30:30 + name].decode() == info.filename
        field = head[30 + name:30 + name + extra]
        numbers = (2 if info.file_size >= 0xFFFFFFFF else 0) + (1 if at >= 0xFFFFFFFF else 0)
        if numbers:  # zip64
            want = [info.file_size] * (2 if info.file_size >= 0xFFFFFFFF else 0) + [at]
            assert field[:4] == struct.pack("<HH", 1, 8 * numbers), field
            assert little(field, 4, f"{numbers}Q") == tuple(want[:numbers]), field
            field = field[4 + 8 * numbers:]
        assert field[:2] == b"FB" and little(field, 2, "H") == (len(field) - 4,) and set(field[4:]) <= {ord("Z")}, field
        data = at + 30 + name + extra
        assert data % 64 == 0
        at = data + info.file_size
        if info.file_size:
            f.seek(at)
            sizes = "QQ" if numbers else "II"
            descriptor = struct.pack("<II" + sizes, 0x08074B50, info.CRC, info.file_size, info.file_size)
            assert f.read(len(descriptor)) == descriptor, info
            at += len(descriptor)
    assert at == archive.start_dir
    f.seek(at)
    directory = f.read()
    end = len(directory) - 98  # record, locator and end
    assert little(directory, end, "IQ") == (0x06064B50, 44)
    assert little(directory, end + 32, "QQQ") == (len(archive.infolist()), end, at)
    assert little(directory, end + 56, "IIQI") == (0x07064B50, 0, at + end, 1)
    assert little(directory, end + 76, "I") == (0x06054B50,) and at + len(directory) == size


def check_same_but_checksum(name, have, want):
    """Torch's bytes are the raw archive's, but for four in each block of 64 KiB."""
    a, b = numpy.frombuffer(have, "u1"), numpy.frombuffer(want, "u1")
    assert len(a) == len(b), name
    assert int((a != b).sum()) <= 4 * (len(a) // BLOCK + 1), name


def check_torch(path, tensors, raw):
    with open(path, "rb") as f, zipfile.ZipFile(f) as archive:
        names = ["data.pkl", "byteorder"] + [f"data/{t.number}" for t in tensors] + ["version"]
        assert archive.namelist() == ["archive/" + n for n in names]
        checksums = [archive.getinfo(f"archive/data/{t.number}").CRC for t in tensors if t.bytes >= 4]
        assert len(set(checksums)) == len(checksums)
        assert archive.read("archive/byteorder") == b"little" and archive.read("archive/version") == b"3\n"
        text = archive.read("archive/data.pkl")
        assert text == pickled(tensors)
        found = Unpickler(io.BytesIO(text)).load()
        assert type(found) is OrderedDict and list(found) == [t.name for t in tensors]
        for t in tensors:
            (storage, key, numbers), shape, strides, dtype = found[t.name]
            assert (storage, key, shape, strides) == (t.storage, str(t.number), t.shape, t.strides())
            assert numbers == (t.bytes if dtype else t.elements) and (dtype is not None) == (t.type == "fp8")
            assert archive.getinfo(f"archive/data/{key}").file_size == t.bytes
            if raw.has(t):
                data = archive.read(f"archive/data/{key}")
                array = numpy.frombuffer(data, t.numpy).reshape(shape)
                check_same_but_checksum(t.name, array.tobytes(), raw.bytes(t))
        if all(raw.has(t) for t in tensors):
            assert archive.testzip() is None
        check_records(f, archive, os.path.getsize(path))


def no_doubles(pairs):
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def check_safetensors(path, tensors, raw):
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        text = f.read(n)
        assert n % 8 == 0 and n <= 100_000_000 and text[:1] == b"{"
        header = json.loads(text.decode("utf-8"), object_pairs_hook=no_doubles)
        assert header.pop("__metadata__") == {"format": "pt"}
        assert list(header) == [t.name for t in tensors]
        at = 0
        for t in tensors:
            assert header[t.name] == {"dtype": t.dtype, "shape": t.shape, "data_offsets": [at, at + t.bytes]}, t.name
            if raw.has(t):
                f.seek(8 + n + at)
                assert f.read(t.bytes) == raw.bytes(t), t.name
            at += t.bytes
        assert 8 + n + at == os.path.getsize(path)


class Raw:
    """The raw archive: the tensors, one behind the other. Its bytes are computed here a second time."""

    def __init__(self, path, tensors, case):
        self.path, self.huge, self.at = path, case == "huge", {}
        at = 0
        for t in tensors:
            self.at[t.number] = at
            at += t.bytes
        assert os.path.getsize(path) == at, (path, at)
        for t in tensors:
            if self.has(t):
                assert self.bytes(t) == stream(CASES.index(case), self.at[t.number], t.bytes).tobytes(), (path, t.name)

    def has(self, t):
        return not self.huge or t.bytes <= HUGE

    def bytes(self, t):
        with open(self.path, "rb") as f:
            f.seek(self.at[t.number])
            return f.read(t.bytes)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        assert {n.split(".")[0] for n in os.listdir(folder)} == set(CASES)
        for case in CASES:
            path = os.path.join(folder, case)
            with open(path + ".tensors", encoding="utf-8") as f:
                tensors = [Tensor(i, line) for i, line in enumerate(f)]
            try:
                raw = Raw(path + ".raw", tensors, case)
                check_safetensors(path + ".safetensors", tensors, raw)
                check_torch(path + ".torch", tensors, raw)
            except Exception:
                print(case)
                raise
        print(f"{len(CASES)} archives of each kind read")


main()
