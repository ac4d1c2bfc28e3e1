# SPDX-License-Identifier: Apache-2.0
"""Credentials of s3://: haul gets them from a shared file and from the metadata services of a container and an instance, and
renews them before they expire. A gateway verifies them in each case."""
import contextlib
import glob
import http.server
import json
import os
import resource
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["HAUL_SOURCE"], "tests", "servers"))
import servers  # noqa: E402
from haultest import HANGS_S, SANITIZED, Folder, check, finish, main, mpi, ranks_of, report, start, write_job  # noqa: E402
from test_ends import Silent  # noqa: E402

ROLE = "/latest/meta-data/iam/security-credentials/"


class Metadata(http.server.BaseHTTPRequestHandler):
    """Metadata services of an instance (version 2) and of a container. Keys are valid for server.lasts seconds."""

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def keys(self):
        self.server.handed += 1
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.server.lasts))
        return json.dumps({"Code": "Success", "AccessKeyId": servers.Rgw.KEY, "SecretAccessKey": servers.Rgw.SECRET,
                           "Token": "", "Expiration": ends})

    def do_PUT(self):
        good = self.path == "/latest/api/token" and "x-aws-ec2-metadata-token-ttl-seconds" in self.headers
        self.answer(200 if good else 400, "session-1" if good else "")

    def do_GET(self):
        if self.path == "/container" and self.headers.get("authorization") == "Basic tok":
            self.answer(200, self.keys())
        elif self.headers.get("x-aws-ec2-metadata-token") != "session-1":
            self.answer(401, "")
        elif self.path == ROLE:
            self.answer(200, "role one\n".replace(" ", "-"))
        elif self.path == ROLE + "role-one":
            self.answer(200, self.keys())
        else:
            self.answer(404, "")

    def log_message(self, *_):
        pass


class Service:
    def __init__(self, lasts):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
        self.server.lasts, self.server.handed = lasts, 0

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def run(folder, rgw, env, seconds=0, **more):
    job = {"name": "credentials", "stores": {"d": {"uri": "s3://keys/x", "endpoints": rgw.endpoint(), **more}},
           "dataset": {"store": "d", "format": "npy", "files": 8, "samples_per_file": 1, "sample_bytes": 4096},
           "phases": [{"generate": {}},
                      {"train": {"epochs": 4, "batch": 2, "compute": seconds / 16, "loader": {"workers": 1}}}]}
    path = write_job(folder, job)
    clean = {k: "" for k in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")}
    env = {**clean, "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", **env}
    r = mpi(1, "run", path, "--results", f"{folder}/r.h5", "--force", cwd=folder, env=env)
    check(servers.Rgw.SECRET not in r.out + r.err, f"a secret is shown: {r}")
    return r


def good(r, folder):
    check(r.rc == 0 and report(f"{folder}/r.h5")["status"] == "done", f"{r}")
    with open(f"{folder}/r.h5", "rb") as f:
        check(servers.Rgw.SECRET.encode() not in f.read(), "a secret is stored")


def test_shared_file(rgw):
    with Folder() as folder:
        with open(f"{folder}/keys", "w", encoding="ascii") as f:
            f.write("[default]\naws_access_key_id = nobody\naws_secret_access_key = x\n"
                    f"[ours]\naws_access_key_id = {rgw.KEY}\naws_secret_access_key = {rgw.SECRET}\n")
        env = {"AWS_SHARED_CREDENTIALS_FILE": f"{folder}/keys"}
        good(run(folder, rgw, env, profile="ours"), folder)
        good(run(folder, rgw, {**env, "AWS_PROFILE": "ours"}), folder)
        r = run(folder, rgw, env)
        check(r.rc == 1 and "InvalidAccessKeyId" in r.err, f"{r}")


def test_instance(rgw):
    with Folder() as folder, Service(3600) as service:
        env = {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url}
        good(run(folder, rgw, env), folder)
        check(service.server.handed == 1, f"keys are not fetched once per run, but {service.server.handed} times in all")


def test_container(rgw):
    with Folder() as folder, Service(3600) as service:
        env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": service.url + "/container"}
        r = run(folder, rgw, env)
        check(r.rc == 1 and "no credentials" in r.err, f"{r}")
        good(run(folder, rgw, {**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic tok"}), folder)


def test_renewal(rgw):
    """Keys that are valid for four seconds are renewed after three, before a request is refused."""
    with Folder() as folder, Service(4) as service:
        env = {"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url}
        good(run(folder, rgw, env, seconds=14), folder)
        # The run fetches the keys once, and renews them at least twice.
        check(service.server.handed >= 3, f"keys were fetched {service.server.handed} times")


PLANTED = "pLaNtEd5eCrEt"
PLAIN = {"raw": {"store": "d", "format": "raw", "files": 4, "sample_bytes": 100}}


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers everything with what it was asked, as an error or as a redirection, and with a secret of its own."""

    def answer(self):
        said = f"<Error><Code>{PLANTED}</Code><Message>{PLANTED} {self.path} {self.headers}</Message></Error>".encode()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.server.status, PLANTED)
        if self.server.location:
            self.send_header("Location", self.server.location + self.path)
        self.send_header("x-ms-error-code", PLANTED)
        self.send_header("Content-Length", str(0 if self.command == "HEAD" else len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def log_message(self, *_):
        pass


def shown_nowhere(folder, r, what, fails=True):
    """The secret is in no output, and in no file that the run has left but the job itself."""
    check(r.rc != 0 or not fails, f"{what}: the run does not fail: {r}")
    check(PLANTED not in r.out + r.err, f"{what}: a secret is shown: {r}")
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                check(name == "job.json" or PLANTED.encode() not in f.read(), f"{what}: a secret is in {name}")


def test_planted_secrets(_):
    """Secrets in the environment, in a redirection, in the body and the head of an error, in a URI and in an endpoint: none is shown
    by any verb, and none is stored."""
    quick = {"retry": {"attempts": 2, "first": "1 ms", "longest": "2 ms"}}
    sas = f"sv=2022-11-02&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00:00:00Z&sig={PLANTED}"
    kinds = {"s3://b/x": {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": PLANTED, "AWS_SESSION_TOKEN": PLANTED},
             "az://acct/box/x": {"AZURE_STORAGE_SAS_TOKEN": sas},
             "gs://b/x": {"GS_ACCESS_KEY_ID": "a", "GS_SECRET_ACCESS_KEY": PLANTED}}
    clean = {name: "" for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "GS_"))}
    clean = {**clean, "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true"}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_address[1]}"
    answers = [(403, ""), (400, ""), (500, ""), (307, "ftp://elsewhere"), (307, f"http://k:{PLANTED}@127.0.0.1:9"), (302, "gopher://x"),
               (200, ""), (307, f"http://127.0.0.1:9/?X-Amz-Signature={PLANTED}")]
    for uri, env in kinds.items():
        for server.status, server.location in answers:
            with Folder() as folder:
                write_job(folder, {"stores": {"d": {"uri": uri, "endpoints": here, **quick}}, "dataset": PLAIN["raw"],
                                   "phases": [{"generate": {}}]})
                what = f"{uri}, {server.status} {server.location[:12]}"
                shown_nowhere(folder, mpi(1, "run", "job.json", "--op-log", "ops.tsv", cwd=folder, env={**clean, **env}), what)
                if server.status != 200:
                    r = mpi(1, "ls", uri, "--set", f"endpoints={json.dumps(here)}", "--set", "retry.attempts=1", cwd=folder,
                            env={**clean, **env})
                    shown_nowhere(folder, r, "ls, " + what)
    server.shutdown()
    server.server_close()
    places = [{"uri": f"s3://AK:{PLANTED}@bucket/x"}, {"uri": f"gs://{PLANTED}@b/x"}, {"uri": f"s3:/AK:{PLANTED}@b"},
              {"uri": "s3://b/x", "endpoints": f"https://AK:{PLANTED}@h"}, {"uri": "s3://b/x", "endpoints": f"AK:{PLANTED}@h:9"},
              {"uri": "az://acct/box", "endpoints": f"https://h/?sig={PLANTED}"}, {"uri": f"s3://${{KEY}}:{PLANTED}@b/x"},
              {"uri": "s3://${USERED}/x"}]
    env = {**clean, **kinds["s3://b/x"], **kinds["az://acct/box/x"], "KEY": "k", "USERED": f"AK:{PLANTED}@b"}
    for store in places:
        for verb in (["run", "job.json"], ["plan", "job.json"], ["clean", "job.json"]):
            with Folder() as folder:
                write_job(folder, {"stores": {"d": store}, "dataset": PLAIN["raw"], "phases": [{"generate": {}}]})
                # A plan shows names of variables as they stand in the job, and opens no store of objects.
                fails = verb[0] != "plan" or "${USERED}" not in store["uri"]
                shown_nowhere(folder, mpi(1, *verb, cwd=folder, env=env), f"{verb[0]}, {store}", fails)
        with Folder() as folder:
            write_job(folder, {"stores": {"d": {"uri": "mem://d"}}, "dataset": PLAIN["raw"], "phases": [{"generate": {}}]})
            sets = [a for k, v in store.items() for a in ("--set", f"stores.d.{k}={v}")]
            shown_nowhere(folder, mpi(1, "run", "job.json", *sets, cwd=folder, env=env), f"--set, {store}")
            shown_nowhere(folder, mpi(1, "ls", store["uri"], *[a.replace("stores.d.", "") for a in sets[2:]], cwd=folder, env=env),
                          f"ls, {store}")


def crash(folder, env):
    """(the core files of a rank that ends by a signal while it waits for a store, whether this machine keeps them there).
    Checks the limit that the kernel heeds, and that no argument of a process has the secret."""
    with Silent() as server:
        write_job(folder, {"stores": {"d": {"uri": "s3://b/x", "endpoints": f"http://127.0.0.1:{server.port}"}}, "dataset": PLAIN["raw"],
                           "phases": [{"generate": {}}]})
        endless = resource.getrlimit(resource.RLIMIT_CORE)[1]
        process = start(1, "run", "job.json", "--force", cwd=folder, env=env,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (endless, endless)))
        began = time.monotonic()
        while not server.asked:
            check(process.poll() is None and time.monotonic() - began < HANGS_S, "the run asks for nothing")
            time.sleep(0.02)
        pid = ranks_of(process)[0]
        for command in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                check(PLANTED.encode() not in open(command, "rb").read(), f"a secret is in {command}")
        limit = resource.prlimit(pid, resource.RLIMIT_CORE)[0]
        check(limit == (endless if "HAUL_CORE" in env else min(1, endless) if endless >= 0 else 1), f"the limit is {limit}")
        os.kill(pid, signal.SIGQUIT)
        r = finish(process, began, 100)
        check(PLANTED not in r.out + r.err, f"a secret is shown: {r}")
    # A limit of the shell that is too low, and a machine that keeps core files elsewhere, leave nothing to look at.
    kept = "/" not in open("/proc/sys/kernel/core_pattern").read() and endless != 0
    return [open(core, "rb").read() for core in glob.glob(f"{folder}/core*")], kept


def test_core_file(_):
    """A crash leaves no core file, which would have the keys, unless somebody asks for it."""
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": PLANTED, "AWS_SESSION_TOKEN": PLANTED, "NO_PROXY": "127.0.0.1"}
    with Folder() as folder:
        cores, _ = crash(folder, env)
        check(not cores, "there is a core file")
    if SANITIZED:
        return  # whose memory is terabytes, most of it empty
    with Folder() as folder:
        cores, kept = crash(folder, {**env, "HAUL_CORE": "whole"})
        check(not kept or (len(cores) == 1 and PLANTED.encode() in cores[0]), f"{len(cores)} core files, or one without memory")


@contextlib.contextmanager
def gateway():
    with servers.Rgw() as rgw:
        rgw.bucket("keys")
        yield rgw


main(server=gateway)
