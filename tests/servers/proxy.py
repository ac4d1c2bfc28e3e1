#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fault-injecting HTTP proxy: it stands before a server, injects faults by rules, or asks for tokens, and counts what it did.
It keeps the Host header, so that signatures stay valid. Rules that answer by themselves need no server behind the proxy.

    proxy.py PORT HOST:PORT [--tokens SECONDS [--uses NUMBER]] [--public-key FILE] [--sums KIND] [RULE…]

RULE is fault[:argument][@every=N][@first=N][@from=N][@p=SHARE@seed=S][@method=GET][@path=PART]:

    503 500 429 408 401 403exp  answers with that status (429 and 503 with Retry-After: argument, by default 0)
    refuse                  resets each connection that the rule hits before it reads a request
    down:SECONDS            resets all connections and does not listen for this time
    deaf:SECONDS            resets all connections, also new ones, for this time; counts those that waited for an answer
    rst close               ends the connection before an answer, by RST or FIN
    rstmid:BYTES            RST after this part of the body
    trunc:BYTES             FIN after this part of the body
    stall:SECONDS           pauses before the answer
    stallmid:SECONDS        pauses in the middle of the body
    slow:BYTES              sends this number of bytes per second
    drip:SECONDS            sends one byte of the body at a time, with this pause after each
    delay:SECONDS           delays every answer by this time
    chunked:BYTES           sends the body in chunks of this size, with an extension each and a trailer
    interim                 sends answers of 100 and 103 before the answer
    final                   says "Connection: close", and closes after the answer
    slowhead:SECONDS        sends the head one byte at a time, with this pause after each
    headers:BYTES           adds headers of about this size together
    corrupt:OFFSET          changes one byte of the answer's body
    spoil:OFFSET            changes one byte of the request's body
    beyond:TEXT             sends this text behind the end of the answer
    more:BYTES              sends and announces so many bytes more than the body has
    less:BYTES              announces so many bytes less than it sends
    range:BYTES             says that the range begins so many bytes later
    norange                 does not say which range it sends
    longlist:KIND           a page of a folder that does not end: of elements that mean nothing, or of entries
    keys:NUMBER-CODE        answers a delete of several keys with errors for the first NUMBER keys, although they are deleted
    err200                  200 with an <Error> as the body
    307:BASE                redirects to the same path at BASE ("http://127.0.0.1:7480"); without BASE: to no place
    date:SECONDS            changes the answer's Date by this time
    skewed:SECONDS          has a clock that is off by this time, and refuses signatures of another time
    late:SECONDS            the same with the answer that Azure gives
    outlast:SECONDS         refuses a request after this time, as Azurite does when a token has expired
    page:PARTS              a list of an upload's parts has at most PARTS parts, and says that more follow
    round:PAGES             a folder has this number of pages, and the last one says that the first one follows
    empty                   a folder has endless pages without an entry
    unmarked                a page of a folder says that more follows, but not where
    rubbish:TEXT            200 with that text as the body
    huge:BYTES              403 with a body of this size
    endless                 403 with a body that does not end
    flood:STATUS            that status with a body that does not end
    heads                   200 with a head that does not end
    line:BYTES              404 with a line of this size in its head
    length:NUMBER           200 with that Content-Length and no body
    garbage                 an answer that is not HTTP
    count                   changes nothing, but counts the hits

--tokens: requests need `Authorization: Bearer` with a token that this server gave less than SECONDS ago, as the metadata
service of Google or Azure, or as a token server (POST /token, …/oauth2/v2.0/token). Other requests get a 401. The proxy
removes the token before it forwards the request. Azurite accepts these tokens, too. --uses: a token is refused after so many
requests instead, however long they take; its SECONDS are only announced. --public-key: the key of the service account, whose
signature POST /token then checks.

--sums s3 or gs: handles checksums as these services do, because the server behind may not. It refuses a body that does not
match its checksum (400 BadDigest), and sends the checksum of a whole object with it (s3: on request; gs: always, MD5 and
CRC-32C). An upload to S3 that was begun with CRC-32C can be completed only with the checksum of each part.

GET /__stats gives the counts as JSON. GET /__trace gives the first 10,000 requests in their order, each with the number of
requests that were under way at the same time, and whether the checksums in its head match its body.
"""
import asyncio
import base64
import calendar
import json
import random
import re
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

from proxy_answers import *


class Rule:
    def __init__(self, text):
        fault, *options = text.split("@")
        self.fault, _, self.argument = fault.partition(":")
        given = dict(o.split("=", 1) for o in options)
        self.every, self.first, self.after = (int(given.get(k, 0)) for k in ("every", "first", "from"))
        self.share, self.random = float(given.get("p", 0)), random.Random(int(given.get("seed", 1)))
        self.method, self.path = given.get("method"), given.get("path")
        self.always = not (self.every or self.first or self.after or self.share)
        self.seen = self.hits = 0

    def hit(self, method, path, date=""):
        if (self.method and self.method != method) or (self.path and self.path not in path):
            return False
        if self.fault in ("skewed", "late") and abs(signed_at(date) - time.time() - float(self.argument)) < 60:
            return False  # the client has already signed by the store's clock
        self.seen += 1
        hit = bool(self.always or (self.first and self.seen <= self.first) or (self.after and self.seen >= self.after)
                   or (self.every and self.seen % self.every == 0)
                   or (self.share and self.random.random() < self.share))
        self.hits += hit
        return hit


def signed_at(date):
    """The time at which a request to S3 or Azure was signed, in seconds."""
    return calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ" if date.endswith("Z") else "%a, %d %b %Y %H:%M:%S GMT"))


def http_date(off):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + float(off or 0)))


class Broken(Exception):
    """The proxy has to end the client's connection."""


def reset(writer):
    s = writer.get_extra_info("socket")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def read_head(reader):
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode("latin1").rstrip("\r\n").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return first, lines, headers


def join(first, lines):
    return ("\r\n".join([first, *lines]) + "\r\n\r\n").encode("latin1")


class Proxy:
    def __init__(self, upstream, rules, lasts, uses, public_key, sums_as):
        self.host, _, self.port = upstream.rpartition(":")
        self.rules, self.lasts, self.public_key = rules, lasts, public_key
        self.uses = uses
        self.tokens = {}  # until when each is good, or for how many requests
        self.sums_as, self.parts = sums_as, {}
        self.writers, self.idle, self.server, self.coming, self.dead = set(), set(), None, None, False
        self.trace, self.under_way = [], 0
        self.stats = {"requests": 0, "connections": 0, "handed": 0, "answers": {}, "methods": {}, "owed": 0, "poured": 0}

    def sent(self, status):
        """Counts an answer whose head was sent completely, even if its body is cut later."""
        self.stats["answers"][str(status)] = self.stats["answers"].get(str(status), 0) + 1

    def counts(self):
        return {**self.stats, "rules": {f"{i}:{r.fault}": r.hits for i, r in enumerate(self.rules)}}

    # Tokens.

    def hand_out(self):
        now = int(time.time())
        claim = {"aud": "https://storage.azure.com", "iss": "https://sts.windows-ppe.net/haul-tests/", "iat": now,
                 "nbf": now, "exp": int(now + self.lasts)}
        parts = [json.dumps({"alg": "RS256", "typ": "JWT"}).encode(), json.dumps(claim).encode(), secrets.token_bytes(9)]
        token = ".".join(base64.urlsafe_b64encode(p).decode().rstrip("=") for p in parts)
        self.tokens[token] = self.uses or time.monotonic() + self.lasts
        self.stats["handed"] += 1
        return answer({"access_token": token, "expires_in": self.lasts, "token_type": "Bearer"})

    def token_request(self, method, path, headers, body):
        """The answer of a token server or a metadata service; None if the request is for neither."""
        if path.startswith("/computeMetadata/v1/instance/service-accounts/default/token"):
            return self.hand_out() if headers.get("metadata-flavor") == "Google" else error(403, "NoFlavor")
        if path.startswith("/metadata/identity/oauth2/token"):
            return self.hand_out() if headers.get("metadata") == "true" else error(400, "NoMetadata")
        if method == "POST" and (path == "/token" or path.endswith("/oauth2/v2.0/token")):
            form = urllib.parse.parse_qs(body.decode())
            if "assertion" in form and len(form["assertion"][0].split(".")) == 3:
                good = self.assertion_good(form["assertion"][0], path)
                return self.hand_out() if good else error(400, "invalid_grant")
            return self.hand_out() if form.get("client_secret") == ["secret+/="] else error(401, "invalid_client")
        return None

    def assertion_good(self, assertion, path):
        head, claim, signature = assertion.split(".")
        said = json.loads(unbase64(claim))
        if said["exp"] <= time.time() or said["exp"] > time.time() + 3660 or not said["aud"].endswith(path):
            return False
        if not self.public_key:
            return True
        with tempfile.NamedTemporaryFile() as f:
            f.write(unbase64(signature))
            f.flush()
            return subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.public_key, "-signature", f.name],
                                  input=f"{head}.{claim}".encode(), stdout=subprocess.DEVNULL, check=False).returncode == 0

    def token_good(self, headers):
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or token not in self.tokens:
            return False
        if not self.uses:
            return self.tokens[token] > time.monotonic()
        self.tokens[token] -= 1
        return self.tokens[token] >= 0

    # Requests.

    async def listen(self, port):
        self.server = await asyncio.start_server(self.client, "127.0.0.1", port, limit=1 << 20, backlog=4096)

    def reset_all(self):
        for writer in self.writers:
            self.stats["owed"] += writer not in self.idle
            reset(writer)

    async def deaf(self, seconds):
        self.dead = True
        self.stats["owed"] += 1
        self.reset_all()
        await asyncio.sleep(seconds)
        self.dead = False

    async def die(self, seconds):
        listening = self.server.sockets[0]
        port = listening.getsockname()[1]
        self.dead = True
        # A socket that was accepted a moment ago becomes a connection only in the next rounds of the loop, and only while
        # the server is open.
        asyncio.get_running_loop().remove_reader(listening.fileno())
        await asyncio.sleep(0.01)
        self.server.close()
        self.reset_all()
        with socket.socket() as kept:
            # A bound socket that does not listen keeps the port from other connections meanwhile.
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(("127.0.0.1", port))
            await asyncio.sleep(seconds)
            self.dead = False
            await self.listen(port)

    async def client(self, reader, writer):
        self.stats["connections"] += 1
        self.writers.add(writer)
        up = None
        try:
            if self.dead or any(r.fault == "refuse" and r.hit("", "") for r in self.rules):
                self.stats["owed"] += self.dead
                reset(writer)
                return
            while True:
                up = await self.one(reader, writer, up)
                self.idle.add(writer)
        except (asyncio.IncompleteReadError, ConnectionError, Broken, asyncio.LimitOverrunError):
            pass
        finally:
            self.writers.discard(writer)
            self.idle.discard(writer)
            writer.close()
            if up:
                up[1].close()

    async def one(self, reader, writer, up):
        first, lines, headers = await read_head(reader)
        self.idle.discard(writer)
        method, path, _ = first.split(" ", 2)
        if path in ("/__stats", "/__trace"):
            self.stats["connections"] -= 1
            writer.write(answer(self.counts() if path == "/__stats" else self.trace))
            await writer.drain()
            raise Broken
        self.under_way += 1
        try:
            return await self.serve(reader, writer, up, first, lines, headers)
        finally:
            self.under_way -= 1

    def note(self, method, path, headers, writer):
        noted = {"method": method, "path": path, "from": writer.get_extra_info("peername")[0], "range": headers.get("range", ""), "keys": 0,
                 "bytes": int(headers.get("content-length", 0)), "under_way": self.under_way,
                 "sum_asked": headers.get("x-amz-checksum-mode", "") == "ENABLED",
                 "date": headers.get("x-amz-date", headers.get("x-ms-date", "")), "sha256": headers.get("x-amz-content-sha256", "")}
        if len(self.trace) < 10000:
            self.trace.append(noted)
        return noted

    async def serve(self, reader, writer, up, first, lines, headers):
        method, path, _ = first.split(" ", 2)
        noted = self.note(method, path, headers, writer)
        self.stats["requests"] += 1
        self.stats["methods"][method] = self.stats["methods"].get(method, 0) + 1
        rule = next((r for r in self.rules if r.fault != "refuse" and r.hit(method, path, noted["date"])), None)
        fault, argument = (rule.fault, rule.argument) if rule else ("", "")
        if fault in ("down", "deaf"):
            self.writers.discard(writer)
            self.coming = asyncio.ensure_future((self.die if fault == "down" else self.deaf)(float(argument)))
            raise Broken
        if fault == "rst":
            reset(writer)
            raise Broken
        if fault == "close":
            raise Broken
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            lines = [x for x in lines if not x.lower().startswith("expect:")]
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        noted["keys"] = body.count(b"<Key>") if method == "POST" else 0
        if fault == "spoil" and len(body) > int(argument):
            body = body[:int(argument)] + bytes([body[int(argument)] ^ 1]) + body[int(argument) + 1:]
        noted["sums"] = sums(headers, body)
        reply = self.instead(fault, argument, path, method)
        if reply is None and self.sums_as:
            reply = self.sums_refused(method, path, headers, body, noted["sums"])
        if reply is None and self.lasts is not None:
            reply = self.token_request(method, path, headers, body)
            if reply is None and not self.token_good(headers):
                reply = error(401, "AuthenticationRequired")
            lines = [x for x in lines if not x.lower().startswith("authorization:")]
        if fault in ("huge", "endless"):
            await self.pour(writer, int(argument or 0), method)
        if fault == "flood":
            await self.pour(writer, 0, method, argument)
        if fault == "heads":
            await self.pour_heads(writer)
        if fault == "longlist":
            await self.pour_list(writer, argument, path)
        if reply is not None:
            await asyncio.sleep(float(argument) if fault == "outlast" else 0)
            self.sent(reply.split(b" ", 2)[1].decode())
            writer.write(reply)
            await writer.drain()
            return up
        if fault in ("stall", "delay"):
            await asyncio.sleep(float(argument))
        return await self.forward(writer, up, join(first, lines) + body, noted, fault, argument)

    async def pour_heads(self, writer):
        """Sends a head that does not end, and counts the bytes that the client accepts."""
        self.sent(200)
        piece = b"HTTP/1.1 200 OK\r\n"
        while True:
            writer.write(piece)
            await writer.drain()
            self.stats["poured"] += len(piece)
            piece = b"X-More: z\r\n" * 1000

    async def pour(self, writer, total, method, status=403):
        """Sends an error or another answer whose body is long or does not end, and counts the bytes that the client accepts."""
        self.sent(status)
        length = f"Content-Length: {total}" if total else "Transfer-Encoding: chunked"
        writer.write(f"HTTP/1.1 {status} Injected\r\n{length}\r\n\r\n".encode())
        if method == "HEAD":
            raise Broken
        start = b"<Error><Code>AccessDenied</Code><Message>"
        piece = start + b"x" * (65536 - len(start))
        while not total or self.stats["poured"] < total:
            piece = piece[:total - self.stats["poured"]] if total else piece
            writer.write(piece if total else b"10000\r\n" + piece + b"\r\n")
            await writer.drain()
            self.stats["poured"] += len(piece)
            piece = b"x" * 65536
        raise Broken

    async def pour_list(self, writer, kind, path):
        """Sends a page of a listing that does not end."""
        self.sent(200)
        azure = "comp=list" in path
        entry = (b"<Blob><Name>x/k</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>" if azure else
                 b"<Contents><Key>x/k</Key><Size>1</Size></Contents>")
        piece = b"<EnumerationResults><Blobs>" if azure else b"<ListBucketResult>"
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            self.stats["poured"] += len(piece)
            piece = entry * 500 if kind == "entries" else b"<Q><R>z</R></Q>" * 4000

    def sums_refused(self, method, path, headers, body, said):
        """The service's answer to wrong checksums; None if they are right."""
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True))
        upload = query.get("uploadId")
        if not all(said.values()):
            return error(400, "BadDigest")
        if self.sums_as != "s3":
            return None
        if method == "PUT" and upload:
            self.parts[upload, query["partNumber"]] = headers.get("x-amz-checksum-crc32c")
        if method == "POST" and upload:
            parts = {k: v for k, v in self.parts.items() if k[0] == upload and v}
            listed = re.findall(rb"<PartNumber>(\d+)</PartNumber>.*?<ChecksumCRC32C>(.*?)</ChecksumCRC32C>", body)
            if {(upload, n.decode()): c.decode() for n, c in listed} != parts:
                return error(400, "InvalidRequest")
        if method == "POST" and "uploads" in query and headers.get("x-amz-checksum-algorithm", "CRC32C") != "CRC32C":
            return error(400, "InvalidRequest")
        return None

    def parts_told(self, path, body):
        """The ListPartsResult with the checksum of each part that was sent with one."""
        upload = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query)).get("uploadId")

        def told(m):
            crc = self.parts.get((upload, m[1].decode()))
            return m[0] + (f"<ChecksumCRC32C>{crc}</ChecksumCRC32C>".encode() if crc else b"")
        return re.sub(rb"<PartNumber>(\d+)</PartNumber>", told, body) if b"<ListPartsResult" in body else body

    def listed(self, noted, body, fault, argument):
        return self.parts_told(noted["path"], parts_paged(body, int(argument)) if fault == "page" else body)

    def sums_told(self, noted, body):
        if self.sums_as == "gs":
            return [f"x-goog-hash: crc32c={crc32c(body)}", f"x-goog-hash: md5={md5(body)}"]
        return [f"x-amz-checksum-crc32c: {crc32c(body)}"] if noted["sum_asked"] else []

    @staticmethod
    def lie(fault, argument, path):
        """An answer that no server should give, or None."""
        number = listed_where(path) if fault in ("round", "empty", "unmarked") else 0
        if fault == "round":
            return canned(200, body=listed_page(path, number, True, f"page{(number + 1) % int(argument)}"))
        if fault == "empty":
            return canned(200, body=listed_page(path, number, False, f"page{number + 1}"))
        if fault == "unmarked":
            return canned(200, body=listed_page(path, number, True, ""))
        if fault == "rubbish":
            return canned(200, body=argument.encode())
        if fault == "line":
            return canned(404, "X-Long: " + "x" * int(argument))
        if fault == "length":
            return f"HTTP/1.1 200 Injected\r\nContent-Length: {argument}\r\n\r\n".encode()
        if fault == "garbage":
            return b"\0\1\2 this speaks something else 200\r\n\r\n"
        if fault == "307" and not argument:
            return canned(307)
        return None

    @staticmethod
    def instead(fault, argument, path, method):
        lie = Proxy.lie(fault, argument, path)
        if lie:
            return lie
        table = {
            "503": (503, "SlowDown", "Retry-After: " + (argument or "0")),
            "401": (401, "AuthenticationRequired"),
            "500": (500, "InternalError"),
            "408": (408, "RequestTimeout"),
            "429": (429, "TooManyRequests", "Retry-After: " + (argument or "0")),
            "403exp": (403, "ExpiredToken"),
            "err200": (200, "InternalError"),
            "skewed": (403, "RequestTimeTooSkewed", "Date: " + (http_date(argument) if fault == "skewed" else "")),
            "late": (403, "AuthenticationFailed", "Date: " + (http_date(argument) if fault == "late" else "")),
            "outlast": (403, "AuthenticationFailed"),
            "307": (307, "TemporaryRedirect", "Location: " + argument + path),
        }
        if fault not in table:
            return None
        reply = error(*table[fault])
        return reply if method != "HEAD" else reply[:reply.index(b"\r\n\r\n") + 4]

    async def forward(self, writer, up, request, noted, fault, argument):
        method = noted["method"]
        for _ in (0, 1):
            try:
                if up is None:
                    up = await asyncio.open_connection(self.host, self.port, limit=1 << 20)
                up[1].write(request)
                await up[1].drain()
                first, lines, headers = await read_head(up[0])
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                up = None
        else:
            raise Broken
        status = int(first.split(" ")[1])
        if headers.get("transfer-encoding") == "chunked":
            body = self.listed(noted, await self.chunks(up[0]), fault, argument)
            if fault == "keys":
                body = keys_failed(body, *argument.split("-"))
            lines = [x for x in lines if not x.lower().startswith("transfer-encoding:")]
            lines.append(f"Content-Length: {len(body)}")
            self.sent(status)
            if fault == "trunc":
                writer.write(join(first, lines) + body[:int(argument)])
                await writer.drain()
                raise Broken
            writer.write(join(first, lines) + body)
            await writer.drain()
            return up
        if fault == "date":
            lines = [x for x in lines if not x.lower().startswith("date:")]
            lines.append("Date: " + http_date(argument))
        if (self.sums_as or fault == "page") and method == "GET" and status == 200:
            body = bytearray(self.listed(noted, await up[0].readexactly(int(headers["content-length"])), fault, argument))
            lines = [x for x in lines if not x.lower().startswith("content-length:")] + [f"Content-Length: {len(body)}"]
            lines += self.sums_told(noted, body)
            if fault == "corrupt":
                body[int(argument)] ^= 0xFF
            self.sent(status)
            writer.write(join(first, lines) + body)
            await writer.drain()
            return up
        self.sent(status)
        left = 0 if method == "HEAD" or status in (204, 304) else int(headers.get("content-length", 0))
        if fault in ("chunked", "interim", "final", "slowhead", "headers"):
            await self.shaped(writer, first, lines, await up[0].readexactly(left), fault, argument)
            return up
        if fault in ("beyond", "more", "less", "range", "norange"):
            writer.write(twisted(first, lines, await up[0].readexactly(left), fault, argument))
            await writer.drain()
            return up
        writer.write(join(first, lines))
        await self.body(writer, up, left, fault, argument)
        return None if headers.get("connection", "").lower() == "close" else up

    @staticmethod
    async def shaped(writer, first, lines, body, fault, argument):
        """An answer that is right, in one of the less usual forms."""
        lines = [x for x in lines if not x.lower().startswith(("connection:", "content-length:"))]
        lines.append("Transfer-Encoding: Chunked" if fault == "chunked" else f"Content-Length: {len(body)}")
        if fault == "final":
            lines.append("Connection: close")
        if fault == "headers":
            lines += [f"X-More-{i}: " + "x" * 1000 for i in range(int(argument) // 1000)]
        head = join(first, lines)
        if fault == "chunked":
            size = int(argument)
            body = b"".join(b"%x;n=v\r\n%s\r\n" % (len(body[at:at + size]), body[at:at + size])
                            for at in range(0, len(body), size)) + b"0\r\nX-Trailer: 1\r\n\r\n"
        if fault == "interim":
            head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + head
        for i in range(len(head) if fault == "slowhead" else 0):
            writer.write(head[i:i + 1])
            await writer.drain()
            await asyncio.sleep(float(argument))
        writer.write((b"" if fault == "slowhead" else head) + body)
        await writer.drain()
        if fault == "final":
            raise Broken

    @staticmethod
    async def chunks(reader):
        body = b""
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            body += (await reader.readexactly(size + 2))[:-2]
            if size == 0:
                return body

    async def body(self, writer, up, total, fault, argument):
        # A fault counts as a hit. So it always cuts the body, by one byte at least.
        limit = min(int(argument), max(total - 1, 0)) if fault in ("rstmid", "trunc") else total
        piece = {"slow": max(1024, int(float(argument or 0)) // 10), "drip": 1}.get(fault, 65536)
        sent = 0
        while sent < total:
            data = bytearray(await up[0].read(min(piece, total - sent)))
            if not data:
                raise Broken
            if fault == "corrupt" and sent <= int(argument) < sent + len(data):
                data[int(argument) - sent] ^= 0xFF
            if fault == "stallmid" and sent <= total // 2 < sent + len(data):
                await writer.drain()
                await asyncio.sleep(float(argument))
            if limit < total and sent + len(data) >= limit:
                writer.write(data[:limit - sent])
                await writer.drain()
                await asyncio.sleep(0.02)
                up[1].close()
                if fault == "rstmid":
                    reset(writer)
                raise Broken
            writer.write(data)
            await writer.drain()
            sent += len(data)
            if fault in ("slow", "drip"):
                await asyncio.sleep(0.1 if fault == "slow" else float(argument))


async def main(port, upstream, *rest):
    rest = list(rest)
    given = {}
    while rest and rest[0].startswith("--"):
        given[rest[0]], rest = rest[1], rest[2:]
    lasts = float(given["--tokens"]) if "--tokens" in given else None
    uses = int(given.get("--uses", 0))
    proxy = Proxy(upstream, [Rule(r) for r in rest], lasts, uses, given.get("--public-key"), given.get("--sums"))
    await proxy.listen(int(port))
    print("listening", flush=True)
    while True:
        await asyncio.sleep(3600)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
