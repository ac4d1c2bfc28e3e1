"""A TFRecord and protobuf reader written here, from their descriptions, reads what write_files made:
lengths, masked CRC-32C, features, ids; a flipped bit anywhere in a record is found.

check_tfrecord.py WRITE_FILES"""
import os
import random
import struct
import subprocess
import sys
import tempfile

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message whose fields are varints and length-delimited."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 in (0, 2), f"wire type {tag & 7}"
        value, at = varint(data, at)
        if tag & 7 == 2:
            assert at + value <= len(data), "runs over its message"
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def only(message, number):
    (found, value), = fields(message)
    assert found == number, (found, number)
    return value


def example(data):
    features = {}
    for number, entry in fields(only(data, 1)):
        assert number == 1, number
        entry = dict(fields(entry))
        (kind, values), = fields(entry[2])
        assert kind in (1, 3), kind
        value = only(values, 1)
        name = entry[1].decode()
        assert name not in features, name
        if kind == 3:
            value, end = varint(value, 0)
        features[name] = value
    return features


def records(data, summed):
    """(begin, payload); the CRC of an Example is computed where summed(index) says so."""
    at = index = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at:at + 8]), f"length's CRC of record {index}"
        body = data[at + 12:at + 12 + length]
        crc, = struct.unpack_from("<I", data, at + 12 + length)
        assert not summed(index) or crc == masked(body), f"CRC of record {index}"
        yield at, body
        at += 16 + length
        index += 1
    assert at == len(data), "the last record is cut"


def check(path):
    _, samples, size = os.path.basename(path).split(".")[0].split("-")
    samples, size = int(samples), int(size)
    with open(path, "rb") as stream:
        data = stream.read()
    few = (0, 1, samples // 2, samples - 1)
    found = [example(body) for _, body in records(data, lambda i: size < 100 or (i in few and (size < 1e6 or i < 2)))]
    assert len(found) == samples, len(found)
    images = set()
    for k, features in enumerate(found):
        assert sorted(features) == ["image", "label", "size"], sorted(features)
        assert features["label"] == 0 and features["size"] == size == len(features["image"]), features
        if size >= 8:
            assert struct.unpack_from("<Q", features["image"])[0] == 1000 * samples + k, k
        images.add(features["image"][8:])
    assert size < 30 or len(images) == samples, "images are alike"
    return data


def damage(data):
    for _ in range(20):
        wrong = bytearray(data)
        wrong[random.randrange(len(wrong))] ^= 1 << random.randrange(8)
        try:
            list(records(bytes(wrong), lambda i: True))
        except (AssertionError, struct.error):
            continue
        sys.exit("a flipped bit was not found")


assert crc32c(b"123456789") == 0xE3069283
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    files = sorted(n for n in os.listdir(folder) if n.endswith(".tfrecord"))
    assert len(files) > 60, files
    for name in files:
        try:
            content = check(os.path.join(folder, name))
        except Exception as e:
            sys.exit(f"{name}: {type(e).__name__}: {e}")
        if name in ("tfrecord-3-1000.tfrecord", "tfrecord-7-1.tfrecord"):
            damage(content)
    print(f"{len(files)} files read")
