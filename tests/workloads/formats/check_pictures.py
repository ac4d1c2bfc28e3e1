# SPDX-License-Identifier: Apache-2.0
"""PNG and JPEG files: PIL decodes the pictures that write_files made. Checksums are right, no byte is missing or left over,
each pixel and each coefficient has its value, ids are where the formats put them, and files have exactly their size.

check_pictures.py WRITE_FILES"""
import os
import struct
import zlib

from written import each_file, need, numbers, stream

Image, numpy = need("PIL.Image", "numpy")


def png(data):
    """Reads the chunks as the standard describes them, checks every checksum, and returns (id, pixels)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, packed, mark = 8, [], b"", None
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        crc, = struct.unpack_from(">I", data, at + 8 + length)
        assert crc == zlib.crc32(kind + body), f"CRC of {kind} at {at}"
        packed += body if kind == b"IDAT" else b""
        mark = body if kind == b"haUl" else mark
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", body)
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
        at += 12 + length
    assert at == len(data) and kinds == [b"IHDR", b"haUl", b"IDAT", b"IEND"], kinds
    inflate = zlib.decompressobj()
    rows = inflate.decompress(packed)
    assert inflate.eof and not inflate.unused_data and len(rows) == height * (1 + 3 * width)
    want = stream(1, 0, len(rows)).reshape(height, -1).copy()
    want[:, 0] = 0  # filters
    assert rows == want.tobytes(), "pixels"
    return struct.unpack_from("<Q", mark)[0], b"".join(
        rows[y * (1 + 3 * width) + 1:(y + 1) * (1 + 3 * width)] for y in range(height))


def coefficients(scan, blocks):
    """Checks rows of blocks of 64 bytes, with a restart marker after each row but the last. No byte is 0xfe or 0xff, which
    are not codes of coefficients. The first byte of a block is a small difference of means, down and up in turn."""
    markers = [(0xFF, 0xD0 + i % 8) for i in range(len(scan))]
    markers[-1] = (0xFF, 0xD9)
    assert (scan[:, -2:] == markers).all(), "markers"
    want = stream(1, 0, len(scan) * 64 * blocks).reshape(len(scan), blocks, 64).copy()
    want[want >= 0xFE] ^= 0x80
    want[:, :, 0] &= 0x3F
    want[:, ::2, 0] |= 0x40
    assert (scan[:, :-2] == want.reshape(len(scan), -1)).all(), "coefficients"


def jpeg(data):
    """Reads the segments up to the scan, checks the scan, and returns the id."""
    assert data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9"
    at, mark, lines, width = 2, None, 0, 0
    while data[at + 1] != 0xDA:
        assert data[at] == 0xFF, at
        length, = struct.unpack_from(">H", data, at + 2)
        if data[at + 1] == 0xFE:
            mark = data[at + 4:at + 2 + length]
        if data[at + 1] == 0xC0:
            lines, width = struct.unpack_from(">HH", data, at + 5)
        at += 2 + length
    coefficients(numpy.frombuffer(data[at + 10:], dtype="u1").reshape(lines // 8, -1), width // 8)
    return struct.unpack_from("<Q", mark)[0]


def check(path):
    samples, size = numbers(path)
    form = path.rsplit(".", 1)[1]
    assert samples == 1
    with open(path, "rb") as file:
        data = file.read()
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
        # A file that is cut must not decode, which shows that the whole scan is in use.
        with open(path, "wb") as file:
            file.write(data[:-66])
        try:
            Image.open(path).load()
        except OSError:
            pass
        else:
            raise AssertionError("the picture decodes without its last block")
    assert mark == 1000, mark
    assert len(zlib.compress(data, 1)) >= 0.98 * size - 200, "the file can be compressed"


each_file(check, "png", 10)
each_file(check, "jpeg", 10)
