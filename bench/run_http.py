#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of haul's object stores against wrk and ab, on the same nginx over loopback with as many threads: it prints
medians, ratios and a verdict per row, for RESULTS.md.

    bench/run_http.py [--here] [--transport NAME] [--rows PART] BENCH_HTTP [ROUNDS [SECONDS [RUNS]]]

BENCH_HTTP is the program of that name in the build. --transport: what haul uses, native (the default) or curl. --rows: only
the rows whose name contains PART. The script needs nginx with its module "echo", wrk, ab (packages-bench.txt), openssl, and
300 MB of /dev/shm. Each round runs both programs on each row RUNS times (1), one after the other, in turn the one and the
other first. The figures of a round are those of its runs together; a ratio is the median of the ratios of the rounds. On a
machine whose speed changes from one second to the next, four runs of a second say more than one of four. The verdict is on
the ratios before they are rounded. Both programs request the same object with the same headers. With TLS, each agrees with
nginx on the cipher suite that it asks for first: haul on AES with 128 bits, wrk on 256.

As root, the script runs in its own network namespace with Debian's congestion control, cubic. With one that paces, such as
bbr, nginx spends time on timers, and the client's pattern of reading shifts that time by a fifth. If the namespace may not
have cubic, it takes reno, or else what there is; the first line of the output names it. With --here, or without root, the
script measures in the machine's own network.

As root, the script also mounts a /dev/shm of its own, whose files lie in huge pages. In pages of 4 KiB, nginx spends three
quarters of a PUT on the pages of the new file and of the one that it replaces, and each program gets what it leaves (0.9 GB/s
instead of 2.4). Without root, or where the kernel has no such pages, it takes /dev/shm as it is; the first line tells.

In the rows "not stored", nginx reads the body of a PUT into memory and drops it. In the others it writes a file. It keeps the
memory that it has freed: otherwise it now and then gives back the buffer of a body and touches its pages anew, which takes it
a sixth of its time, in some runs and not in others.

nginx has one core, and a client with one thread another one, where there are two. Otherwise the scheduler now and then puts
both on one core, because they wake each other up, and single runs differ by a third.
"""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "servers"))
import servers  # noqa: E402
from ports import free_ports, wait_for  # noqa: E402

CONF = """load_module {echo};
worker_processes 1; worker_rlimit_nofile {files}; pid {at}/pid; error_log {at}/error; daemon off; {user}
worker_cpu_affinity {core:b};
events {{ worker_connections 4096; }}
http {{
 access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 3600;
 open_file_cache max={cached}; client_max_body_size 0; client_body_buffer_size 16m;
 client_body_temp_path {body}/body; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
 ssl_certificate {crt}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;
 server {{ listen 127.0.0.1:{http} reuseport; listen 127.0.0.1:{https} ssl reuseport; root {data};
  location /b/put/ {{ dav_methods PUT; create_full_put_path on; add_header ETag '"0"' always; }}
  location /b/sink/ {{ echo_read_request_body; echo_exec @taken; }}
  location @taken {{ add_header ETag '"0"' always; return 204; }} }}
}}
"""
ECHO = "/usr/lib/nginx/modules/ngx_http_echo_module.so"
KEEPS_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
MIB = 1 << 20
HUGE = "huge=always"
CONGESTION = "net.ipv4.tcp_congestion_control"
# The headers of haul's signed GET of a whole object.
HEADERS = ["user-agent: haul", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "x-amz-date: 20261121T000000Z",
           "range: bytes=0-{last}",
           "authorization: AWS4-HMAC-SHA256 Credential=a/20261121/us-east-1/s3/aws4_request, "
           "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=" + "0" * 64]
# Name, operation, TLS, bytes; then the bounds of haul's GB/s (at least) and CPU (at most) as ratios to the other program, or
# None; then threads and connections, by default 1 and 8. wrk drops the bytes that it reads into a buffer of 8 KiB. In the
# rows "dropped", haul drops them, too. ab has one thread; both it and haul send the same bytes over and over.
KIB = 1 << 10
ROWS = [
    ("GET 8 MiB", "get", False, 8 * MIB, 1.2, 0.7),
    ("GET 8 MiB, dropped", "drop", False, 8 * MIB, 1.2, 0.7),
    ("GET 64 KiB", "get", False, 64 * KIB, 1.2, 0.9),
    ("GET 64 KiB, dropped", "drop", False, 64 * KIB, 1.2, 0.9),
    ("GET 64 KiB, 64 connections", "get", False, 64 * KIB, None, None, 1, 64),
    ("GET 64 KiB, 2 threads", "get", False, 64 * KIB, None, None, 2, 16),
    ("GET 8 MiB, TLS", "get", True, 8 * MIB, 1.0, 0.9),
    ("GET 8 MiB, TLS, dropped", "drop", True, 8 * MIB, 1.0, 0.9),
    ("GET 64 KiB, TLS", "get", True, 64 * KIB, 1.0, 1.0),
    ("GET 64 KiB, TLS, dropped", "drop", True, 64 * KIB, 1.0, 1.0),
    ("PUT 8 MiB", "put", False, 8 * MIB, 1.0, 1.1),
    ("PUT 8 MiB, not stored", "sink", False, 8 * MIB, None, None),
    ("PUT 64 KiB", "put", False, 64 * KIB, None, None),
    ("PUT 64 KiB, not stored", "sink", False, 64 * KIB, None, None),
]


class Row:
    def __init__(self, name, op, tls, size, least, most, threads=1, connections=8):
        self.name, self.op, self.tls, self.size, self.least, self.most = name, op, tls, size, least, most
        self.threads, self.connections = threads, connections
        self.writes = op in ("put", "sink")


def cores():
    return sorted(os.sched_getaffinity(0))


def cpu_of(args, threads=0, **more):
    """Runs a program, on a core of its own if it has one thread; returns its output and its CPU seconds."""
    if threads == 1:
        more["preexec_fn"] = lambda: os.sched_setaffinity(0, {cores()[-1]})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Nginx(servers.Server):
    """Serves a folder, which the caller keeps, or one of its own in /dev/shm with the objects of the rows."""

    def __init__(self, data=None):
        super().__init__()
        self.given = data

    def start(self):
        servers.need("nginx")
        if not os.path.exists(ECHO):
            raise RuntimeError("nginx lacks its module echo; packaging/packages-bench.txt")
        self.data = self.given or tempfile.mkdtemp(prefix="haul-bench-", dir="/dev/shm")
        if not self.given:
            self.fill()
        self.tls = servers.Tls()
        self.tls.__enter__()
        self.http, self.https = free_ports(2)
        crt, key = self.tls.pair("good")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        conf = self.write("conf", CONF.format(files=files, cached=min(25000, files // 2), at=self.folder, data=self.data,
                                              body=self.folder if self.given else self.data, crt=crt, key=key, http=self.http,
                                              https=self.https, user="user root;" if os.getuid() == 0 else "",
                                              core=1 << cores()[0], echo=ECHO))
        process = self.spawn("nginx", shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), "-c", conf, "-e",
                             self.path("error"), env={**os.environ, **KEEPS_MEMORY})
        if not wait_for(self.https, 10, process):
            raise RuntimeError("nginx does not start")

    def fill(self):
        for size in (8 * MIB, 64 * KIB):
            os.makedirs(f"{self.data}/b/{size}")
            with open(f"{self.data}/b/{size}/0", "wb") as f:
                f.write(os.urandom(size))
            with open(f"{self.data}/body{size}", "wb") as f:
                f.write(os.urandom(size))
        os.makedirs(f"{self.data}/b/put")

    def stop(self):
        super().stop()
        self.tls.stop()
        if not self.given:
            shutil.rmtree(self.data, ignore_errors=True)

    def base(self, tls):
        return f"https://127.0.0.1:{self.https}" if tls else f"http://127.0.0.1:{self.http}"


def haul(bench, nginx, row, transport, seconds):
    """Runs bench_http; returns (GB/s, CPU seconds per GB)."""
    folder = row.op if row.writes else str(row.size)
    store = {"uri": f"s3://b/{folder}", "endpoints": nginx.base(row.tls), "ca": nginx.tls.ca, "transport": transport}
    out, _ = cpu_of([bench, "put" if row.writes else row.op, json.dumps(store), "%u", "1", str(row.size),
                     str(row.connections // row.threads), str(seconds), str(row.threads)], row.threads,
                    env={**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"})
    words = out.split()
    if words[words.index("failed") + 1] != "0" or int(words[-1]) > row.connections:
        sys.exit(f"run_http.py: {out}")
    return float(words[0]), float(words[2])


def peer(nginx, row, seconds):
    """Runs wrk, or ab for writes; returns the same."""
    if row.writes:
        # About as long as haul's run, at the rate of a machine on which ab moves 1 GB/s to a file and 4 GB/s to nowhere.
        n = max(row.connections, int(seconds * min(1e9 / row.size, 8000) * (4 if row.op == "sink" else 1)))
        out, cpu = cpu_of(["ab", "-k", "-q", "-c", str(row.connections), "-n", str(n), "-u", f"{nginx.data}/body{row.size}", "-T",
                           "application/octet-stream", f"{nginx.base(row.tls)}/b/{row.op}/ab"], row.threads)
        took = float(re.search(r"Time taken for tests:\s+([\d.]+)", out).group(1))
        return n * row.size / took / 1e9, cpu / (n * row.size / 1e9)
    began = time.monotonic()
    headers = [word for h in HEADERS for word in ("-H", h.format(last=row.size - 1))]
    out, cpu = cpu_of(["wrk", f"-t{row.threads}", f"-c{row.connections}", f"-d{max(1, int(seconds))}", *headers,
                       f"{nginx.base(row.tls)}/b/{row.size}/0"], row.threads)
    took = time.monotonic() - began
    moved = int(re.search(r"(\d+) requests in", out).group(1)) * row.size / 1e9
    took = float(re.search(r"requests in ([\d.]+)s", out).group(1)) or took
    if not moved and seconds < 30:  # a busy machine
        return peer(nginx, row, 2 * seconds + 1)
    return moved / took, cpu / moved


def together(runs):
    """(GB/s, CPU seconds per GB) of several runs of the same length."""
    speed = statistics.mean(run[0] for run in runs)
    return speed, statistics.mean(run[0] * run[1] for run in runs) / speed


def one_round(given, nginx, row, number):
    """Runs both programs in turn; returns the figures of haul and of the other one."""
    ours, theirs = [], []
    for i in range(number * given.runs, (number + 1) * given.runs):
        if i % 2:
            theirs.append(peer(nginx, row, given.seconds))
        ours.append(haul(given.bench, nginx, row, given.transport, given.seconds))
        if not i % 2:
            theirs.append(peer(nginx, row, given.seconds))
    return together(ours), together(theirs)


def own_machine(here):
    """Restarts the script with its own /dev/shm and, unless `here`, its own network; returns if the user may not do that."""
    flags = ["-m"] if here else ["-m", "-n"]
    if os.geteuid() != 0 or subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return
    script = f"mount -t tmpfs -o {HUGE},noatime,size=2g none /dev/shm 2>/dev/null; "
    if not here:
        wanted = " || ".join(f"sysctl -q -w {CONGESTION}={name} 2>/dev/null" for name in ("cubic", "reno"))
        script += f"ip link set lo up && {{ {wanted} || true; }} && "
    os.execvp("unshare", ["unshare", *flags, "sh", "-c", script + 'exec "$@"', "sh", sys.executable, __file__, "--inside",
                          *sys.argv[1:]])


def has_huge_pages():
    with open("/proc/mounts") as f:
        return any(line.split()[1] == "/dev/shm" and HUGE in line for line in f)


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--inside", action="store_true")  # own_machine has been here.
    parser.add_argument("--transport", choices=("native", "curl"), default="native")
    parser.add_argument("--rows", default="")
    parser.add_argument("bench")
    parser.add_argument("rounds", type=int, nargs="?", default=7)
    parser.add_argument("seconds", type=float, nargs="?", default=2)
    parser.add_argument("runs", type=int, nargs="?", default=1)
    return parser.parse_args()


def main():
    given = arguments()
    if not given.inside:
        own_machine(given.here)
    rows = [row for row in (Row(*r) for r in ROWS) if given.rows in row.name]
    with open("/proc/sys/" + CONGESTION.replace(".", "/")) as f:
        print(f"congestion control: {f.read().strip()}; transport: {given.transport}; {given.rounds} rounds of {given.runs} x "
              f"{given.seconds} s; files in {'huge' if has_huge_pages() else 'ordinary'} pages\n")
    with Nginx() as nginx:
        seen = {row: [] for row in rows}
        for i in range(given.rounds):
            for row in rows:
                seen[row].append(one_round(given, nginx, row, i))
    print("| one thread and 8 connections, unless said | haul GB/s | wrk or ab | ratio | haul CPU s/GB | wrk or ab | ratio | holds |")
    print("|---|---|---|---|---|---|---|---|")
    for row, pairs in seen.items():
        speed = statistics.median(h[0] / p[0] for h, p in pairs)
        cpu = statistics.median(h[1] / p[1] for h, p in pairs)
        holds = "–" if row.least is None else "yes" if speed >= row.least and cpu <= row.most else "no"
        middle = [statistics.median(x) for x in ([h[0] for h, _ in pairs], [p[0] for _, p in pairs],
                                                 [h[1] for h, _ in pairs], [p[1] for _, p in pairs])]
        print(f"| {row.name} | {middle[0]:.2f} | {middle[1]:.2f} | {speed:.2f} | {middle[2]:.3f} | {middle[3]:.3f} | {cpu:.2f} | "
              f"{holds} |")


if __name__ == "__main__":
    main()
