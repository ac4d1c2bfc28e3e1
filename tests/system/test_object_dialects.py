# SPDX-License-Identifier: Apache-2.0
"""Stores that answer as S3 does, but not by the letter: a list of parts under another root, with prefixes before its names, as a
page of HTML, or none at all. The server here keeps uploads in memory and answers each in the way that the test asks for."""
import csv
import http.server
import io
import itertools
import re
import threading
import urllib.parse

from haultest import Folder, alone, check, main, mpi, report, with_transport, write_job

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
MIB = 1 << 20


class Store(http.server.ThreadingHTTPServer):
    """answer: of a list of parts, from its XML, as (status, body)."""
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.parts, self.objects, self.lock = answer, {}, {}, threading.Lock()
        self.uploads = itertools.count(1)
        self.seen = []  # (method, path) of each request
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def endpoint(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def log_request(self, *_):
        self.server.seen.append((self.command, self.path))

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(headers.get("size", len(body))))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def asked(self):
        url = urllib.parse.urlsplit(self.path)
        return url.path, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))

    def do_PUT(self):
        path, query = self.asked()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            if "partNumber" in query:
                self.server.parts.setdefault(query["uploadId"], {})[int(query["partNumber"])] = body
            else:
                self.server.objects[path] = body
        self.say(200, ETag='"e"')

    def do_POST(self):
        path, query = self.asked()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "uploads" in query:
            upload = f"u{next(self.server.uploads)}".encode()
            return self.say(200, b"<InitiateMultipartUploadResponse><UploadId>" + upload + b"</UploadId></InitiateMultipartUploadResponse>")
        if "delete" in query:
            return self.say(200, b"<DeleteResult/>")
        parts = self.server.parts.pop(query["uploadId"])
        self.server.objects[path] = b"".join(parts[n] for n in sorted(parts))
        return self.say(200, b'<CompleteMultipartUploadResult><ETag>"w"</ETag></CompleteMultipartUploadResult>')

    def do_DELETE(self):
        path, query = self.asked()
        self.server.parts.pop(query.get("uploadId"), None)
        if "uploadId" not in query:
            self.server.objects.pop(path, None)
        self.say(204)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, query = self.asked()
        if "uploadId" in query:
            parts = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>\"e\"</ETag><Size>{len(b)}</Size></Part>"
                            for n, b in sorted(self.server.parts.get(query["uploadId"], {}).items()))
            status, body = self.server.answer(f"<ListPartsResult>{parts}<IsTruncated>false</IsTruncated></ListPartsResult>")
            return self.say(status, body.encode())
        if "list-type" in query or "uploads" in query:
            root = "ListBucketResult" if "list-type" in query else "ListMultipartUploadsResult"
            return self.say(200, f"<{root}><IsTruncated>false</IsTruncated></{root}>".encode())
        if path not in self.server.objects:
            return self.say(404, b"<Error><Code>NoSuchKey</Code></Error>")
        body = self.server.objects[path]
        found = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if self.command == "HEAD":
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"w"')
            return self.end_headers()
        if not found:
            return self.say(200, body, ETag='"w"')
        first, last = int(found[1]), min(int(found[2]), len(body) - 1)
        return self.say(206, body[first:last + 1], ETag='"w"', **{"Content-Range": f"bytes {first}-{last}/{len(body)}"})


def write(answer):
    """Two ranks write one object in four parts."""
    store = Store(answer)
    with Folder() as folder:
        options = with_transport({"uri": "s3://b/x", "endpoints": store.endpoint(), "retry": {"attempts": 2, "first": "1 ms"}})
        write_job(folder, {"stores": {"s": options}, "phases": [
            {"io": {"operation": "write", "layout": "segmented", "size": 10 * MIB, "block": 5 * MIB}}]})
        r = mpi(2, "run", "job.json", "--force", cwd=folder, env=KEYS)
    store.shutdown()
    return r, store


def test_names_of_documents():
    """The names in a document decide, not what stands around them."""
    for name, change in (("as S3", lambda x: x), ("another root", lambda x: x.replace("ListPartsResult", "ListPartsResponse")),
                         ("prefixes", lambda x: re.sub(r"<(/?)(\w)", r"<\1s3:\2", x))):
        r, store = write(lambda x, change=change: (200, change(x)))
        check(r.rc == 0 and [len(b) for b in store.objects.values() if len(b) > MIB] == [20 * MIB], f"{name}: {r}")


def test_no_list_of_parts():
    """A store that does not list parts is told as that, and not as an upload whose parts have not come."""
    for status, body, words in ((200, "<html><body>hello</body></html>", "no list of parts, so the store does not list them"),
                                (405, "", "does not list the parts of an upload (status 405)"),
                                (501, "", "does not list the parts of an upload (status 501)"),
                                (400, "", "does not list the parts of an upload (status 400)")):
        r, _ = write(lambda x, status=status, body=body: (status, body))
        check(r.rc == 1 and words in r.err, f"{status}: {r}")


def requests_of_operations():
    """(phase, requests of each object by their methods, operations of each object): a create is one PUT, and so is a small object, unless
    it is to be verified, when its size is asked for; 8 MiB are one request; larger ones are uploads in parts."""
    mib = {"size": "8 MiB", "block": "8 MiB"}
    cases = [({"operation": "create"}, {"PUT": 1}, 1), ({"operation": "stat"}, {"HEAD": 1}, 1), ({"operation": "delete"}, {"DELETE": 1}, 1)]
    for verify, more in (("none", {}), ("sampled", {}), ("full", {"HEAD": 1})):
        cases += [({"operation": "write", "folder": f"large_{verify}", "verify": verify, **mib}, {"PUT": 1, **more}, 1),
                  ({"operation": "write", "folder": f"small_{verify}", "verify": verify, "size": "8 KiB"}, {"PUT": 1, **more}, 1),
                  ({"operation": "mixed", "folder": f"small_{verify}", "verify": verify, "size": "8 KiB", "mix": {"put": 1}, "count": 3},
                   {"PUT": 1, **more}, 1)]
    return cases + [({"operation": "read", "folder": "large_none", **mib}, {"GET": 1}, 1)]


def as_counted(folder, requests, objects, operations):
    """Haul's figures, in JSON, CSV and the text's table, are what was counted outside."""
    path = f"{folder}/results.h5"
    said = report(path)["phases"][0]
    check(said["errors"] == 0 and said["operations"] == objects * operations, f"{said['operations']} operations")
    check(said["rates"]["requests_per_operation"] == requests / said["operations"], f"{requests}: {said['rates']}")
    row, = csv.DictReader(io.StringIO(alone("report", "--csv", path).out))
    check(float(row["requests_per_operation"]) == requests / said["operations"], f"{requests}: {row}")


def test_requests_are_counted_outside():
    """Requests that an operation needs, as the server counts them and as haul's figure says."""
    parts = ({"operation": "write", "folder": "parts", "size": "16 MiB", "block": "8 MiB"}, {"POST": 2, "PUT": 2, "HEAD": 1}, 2)
    cases = [*requests_of_operations(), parts]
    store = Store(lambda answer: (200, answer))
    with Folder() as folder:
        for case, wanted, operations in cases:
            options = with_transport({"uri": "s3://b/x", "endpoints": store.endpoint()})
            write_job(folder, {"stores": {"s": options}, "phases": [{"io": {"objects": 3, "verify": "none", **case}}]})
            store.seen.clear()
            r = mpi(2, "run", "job.json", "--force", cwd=folder, env=KEYS)
            of_objects = [method for method, path in store.seen if re.match(r"/b/x/\w+/\d", path)]
            found = {method: of_objects.count(method) for method in set(of_objects)}
            check(r.rc == 0 and found == {method: 6 * each for method, each in wanted.items()}, f"{case}: {found} {r}")
            as_counted(folder, len(of_objects), 6, operations)


if __name__ == "__main__":
    main()
