"""PIL reads the pictures that write_files made: their pixels are decoded, checksums hold, nothing is
missing or left over; ids stand where the formats say; files have exactly their size.

check_pictures.py WRITE_FILES"""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    from PIL import Image
except ImportError:
    # The python3 found first may be one without Debian's PIL.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B"] + sys.argv)
    print("PIL is not installed")
    sys.exit(77)


def png(data):
    """(id, pixels) by its chunks, in the standard's own words: every CRC, deflate's and zlib's sums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, stream, mark = 8, [], b"", None
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        crc, = struct.unpack_from(">I", data, at + 8 + length)
        assert crc == zlib.crc32(kind + body), f"CRC of {kind} at {at}"
        stream += body if kind == b"IDAT" else b""
        mark = body if kind == b"haUl" else mark
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", body)
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
        at += 12 + length
    assert at == len(data) and kinds == [b"IHDR", b"haUl", b"IDAT", b"IEND"], kinds
    inflate = zlib.decompressobj()
    rows = inflate.decompress(stream)
    assert inflate.eof and not inflate.unused_data and len(rows) == height * (1 + 3 * width)
    assert not any(rows[::1 + 3 * width]), "filters"
    return struct.unpack_from("<Q", mark)[0], b"".join(
        rows[y * (1 + 3 * width) + 1:(y + 1) * (1 + 3 * width)] for y in range(height))


def jpeg(data):
    """The id, by walking the segments up to the scan, and the scan's markers."""
    assert data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9"
    at, mark, lines = 2, None, 0
    while data[at + 1] != 0xDA:
        assert data[at] == 0xFF, at
        length, = struct.unpack_from(">H", data, at + 2)
        if data[at + 1] == 0xFE:
            mark = data[at + 4:at + 2 + length]
        if data[at + 1] == 0xC0:
            lines, = struct.unpack_from(">H", data, at + 5)
        at += 2 + length
    scan = data[at + 10:-2]
    markers = [scan[i + 1] for i in range(len(scan)) if scan[i] == 0xFF]
    assert markers == [0xD0 + i % 8 for i in range(lines // 8 - 1)], "markers"
    return struct.unpack_from("<Q", mark)[0]


def check(path, form, size):
    with open(path, "rb") as stream:
        data = stream.read()
    assert len(data) == size, len(data)
    with Image.open(path) as picture:
        assert picture.format == form.upper(), picture.format
        picture.load()
        pixels = picture.tobytes()
    if form == "png":
        mark, mine = png(data)
        assert picture.mode == "RGB" and pixels == mine, "pixels"
    else:
        mark = jpeg(data)
        assert picture.mode == "L"
        # Cut short it must not decode: all of the scan is in use.
        with open(path, "wb") as stream:
            stream.write(data[:-66])
        try:
            Image.open(path).load()
            sys.exit(f"{path}: decodes without its last block")
        except OSError:
            pass
    assert mark == 1000, mark
    assert len(zlib.compress(data, 1)) >= 0.98 * size - 200, "compresses"


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    count = {"png": 0, "jpeg": 0}
    for name in sorted(os.listdir(folder)):
        form, samples, size = name.split(".")[0].split("-")
        if form not in count:
            continue
        assert samples == "1", name
        try:
            check(os.path.join(folder, name), form, int(size))
        except Exception as e:
            sys.exit(f"{name}: {type(e).__name__}: {e}")
        count[form] += 1
    assert min(count.values()) > 10, count
    print(f"{count} read by PIL")
