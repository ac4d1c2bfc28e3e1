# SPDX-License-Identifier: Apache-2.0
"""Servers for the tests of object stores: real ones, each with its own folder and ports, so that tests can run at the same
time. `with` starts a server and removes it at its end:

    with Rgw() as rgw:
        rgw.bucket("train")
        env = rgw.env()

A server that is not installed raises Missing, and the test fails.
"""
import asyncio
import atexit
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import uuid

from forked import Forked
from ports import free_ports, wait_for

HANGS_S = 120  # a server that has not started or answered after this time counts as hung
HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """A program that the test needs is not installed; packaging/install-packages.sh installs it."""


def need(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Missing(f"{program} is not installed")


# Ends the servers of a test that is killed: its end of the pipe closes then.
GUARD = """while read -r pid; do pids="$pids $pid"; done
for pid in $pids; do kill -9 -- "-$pid" 2>/dev/null; done
{strays}
rm -rf "$1"
"""


class Server:
    """A server: a folder and processes, which are ended by their ids however the test ends."""

    # Shell commands by which the guard ends processes that have left their process group; $1 is the folder.
    strays = ""

    def __init__(self):
        self.folder, self.processes, self.guard = None, [], None

    def __enter__(self):
        """Starts the server, with several tries: another process may have taken a port, and a Ceph that has just started
        on a busy machine may refuse the first commands."""
        self.folder = tempfile.mkdtemp(prefix="haul-srv-", dir="/tmp")
        self.guard = subprocess.Popen(["bash", "-c", GUARD.format(strays=self.strays), "guard", self.folder],
                                      stdin=subprocess.PIPE, text=True, start_new_session=True)
        try:
            for left in (3, 2, 1, 0):
                try:
                    self.start()
                    return self
                except (RuntimeError, subprocess.TimeoutExpired):
                    self.end_all(signal.SIGKILL)
                    if not left:
                        raise
                    shutil.rmtree(self.folder, ignore_errors=True)
                    os.mkdir(self.folder)
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def run(self, *args, timeout=HANGS_S, **more):
        return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=timeout, check=False, **more)

    def spawn(self, name, *args, **more):
        with open(self.path(name + ".out"), "a", encoding="utf-8") as out:
            process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True, **more)
        return self.watch(process)

    def fork(self, name, function):
        with open(self.path(name + ".out"), "a", encoding="utf-8") as out:
            return self.watch(Forked(function, out))

    def watch(self, process):
        self.processes.append(process)
        self.guard.stdin.write(f"{process.pid}\n")
        self.guard.stdin.flush()
        return process

    def end(self, process, how=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def end_all(self, how=signal.SIGTERM):
        for process in reversed(self.processes):
            self.end(process, how)
        self.processes = []

    def stop(self):
        self.end_all()
        self.guard.stdin.close()
        self.guard.wait(300)  # a disk may stall

    def said(self, name):
        """The end of a process's output."""
        with open(self.path(name + ".out"), encoding="utf-8", errors="replace") as f:
            return f.read()[-600:]


CEPH_CONF = """[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
ms bind msgr2 = false
ms bind ipv4 = true
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data = {folder}/mon
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
osd class load list = *
osd class default list = *
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
pid file =
paxos propose interval = 0.02
paxos min wait = 0.01
mon tick interval = 1
objecter tick interval = 0.5
debug rgw = 0
[client.rgw]
rgw dns name = localhost
rgw enable usage log = false
rgw enable ops log = false
rgw gc obj min wait = 5
rgw thread pool size = 64
rgw override bucket index max shards = 1
rgw dynamic resharding = false
"""


class Rgw(Server):
    """S3 by Ceph's gateway with a store in memory, which verifies signatures. gateways: the number of endpoints. tls: a
    file with a certificate and its key, by which the gateways also listen for https."""

    KEY, SECRET = "testak", "testsecret01"

    def __init__(self, gateways=1, tls=None):
        super().__init__()
        need("ceph-mon", "ceph-osd", "radosgw", "ceph", "monmaptool", "ceph-authtool")
        self.count, self.tls = gateways, tls
        self.ports, self.gateways = [], []

    def must(self, *args, tries=1):
        for i in range(tries):
            done = self.run(*args)
            if done.returncode == 0:
                return done.stdout
            time.sleep(0.1 * (i > 0))
        raise RuntimeError(f"{' '.join(args)}: {done.stdout[-600:]}")

    def start(self):
        mon, *self.ports = free_ports(1 + 2 * self.count)
        fsid, osd = str(uuid.uuid4()), str(uuid.uuid4())
        conf = self.write("ceph.conf", CEPH_CONF.format(fsid=fsid, mon=mon, folder=self.folder))
        for name in ("mon", "osd"):
            os.mkdir(self.path(name))
        self.must("monmaptool", "--create", "--clobber", "--addv", "a", f"[v1:127.0.0.1:{mon}/0]", "--fsid", fsid,
                  self.path("monmap"))
        self.must("ceph-authtool", "--create-keyring", self.path("keyring"), "--gen-key", "-n", "mon.", "--cap", "mon",
                  "allow *")
        self.must("ceph-mon", "-c", conf, "-i", "a", "--mkfs", "--monmap", self.path("monmap"), "--keyring",
                  self.path("keyring"))
        self.spawn("mon", "ceph-mon", "-c", conf, "-i", "a", "-f")
        if not wait_for(mon, HANGS_S, self.processes[-1]):
            raise RuntimeError("the monitor does not start: " + self.said("mon"))
        self.must("ceph", "-c", conf, "--connect-timeout", "10", "osd", "new", osd, tries=50)
        self.must("ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", osd, "--no-mon-config", tries=5)
        self.osd = self.store()
        self.gateways = [self.gateway(i) for i in range(self.count)]
        for i in range(self.count):
            self.come_up(i)
        self.must("radosgw-admin", "-c", conf, "user", "create", "--uid=t", "--display-name=t",
                  f"--access-key={self.KEY}", f"--secret-key={self.SECRET}", tries=20)

    def store(self):
        return self.spawn("osd", "ceph-osd", "-c", self.path("ceph.conf"), "-i", "0", "-f")

    def come_up(self, i):
        """Waits for gateway i. Ceph's store ends if it starts before it can reach its monitor, and is started again."""
        deadline = time.monotonic() + HANGS_S
        while time.monotonic() < deadline and self.gateways[i].poll() is None:
            if wait_for(self.ports[2 * i], 0.5, self.gateways[i]):
                return
            if self.osd.poll() is not None:
                self.osd = self.store()
        raise RuntimeError("a gateway does not start: " + self.said("osd"))

    def gateway(self, i):
        ends = f"endpoint=127.0.0.1:{self.ports[2 * i]}"
        if self.tls:
            ends += f" ssl_endpoint=127.0.0.1:{self.ports[2 * i + 1]} ssl_certificate={self.tls}"
        # Without tcp_nodelay each small answer waits 40 ms for the client's delayed acknowledgement.
        return self.spawn(f"rgw{i}", "radosgw", "-c", self.path("ceph.conf"), "-f", "-n", f"client.rgw.{i}",
                          "--rgw-frontends", f"beast {ends} tcp_nodelay=1", "--rgw-dns-name", "localhost")

    def restart(self, i):
        self.gateways[i] = self.gateway(i)
        self.come_up(i)

    def endpoint(self, i=0, tls=False, host="127.0.0.1"):
        return f"http{'s' if tls else ''}://{host}:{self.ports[2 * i + tls]}"

    def endpoints(self):
        return [self.endpoint(i) for i in range(self.count)]

    def env(self):
        return {"AWS_ACCESS_KEY_ID": self.KEY, "AWS_SECRET_ACCESS_KEY": self.SECRET}

    def end_all(self, how=signal.SIGKILL):
        """Kills the processes, because nothing of them is kept, and a gateway takes seconds to shut down."""
        super().end_all(how)

    def requests(self, i=0):
        """The gateway's own counters, from its admin socket."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(30)
            s.connect(self.path(f"client.rgw.{i}.asok"))
            s.sendall(b'{"prefix": "perf dump"}\0')
            with s.makefile("rb") as f:
                return json.loads(f.read(int.from_bytes(f.read(4), "big")))["rgw"]

    def client(self, i=0, **more):
        """A client of boto3, which makes buckets, and checks what haul writes and prepares what haul reads."""
        try:
            import boto3
            from botocore.config import Config
        except ImportError as e:
            raise Missing("python3-boto3 is not installed") from e
        return boto3.client("s3", endpoint_url=self.endpoint(i), aws_access_key_id=self.KEY,
                            aws_secret_access_key=self.SECRET, region_name="us-east-1",
                            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}), **more)

    def bucket(self, name):
        """Makes a bucket, by a request of its own: the import of boto3 takes most of the time in which a gateway starts."""
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        mac = hmac.new(self.SECRET.encode(), f"PUT\n\n\n{date}\n/{name}".encode(), hashlib.sha1).digest()
        c = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=HANGS_S)
        c.request("PUT", "/" + name, headers={"Date": date, "Authorization": f"AWS {self.KEY}:{base64.b64encode(mac).decode()}"})
        answer = c.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"the bucket could not be made: {answer.status} {answer.read()}")
        return name

    def clear(self):
        """Removes all buckets with whatever they hold."""
        client = self.client()
        for bucket in client.list_buckets()["Buckets"]:
            name = bucket["Name"]
            for upload in client.list_multipart_uploads(Bucket=name).get("Uploads", []):
                client.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=name):
                if page.get("Contents"):
                    client.delete_objects(Bucket=name, Delete={"Objects": [{"Key": o["Key"]} for o in page["Contents"]]})
            client.delete_bucket(Bucket=name)


class Azurite(Server):
    """Azurite, the emulator of Azure's blob store, with its data in memory. tls: (certificate, key), by which it also
    accepts tokens."""

    ACCOUNT = "devstoreaccount1"
    # The emulator's own key, which is public.
    KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def __init__(self, tls=None):
        super().__init__()
        need("node")
        self.tls, self.containers = tls, []
        self.main = self.find()

    @staticmethod
    def find():
        npm = os.environ.get("HAUL_NPM") or os.path.join(HERE, "..", "..", "build", "npm")
        main = os.path.join(npm, "node_modules", "azurite", "dist", "src", "blob", "main.js")
        if not os.path.exists(main):
            raise Missing("azurite is not installed: packaging/install-npm.sh")
        return main

    def start(self):
        self.port, = free_ports(1)
        args = ["node", self.main, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--inMemoryPersistence",
                "--extentMemoryLimit", "4096", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
        if self.tls:
            args += ["--cert", self.tls[0], "--key", self.tls[1], "--oauth", "basic"]
        process = self.spawn("azurite", *args, cwd=self.folder)
        if not wait_for(self.port, HANGS_S, process):
            raise RuntimeError("azurite does not start: " + self.said("azurite"))

    def endpoint(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/{self.ACCOUNT}"

    def env(self):
        return {"AZURE_STORAGE_ACCOUNT": self.ACCOUNT, "AZURE_STORAGE_KEY": self.KEY}

    def clear(self):
        """Removes the containers that azure_container has made."""
        for name in self.containers:
            azure_request(self, "DELETE", name, [("restype", "container")])
        self.containers = []


KEPT = {}


@contextlib.contextmanager
def kept(kind):
    """An Rgw or Azurite that the tests of a script use one after the other: it starts for the first of them, ends with the
    script, and is empty again after each test."""
    if kind not in KEPT:
        KEPT[kind] = kind().__enter__()
        atexit.register(KEPT[kind].stop)
    try:
        yield KEPT[kind]
    finally:
        KEPT[kind].clear()


class Tls(Server):
    """A certificate authority for the tests, with three certificates: a good one, one for another host, an expired one."""

    def start(self):
        need("openssl")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
                     "-out", "ca.crt", "-days", "30", "-subj", "/CN=haul test authority")
        self.make("good", "DNS:localhost,DNS:*.localhost,IP:127.0.0.1", "30")
        self.make("wronghost", "DNS:other.example", "30")
        self.make("expired", "DNS:localhost,IP:127.0.0.1", "-1")
        self.ca = self.path("ca.crt")

    def openssl(self, *args):
        done = self.run("openssl", *args, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)

    def make(self, name, names, days):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key",
                     "-out", name + ".csr", "-subj", "/CN=" + name)
        self.write(name + ".ext", "subjectAltName=" + names)
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                     days, "-extfile", name + ".ext", "-out", name + ".crt")
        with open(self.path(name + ".pem"), "w", encoding="ascii") as out:
            for part in (".key", ".crt"):
                with open(self.path(name + part), encoding="ascii") as f:
                    out.write(f.read())

    def pem(self, name):
        return self.path(name + ".pem")

    def pair(self, name):
        return self.path(name + ".crt"), self.path(name + ".key")


class Listener(Server):
    """A server that does the TLS handshake and sends no answer, for certificates that haul has to refuse."""

    def __init__(self, pem):
        super().__init__()
        self.pem = pem

    def start(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.pem)
        threading.Thread(target=self.serve, args=(context,), daemon=True).start()

    def serve(self, context):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as s:
                s.recv(1)

    def stop(self):
        self.socket.close()
        super().stop()

    def endpoint(self, host="127.0.0.1"):
        return f"https://{host}:{self.port}"


class Relay(Server):
    """A relay to a local port. It passes the answers on in pieces of the given size with a pause after each, so that TLS
    records arrive two or three at a time, and cut."""

    def __init__(self, port, piece, pause):
        super().__init__()
        self.target, self.piece, self.pause = port, piece, pause

    def start(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pass_on, args=(near, far, 0), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(far, near, self.piece), daemon=True).start()

    def pass_on(self, source, sink, piece):
        with contextlib.suppress(OSError), source, sink:
            while data := source.recv(piece or 1 << 16):
                while len(data) < piece and select.select([source], [], [], self.pause)[0]:
                    more = source.recv(piece - len(data))
                    if not more:
                        break
                    data += more
                sink.sendall(data)
                time.sleep(self.pause if piece else 0)
            sink.shutdown(socket.SHUT_WR)

    def stop(self):
        self.socket.close()
        super().stop()


class Proxy(Server):
    """The proxy of proxy.py before a server, with these rules. tokens: it asks for tokens, which are valid for this number
    of seconds; uses: for this number of requests instead, and the seconds are only announced. sums: it handles checksums as
    s3 or gs."""

    def __init__(self, upstream, *rules, tokens=None, uses=None, public_key=None, sums=None):
        super().__init__()
        rest = upstream.split("://")[-1]
        self.upstream, _, base = rest.partition("/")
        self.base = "/" + base if base else ""
        self.arguments = (["--tokens", str(tokens)] if tokens else []) + \
            (["--uses", str(uses)] if uses else []) + \
            (["--public-key", public_key] if public_key else []) + \
            (["--sums", sums] if sums else []) + list(rules)

    def start(self):
        self.port, = free_ports(1)
        import proxy  # here, because most tests need none
        process = self.fork("proxy", lambda: asyncio.run(proxy.main(str(self.port), self.upstream, *self.arguments)))
        # A trial connection would be counted, so wait for the proxy's output instead.
        while "listening" not in self.said("proxy") and process.poll() is None:
            time.sleep(0.02)
        if process.poll() is not None:
            raise RuntimeError("the proxy does not start: " + self.said("proxy"))

    def host(self):
        return f"127.0.0.1:{self.port}"

    def endpoint(self):
        return f"http://{self.host()}{self.base}"

    def ask(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS_S)
        c.request("GET", path)
        return json.loads(c.getresponse().read())

    def stats(self):
        return self.ask("/__stats")

    def trace(self):
        return self.ask("/__trace")


def public_bucket(rgw, name):
    """A bucket that everyone may use, for proxies before the gateway that remove signatures."""
    rgw.bucket(name)
    rgw.client().put_bucket_policy(Bucket=name, Policy=json.dumps({
        "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": "*", "Action": "s3:*",
            "Resource": [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"]}]}))
    return name


def azure_request(azurite, method, path, query=(), headers=(), body=b"", ca=None):
    """Sends one request that this function signs with the account's key; returns (status, headers, body). path:
    "container/blob"."""
    base = "/" + azurite.ACCOUNT
    target = base + "/" + urllib.parse.quote(path, safe="/~")
    head = {**dict(headers), "x-ms-date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()),
            "x-ms-version": "2021-12-02"}
    if method == "PUT":
        head["Content-Length"] = str(len(body))
    lines = [method, "", "", str(len(body)) if body else "", "", head.get("Content-Type", ""), "", "", "", "", "",
             head.get("Range", "")]
    text = "\n".join(lines) + "\n"
    text += "".join(f"{k}:{v}\n" for k, v in sorted(head.items()) if k.startswith("x-ms-"))
    text += "/" + azurite.ACCOUNT + target + "".join(f"\n{k}:{v}" for k, v in sorted(query))
    mac = hmac.new(base64.b64decode(azurite.KEY), text.encode(), hashlib.sha256).digest()
    head["Authorization"] = f"SharedKey {azurite.ACCOUNT}:{base64.b64encode(mac).decode()}"
    if azurite.tls:
        c = http.client.HTTPSConnection("127.0.0.1", azurite.port, context=ssl.create_default_context(cafile=ca))
    else:
        c = http.client.HTTPConnection("127.0.0.1", azurite.port, timeout=HANGS_S)
    c.request(method, target + ("?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else ""), body,
              head)
    r = c.getresponse()
    return r.status, dict(r.getheaders()), r.read()


def azure_container(azurite, name, ca=None):
    status, _, body = azure_request(azurite, "PUT", name, [("restype", "container")], ca=ca)
    if status != 201:
        raise RuntimeError(f"the container could not be made: {status} {body}")
    azurite.containers.append(name)
    return name


def azure_sas(azurite, container, seconds=3600):
    """A shared access signature with all rights on a container, valid for the given time."""
    version = "2021-12-02"
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    rights = "racwdl"
    fields = [rights, "", ends, f"/blob/{azurite.ACCOUNT}/{container}", "", "", "", version, "c"] + [""] * 7
    mac = hmac.new(base64.b64decode(azurite.KEY), "\n".join(fields).encode(), hashlib.sha256).digest()
    return urllib.parse.urlencode({"sv": version, "sr": "c", "sp": rights, "se": ends,
                                   "sig": base64.b64encode(mac).decode()})
