# SPDX-License-Identifier: Apache-2.0
"""A run ends when it is told to, whatever its threads are stuck in: a file that never opens (a FIFO, as a hung mount is), a
rank that is stopped, a store that accepts and is silent. What is known is published as interrupted; finished phases stay.

Nothing here would end by itself."""
import collections
import contextlib
import email.utils
import glob
import hashlib
import http.server
import itertools
import json
import os
import pty
import random
import re
import select
import signal
import socket
import threading
import time
import urllib.parse

import h5py
from haultest import HANGS_S, HAUL, MEMORY, SOURCE, Folder, alone, check, command, environment, finish, freeze, main, mpi, pauses, ranks_in, ranks_of, \
    report, start, write_job
from test_load import make_model, job as load_job

GRACE = ("--grace", "1 s", "--force")
TRACE = f"{SOURCE}/tests/fixtures/traces/tiny-1b_2_users_40s.csv.zst"


def stuck_in_open(pid):
    """Whether a thread of the process waits for the other end of a FIFO."""
    for wchan in glob.glob(f"/proc/{pid}/task/*/wchan"):
        with contextlib.suppress(OSError):
            if open(wchan).read() in ("wait_for_partner", "fifo_open"):
                return True
    return False


def until(condition, process):
    while not condition():
        if process.poll() is not None:
            raise AssertionError(f"the run ended by itself: {process.communicate()}")
        time.sleep(0.02)


# MPICH's mpiexec that was sent TERM often returns 0, whatever the ranks returned, and 9 where it had to kill one.
INTERRUPTED = (0, 4, 9)


def ends(folder, process, status="interrupted"):
    """Sends TERM and waits. Returns the run and its results."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    r = finish(process, began, 100)
    check(r.rc in INTERRUPTED, f"{r}")
    found = report(folder + "/results.h5")
    check(found["status"] == status, f"{found['status']}: {r}")
    nothing_left(folder)
    return r, found


def nothing_left(folder):
    check(not [n for n in os.listdir(folder) if ".part" in n or ".base" in n or n.endswith(".owner")], f"{os.listdir(folder)}")


def make_fifo(path):
    os.unlink(path)
    os.mkfifo(path)


def fifo(folder, victim, ranks=2, verb="run", options=(), published=None):
    """Runs the job, one of whose files is a FIFO now, until a rank is stuck in it. published: the phase that is."""
    make_fifo(victim)
    process = start(ranks, verb, "job.json", *GRACE, *options, cwd=folder)
    until(lambda: any(stuck_in_open(pid) for pid in ranks_of(process).values()), process)
    r, found = ends(folder, process)
    check("did not come to an end" in r.err, f"{r}")
    names = [p["name"] for p in found["phases"]]
    check(published is None or (names and names[-1] == published), f"{names}: {r}")
    check(all(p["status"] == "interrupted" for p in found["phases"][-1:]), f"{found['phases']}")
    return r, found


IO = {"objects": 8, "size": "16 KiB", "block": "4 KiB", "store": "d"}


def test_io():
    """Several kinds of calls: psync's threads in open, io_uring's in the ring."""
    with Folder(MEMORY) as folder:
        for engine in ("psync", "uring"):
            write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/{engine}", "engine": engine}},
                               "phases": [{"io": {**IO, "name": "w", "operation": "write"}},
                                          {"io": {**IO, "name": "r", "operation": "read"}}]})
            check(mpi(2, "run", "job.json", "--only", "w", "--force", cwd=folder).rc == 0, "the write failed")
            fifo(folder, random.choice(glob.glob(f"{folder}/{engine}/io/*0*")), options=("--only", "r"),
                 published="r")


def test_train_and_generate():
    with Folder(MEMORY) as folder:
        write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/data"}},
                           "dataset": {"format": "npz", "files": 16, "sample_bytes": 4096},
                           "phases": [{"generate": {}}, {"train": {"null_steps": 0, "loader": {"workers": 1}}}]})
        check(mpi(2, "generate", "job.json", cwd=folder).rc == 0, "generate failed")
        victim = random.choice(glob.glob(f"{folder}/data/*.npz"))
        fifo(folder, victim, options=("--skip", "generate"), published="train")


def test_checkpoint():
    with Folder(MEMORY) as folder:
        common = {"model": {"bytes": "1 MiB"}, "chunk": "64 KiB", "buffers": "512 KiB"}
        write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/data"}},
                           "phases": [{"checkpoint": {"name": "w", **common}},
                                      {"checkpoint": {"name": "r", "operation": "read", **common}}]})
        check(mpi(2, "run", "job.json", "--only", "w", cwd=folder).rc == 0, "the write failed")
        files = [f for f in glob.glob(f"{folder}/data/**/*", recursive=True) if os.path.getsize(f) > 1 << 15]
        fifo(folder, random.choice([f for f in files if os.path.isfile(f)]), options=("--only", "r"))


def test_load():
    with Folder(MEMORY) as folder:
        make_model(folder + "/data/model")
        write_job(folder, load_job(folder))
        fifo(folder, random.choice(glob.glob(f"{folder}/**/*.safetensors", recursive=True)))


def test_deadline():
    """No signal comes, only the deadline."""
    with Folder(MEMORY) as folder:
        write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/data"}},
                           "phases": [{"io": {**IO, "name": "w", "operation": "write"}},
                                      {"io": {**IO, "name": "r", "operation": "read"}}]})
        check(mpi(2, "run", "job.json", "--only", "w", cwd=folder).rc == 0, "the write failed")
        make_fifo(glob.glob(f"{folder}/data/io/*")[0])
        r = mpi(2, "run", "job.json", "--only", "r", "--deadline", "2 s", *GRACE, cwd=folder)
        check(r.rc in (4, 9) and "at the deadline" in r.err, f"{r}")
        check(report(folder + "/results.h5")["status"] == "interrupted", f"{r}")


@pauses("1 s", "8 s", "40 s")
def test_limit_of_time(limit):
    """The phase's own limit is over, and a call from before it does not come back."""
    with Folder(MEMORY) as folder:
        write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}},
                           "dataset": {"format": "npz", "files": 16, "sample_bytes": 4096},
                           "phases": [{"generate": {}}, {"io": {**IO, "name": "w", "operation": "write"}},
                                      {"io": {**IO, "name": "r", "operation": "read", "seconds": limit}},
                                      {"train": {"null_steps": 0, "seconds": limit, "epochs": 1000}}]})
        check(mpi(2, "run", "job.json", "--only", "w", "--only", "generate", cwd=folder).rc == 0, "the write failed")
        make_fifo(glob.glob(f"{folder}/data/io/*")[0])
        make_fifo(glob.glob(f"{folder}/data/*.npz")[0])
        for phase in ("r", "train"):
            r = mpi(2, "run", "job.json", "--only", phase, *GRACE, cwd=folder)
            check(r.rc in (4, 9) and "limit of time" in r.err, f"{r}")
            found = report(folder + "/results.h5")
            check(found["status"] == "interrupted" and [p["name"] for p in found["phases"]] == [phase], f"{r}")
            nothing_left(folder)


@pauses(1.5, 8, 30)
def test_second_signal(apart_s):
    """With a second signal, nobody waits for the grace."""
    with Folder(MEMORY) as folder:
        write_job(folder, {"name": "ends", "stores": {"d": {"uri": f"file://{folder}/data", "engine": "psync"}},
                           "phases": [{"io": {**IO, "name": "w", "operation": "write"}}, {"io": {**IO, "name": "r", "operation": "read"}}]})
        check(mpi(2, "run", "job.json", "--only", "w", cwd=folder).rc == 0, "the write failed")
        make_fifo(random.choice(glob.glob(f"{folder}/data/io/*")))
        process = start(2, "run", "job.json", "--only", "r", "--grace", "300 s", "--force", cwd=folder)
        until(lambda: any(stuck_in_open(pid) for pid in ranks_of(process).values()), process)
        process.send_signal(signal.SIGINT)
        time.sleep(apart_s)  # signals that are closer are one
        r, _ = ends(folder, process)
        check("a signal, twice; " in r.err, f"{r}")


def test_traces():
    """Reading a trace that never ends."""
    with Folder(MEMORY) as folder:
        process = start(2, "replay", "/dev/zero", "--store", f"file://{folder}/data", *GRACE, cwd=folder)
        # The second thread is the one that signals come to.
        until(lambda: sum(len(os.listdir(f"/proc/{pid}/task")) > 1 for pid in ranks_of(process).values()) == 2, process)
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        r = finish(process, began, 100)
        check(r.rc in (1, 2) + INTERRUPTED, f"{r}")


def test_pipes():
    """What every rank reads, or what is read again, cannot come from a pipe, whoever writes into it, and however little: this is
    said before anything runs."""
    model = {"layers": 1, "hidden": 64, "heads": 1, "kv_heads": 1, "head_dim": 64}
    kinds = {"/phases/1/replay/trace": ({}, {"replay": {"trace": "PIPE"}}),
             "/phases/1/kvcache/arrivals/file": ({}, {"kvcache": {"model": model, "tiers": [{"kind": "cpu", "capacity": "8 MiB"}],
                                                                  "arrivals": {"file": "PIPE"}}}),
             "/dataset/list": ({"dataset": {"format": "raw", "sample_bytes": 4096, "files": 4, "list": "PIPE"}}, {"train": {"batch": 1}})}
    for (where, (more, phase)), ranks, written in itertools.product(kinds.items(), (1, 3), (False, True)):
        with Folder(MEMORY) as folder, contextlib.ExitStack() as stack:
            pipe = f"{folder}/pipe.csv"
            os.mkfifo(pipe)
            if written:  # its other end is open, and nothing comes
                stack.callback(os.close, os.open(pipe, os.O_RDWR))
            job = {"stores": {"d": {"uri": f"file://{folder}/data"}}, **more, "phases": [{"io": {**IO, "operation": "write"}}, phase]}
            write_job(folder, json.loads(json.dumps(job).replace("PIPE", pipe)))
            r = mpi(ranks, "run", "job.json", "--ignore-space", cwd=folder)
            check(r.rc == 2 and f"haul: job.json: {where}" in r.err and f"{pipe}: is a pipe, and it is read more than once" in r.err,
                  f"{where}, {ranks} ranks: {r}")
            check(not os.path.exists(f"{folder}/data") and not os.path.exists(f"{folder}/results.h5"), f"{os.listdir(folder)}")


# An epoch does not end within a test: where ranks wait for each other, as at its end, nobody looks for one that is stopped
# (docs/ending-early.md).
TWO_PHASES = {"name": "ends", "stall_limit": "0.5 s", "stores": {"d": {"uri": "null://d"}},
              "dataset": {"format": "raw", "files": 65536, "sample_bytes": 4096},
              "phases": [{"io": {**IO, "operation": "write", "name": "first"}},
                         {"train": {"batch": 1, "compute": "50 ms", "epochs": 10000, "null_steps": 0}}]}


LIVE = ("--live", "live")


def trains(folder):
    """Whether each rank has done a step of the second phase, before which they meet."""
    with contextlib.suppress(OSError, ValueError, IndexError, KeyError, TypeError):
        row = json.loads(open(f"{folder}/live").read().splitlines()[-1])
        return row["phase"] == "train" and row["step"] >= 3
    return False


def until_second(process, folder):
    until(lambda: trains(folder), process)


def both_phases(found, r):
    check([(p["name"], p["status"]) for p in found["phases"]] == [("first", "done"), ("train", "interrupted")]
          and found["status"] == "interrupted", f"{found}: {r}")


def stopped_rank(rank, ranks=4):
    with Folder(MEMORY) as folder:
        write_job(folder, TWO_PHASES)
        process = start(ranks, "run", "job.json", *GRACE, *LIVE, cwd=folder)
        until_second(process, folder)
        freeze(ranks_of(process)[rank])
        began, told = time.monotonic(), False
        while not told and (line := process.stderr.readline()):
            told = f"rank {rank} on" in line and "has not answered" in line
        check(told and time.monotonic() - began < HANGS_S, f"told: {told}, after {time.monotonic() - began:.1f} s")
        r, found = ends(folder, process)
        check(f"rank {rank} on" in r.err, f"{r}")
        both_phases(found, r)


def test_stopped_rank():
    stopped_rank(2)


def test_stopped_first_rank():
    """The next rank of its node has the last word."""
    stopped_rank(0)


def test_woken_rank():
    """A rank that was stopped takes part in the end of a run that is told to end."""
    with Folder(MEMORY) as folder:
        write_job(folder, TWO_PHASES)
        process = start(3, "run", "job.json", "--grace", "60 s", *LIVE, cwd=folder)
        until_second(process, folder)
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        r, found = ends(folder, process)
        both_phases(found, r)
        check(found["phases"][1]["error"] == "", f"{found['phases'][1]['error']}: {r}")


def test_lost_launcher():
    """mpiexec and its helpers kill what they have started, at once: all ranks publish what they have measured, and end. Where one of
    them is lost, the others do so."""
    for number, lost in ((signal.SIGHUP, None), (signal.SIGKILL, None), (signal.SIGKILL, 1), (signal.SIGKILL, 0)):
        with Folder(MEMORY) as folder:
            folder = os.path.realpath(folder)
            write_job(folder, TWO_PHASES)
            process = start(3, "run", "job.json", "--grace", "60 s", *LIVE, cwd=folder)
            until_second(process, folder)
            began = time.monotonic()
            os.kill(process.pid if lost is None else ranks_of(process)[lost], number)
            r = finish(process, began, 100)
            while ranks_in(folder):
                check(time.monotonic() - began < HANGS_S, f"{ranks_in(folder)} go on: {r}")
                time.sleep(0.02)
            nothing_left(folder)
            found = report(folder + "/results.h5")
            both_phases(found, r)
            error = found["phases"][1]["error"]
            check((error == "") if lost is None else error.startswith(f"the launcher ended the run; rank {lost} on "), f"{error}: {r}")
            with h5py.File(folder + "/results.h5") as f:
                steps = list(f["phases/1_train/ranks"]["steps"])
            check(sum(n > 0 for n in steps) == (3 if lost is None else 1), f"{lost}: {steps}")


class Silent:
    """A server that accepts, reads, and says nothing."""

    def __enter__(self):
        self.server = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port, self.kept, self.asked = self.server.getsockname()[1], [], 0
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                self.kept.append(connection)
                threading.Thread(target=self.read, args=(connection,), daemon=True).start()

    def read(self, connection):
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                self.asked += 1

    def __exit__(self, *_):
        self.server.close()
        for connection in self.kept:
            connection.close()


class Quiet(http.server.ThreadingHTTPServer):
    """A store that speaks as much of S3 as haul needs, until `quiet` says of a method and of how many came before that it
    says nothing any more, or a status."""
    daemon_threads = True

    def __init__(self, quiet):
        self.quiet, self.objects, self.asked, self.lock, self.over = quiet, {}, collections.Counter(), threading.Lock(), threading.Event()
        self.conditions, self.refuses, self.made, self.log = True, None, {}, []
        self.quotes = True  # RFC 9110's entity tags; False: as Ceph compares them
        super().__init__(("127.0.0.1", 0), Quiet.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()

    def etag(self, path):
        return f'"{hashlib.md5(self.objects.get(path, b"")).hexdigest()}"'

    def may_put(self, path, headers):
        if headers.get("If-None-Match") == "*":
            return path not in self.objects
        if "If-Match" not in headers:
            return True
        given, has = headers["If-Match"], self.etag(path)
        return path in self.objects and given == (has if self.quotes else has.strip('"'))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body=b"", size=None):
            path = self.path.partition("?")[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if size is None else size))
            self.send_header("ETag", self.server.etag(path))
            if path in self.server.made:
                self.send_header("Last-Modified", email.utils.formatdate(self.server.made[path], usegmt=True))
            self.end_headers()
            self.wfile.write(body)

        def do(self):
            s, (path, _, query) = self.server, self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with s.lock:
                quiet = s.quiet(self.command, s.asked[self.command])
                s.asked[self.command] += 1
            if quiet is True:
                s.over.wait()
                self.close_connection = True
            elif quiet:
                self.answer(quiet)
            elif self.command == "PUT" and s.refuses and "If-None-Match" in self.headers:
                self.answer(s.refuses)
            elif self.command == "PUT" and s.conditions and not s.may_put(path, self.headers):
                self.answer(412)
            elif self.command == "PUT":
                with s.lock:
                    s.objects[path], s.made[path] = body, time.time()
                    s.log.append(path)
                self.answer(200)
            elif self.command == "DELETE":
                self.answer(204 if s.objects.pop(path, None) is not None else 404)
            elif self.command == "POST":
                keys = re.findall(rb"<Key>(.*?)</Key>", body)
                for key in keys:
                    s.objects.pop(f"/bucket/{key.decode()}", None)
                self.answer(200, b"<DeleteResult>%s</DeleteResult>" % b"".join(b"<Deleted><Key>%s</Key></Deleted>" % k for k in keys))
            elif "uploads" in query:
                self.answer(200, b"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
            elif "list-type" in query:
                prefix = "/bucket/" + urllib.parse.parse_qs(query).get("prefix", [""])[0]
                found = b"".join(b"<Contents><Key>%s</Key><Size>%d</Size></Contents>" % (k[8:].encode(), len(v))
                                 for k, v in sorted(s.objects.items()) if k.startswith(prefix))
                self.answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated>%s</ListBucketResult>" % found)
            elif path not in s.objects:
                self.answer(404)
            elif self.command == "HEAD":
                self.answer(200, size=len(s.objects[path]))
            else:
                self.answer(200, s.objects[path])

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do


def job_on(server, folder, transport, phases, **more):
    write_job(folder, {"name": "ends", "phases": phases, "stores": {
        "d": {"uri": "s3://bucket/x", "transport": transport, "endpoints": [f"http://127.0.0.1:{server.server_port}"], **more}}})


KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
WRITE = {"io": {"operation": "write", "objects": 400, "size": "4 KiB", "block": "4 KiB", "store": "d"}}
# Seconds, of which a machine needs no more than half to come to its end; one that is very busy needs more.
GRACES = (8, 60)


def by_itself(r, what, grace):
    check("did not come to an end" not in r.err and r.seconds < grace + 30, f"{what}: {r}")


@pauses(*GRACES)
def test_requests_are_given_up(grace):
    """Requests that a store does not answer are given up within the grace, so ranks come to their end by themselves, with all figures."""
    for transport in ("native", "curl"):
        with Folder(MEMORY) as folder, Quiet(lambda method, n: method == "PUT" and n > 150) as server:
            job_on(server, folder, transport, [WRITE])
            process = start(2, "run", "job.json", "--grace", f"{grace} s", cwd=folder, env=KEYS)
            until(lambda: server.asked["PUT"] > 151, process)
            r, found = ends(folder, process)
            by_itself(r, transport, grace)
            p, = found["phases"]
            check(p["status"] == "interrupted" and p["measures"]["errors"] == 0 and not p.get("failures"), f"{p}")
            # All but the description, those that are unknown, and the few that a status round has not counted.
            check(p["measures"]["operations"] == len(server.objects) - 1, f"{p['measures']}: {len(server.objects)}")


@pauses(1, 6, 30)
def test_no_retry_after_a_stop(heard_s):
    """A store that is busy is asked no more once the run is to end, and the phase is interrupted, not failed."""
    for transport in ("native", "curl"):
        with Folder(MEMORY) as folder, Quiet(lambda method, n: method == "PUT" and n > 50 and 503) as server:
            job_on(server, folder, transport, [WRITE], retry={"attempts": 1000, "first": "300 ms", "longest": "300 ms"})
            process = start(1, "run", "job.json", "--grace", "60 s", cwd=folder, env=KEYS)
            until(lambda: server.asked["PUT"] > 60, process)
            process.send_signal(signal.SIGTERM)
            time.sleep(heard_s)
            asked = server.asked["PUT"]
            r = finish(process, time.monotonic(), 100)
            check(server.asked["PUT"] == asked, f"{server.asked} after {asked}")
            by_itself(r, transport, 60)
            p, = report(folder + "/results.h5")["phases"]
            check(p["status"] == "interrupted" and p["measures"]["errors"] == 0, f"{p}: {r}")


@pauses(*GRACES)
def test_removing_is_bounded(grace):
    """A replay, and `haul clean`, on a store that falls silent while they remove: they end, and say what remains."""
    with Folder(MEMORY) as folder, Quiet(lambda method, n: method in ("DELETE", "POST")) as server:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        process = start(2, "replay", TRACE, "--store", "s3://bucket/x", "--set", f"stores.store.endpoints={endpoint}",
                        "--speed", "max", "--size-scale", 0.00001, "--grace", f"{grace} s", cwd=folder, env=KEYS)
        until(lambda: server.asked["DELETE"] + server.asked["POST"] > 1, process)
        # All that was measured is done by then.
        r, found = ends(folder, process, status="done")
        by_itself(r, "replay", grace)
        check(" objects remain: `haul clean`" in r.out, f"{r}")
    with Folder(MEMORY) as folder, Quiet(lambda method, n: method == "HEAD" and server.cleans and n > 150) as server:
        server.cleans = False
        job_on(server, folder, "native", [WRITE])
        r = mpi(2, "run", "job.json", cwd=folder, env=KEYS)
        check(r.rc == 0, f"{r}")
        server.cleans, server.asked["HEAD"] = True, 0
        process = start(2, "clean", "job.json", "--grace", f"{grace} s", cwd=folder, env=KEYS)
        until(lambda: server.asked["HEAD"] > 151, process)
        process.send_signal(signal.SIGTERM)
        r = finish(process, time.monotonic(), 100)
        by_itself(r, "clean", grace)
        said = re.search(r"up to (\d+) objects remain: haul clean job.json", r.err)
        check(said and int(said[1]) == len([k for k in server.objects if "/io/0" in k or k[-1].isdigit()]), f"{r}: {len(server.objects)}")


def closed_terminal(words, folder):
    """Starts it in a terminal of its own, closes that while the second phase runs, and waits for its end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(words[0], words, environment())
    began = time.monotonic()

    def second():
        with contextlib.suppress(OSError):  # nohup lets go of the terminal
            while select.select([terminal], [], [], 0)[0] and os.read(terminal, 1 << 16):
                pass
        return trains(folder)
    while not second():
        check(time.monotonic() - began < HANGS_S, "the first phase does not end")
        time.sleep(0.02)
    os.close(terminal)
    return pid


def test_closed_terminal():
    """A run publishes its phase as interrupted, with and without a launcher; one under nohup goes on."""
    for ranks, before in ((1, []), (2, ["nohup"]), (2, [])):
        with Folder(MEMORY) as folder:
            folder = os.path.realpath(folder)
            write_job(folder, TWO_PHASES)
            words = [HAUL, "run", "job.json", *LIVE] if ranks == 1 else command(ranks, "run", "job.json", *LIVE)
            pid = closed_terminal(before + words, folder)
            if before:
                time.sleep(1)
                check(os.waitpid(pid, os.WNOHANG) == (0, 0), "the run under nohup has ended")
                os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
            while ranks_in(folder):  # which outlive MPICH's mpiexec
                time.sleep(0.02)
            both_phases(report(folder + "/results.h5"), words)


def test_silent_store():
    """A store over HTTP that does not answer: while requests are in flight, and before the first one."""
    phases = [{"io": {"operation": "get", "objects": 64, "size": "4 KiB", "block": "4 KiB", "store": "d"}},
              {"io": {"operation": "write", "objects": 64, "size": "4 KiB", "block": "4 KiB", "store": "d"}}]
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    for transport in ("native", "curl"):
        with Folder(MEMORY) as folder, Silent() as server:
            write_job(folder, {"name": "ends", "phases": phases[1:],
                               "stores": {"d": {"uri": "s3://bucket/x", "transport": transport,
                                                "endpoints": [f"http://127.0.0.1:{server.port}"]}}})
            process = start(2, "run", "job.json", *GRACE, cwd=folder, env=keys)
            until(lambda: server.asked > 0, process)
            ends(folder, process)
            process = start(1, "clean", "job.json", "--grace", "1 s", cwd=folder, env=keys)
            asked = server.asked
            until(lambda: server.asked > asked, process)
            process.send_signal(signal.SIGTERM)
            r = finish(process, time.monotonic(), 100)
            check(r.rc in INTERRUPTED and r.seconds < 1 + 30, f"clean: {r}")


if __name__ == "__main__":
    main()
