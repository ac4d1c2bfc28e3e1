# SPDX-License-Identifier: Apache-2.0
"""TFRecord files: a reader of TFRecord and protobuf, written here from their specifications, reads the files that
write_files made, with the right lengths, masked CRC-32C, features and bytes. It finds a flipped bit anywhere in a record.

check_tfrecord.py WRITE_FILES"""
import os
import random
import struct
import sys

from written import each_file, numbers, payload

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
            assert at + value <= len(data), "a field is longer than its message"
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
    """Yields (position, payload) of each record; the CRC of a payload is checked if summed(index) is true."""
    at = index = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at:at + 8]), f"wrong CRC of the length of record {index}"
        body = data[at + 12:at + 12 + length]
        crc, = struct.unpack_from("<I", data, at + 12 + length)
        assert not summed(index) or crc == masked(body), f"wrong CRC of record {index}"
        yield at, body
        at += 16 + length
        index += 1
    assert at == len(data), "the last record is cut"


def check(path):
    samples, size = numbers(path)
    want = payload(samples, size)
    with open(path, "rb") as stream:
        data = stream.read()
    few = (0, 1, samples // 2, samples - 1)
    found = [example(body) for _, body in records(data, lambda i: size < 100 or (i in few and (size < 1e6 or i < 2)))]
    assert len(found) == samples, len(found)
    for k, features in enumerate(found):
        assert sorted(features) == ["image", "label", "size"], sorted(features)
        assert features["label"] == 0 and features["size"] == size, features
        assert features["image"] == want[k].tobytes(), k
    if os.path.basename(path) in ("tfrecord-3-1000.tfrecord", "tfrecord-7-1.tfrecord"):
        damage(data)


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
each_file(check, "tfrecord", 60)
