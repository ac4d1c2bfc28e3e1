# SPDX-License-Identifier: Apache-2.0
"""Answers that the proxy makes up, and those of a server that it changes; checksums of bodies."""
import base64
import hashlib
import json
import re
import urllib.parse

from crc32c import crc32c as castagnoli


def error(status, code, *headers):
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>injected</Message></Error>'.encode()
    head = [f"HTTP/1.1 {status} Injected", "Content-Type: application/xml", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


def answer(value):
    body = json.dumps(value).encode()
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def keys_failed(body, number, code):
    """The DeleteResult with errors for the first `number` keys."""
    return re.sub(rb"<Deleted>(<Key>.*?</Key>).*?</Deleted>",
                  lambda m: b"<Error>" + m[1] + b"<Code>" + code.encode() + b"</Code></Error>", body, int(number))


def parts_paged(body, most):
    """The ListPartsResult cut to at most `most` parts, as a server may answer."""
    parts = list(re.finditer(rb"<Part>.*?<PartNumber>(\d+)</PartNumber>.*?</Part>", body, re.S))
    if len(parts) <= most:
        return body
    body = body[:parts[most].start()] + body[parts[-1].end():]
    last = parts[most - 1][1]
    body = re.sub(rb"<NextPartNumberMarker>\d*</NextPartNumberMarker>", b"<NextPartNumberMarker>" + last +
                  b"</NextPartNumberMarker>", body)
    return body.replace(b"<IsTruncated>false<", b"<IsTruncated>true<")


def crc32c(body):
    return base64.b64encode(castagnoli(body).to_bytes(4, "big")).decode()


def md5(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()


def sums(headers, body):
    """For each header with a checksum: whether it matches the body."""
    table = {"content-md5": md5, "x-amz-checksum-crc32c": crc32c, "x-goog-hash": lambda b: "crc32c=" + crc32c(b)}
    return {name: headers[name] == of(body) for name, of in table.items() if name in headers}


def unbase64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def canned(status, *headers, body=b""):
    head = [f"HTTP/1.1 {status} Injected", *headers, f"Content-Length: {len(body)}"]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


def twisted(first, lines, body, fault, argument):
    """An answer whose framing does not fit what was asked for, or itself."""
    heads = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    number = int(argument) if argument.isdigit() else 0
    if fault == "more":
        body += b"x" * number
        heads["content-length"] = str(len(body))
    elif fault == "less":
        heads["content-length"] = str(len(body) - number)
    elif fault == "beyond":
        body += argument.replace("\\r\\n", "\r\n").encode()
    elif "content-range" in heads and fault == "range":
        begin, end, rest = re.fullmatch(r"bytes (\d+)-(\d+)(/.*)", heads["content-range"]).groups()
        heads["content-range"] = f"bytes {int(begin) + number}-{int(end) + number}{rest}"
    elif fault == "norange":
        heads.pop("content-range", None)
    return ("\r\n".join([first, *(f"{k}: {v}" for k, v in heads.items())]) + "\r\n\r\n").encode("latin1") + body


def listed_page(path, number, named, following):
    """A page of a folder, as S3 or Azure writes it. named: it has an entry of that number. following: the next marker."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True))
    key = f"{query.get('prefix', '')}entry{number}"
    if query.get("comp") == "list":
        entry = f"<Blob><Name>{key}</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>" if named else ""
        return f"<EnumerationResults><Blobs>{entry}</Blobs><NextMarker>{following}</NextMarker></EnumerationResults>".encode()
    entry = f"<Contents><Key>{urllib.parse.quote(key)}</Key><Size>1</Size></Contents>" if named else ""
    token = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    return f"<ListBucketResult>{entry}<IsTruncated>true</IsTruncated>{token}</ListBucketResult>".encode()


def listed_where(path):
    """The number of the requested page."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True))
    marker = query.get("continuation-token") or query.get("marker") or "page0"
    return int(marker.removeprefix("page"))
