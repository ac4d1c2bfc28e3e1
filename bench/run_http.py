#!/usr/bin/python3
"""Benchmark of haul's object stores against wrk and ab, on the same nginx over loopback with one thread each: it prints
medians, ratios and a verdict per row, for RESULTS.md.

    bench/run_http.py [--here] BENCH_HTTP [ROUNDS [SECONDS]]

BENCH_HTTP is the program of that name in the build. The script needs nginx, wrk, ab (packages-bench.txt), openssl, and
300 MB of /dev/shm. Each round runs both programs on each row, one after the other; a ratio is the median of the ratios of
the rounds. Both programs request the same object with the same headers.

As root, the script runs in its own network namespace with Debian's congestion control, cubic. With one that paces, such as
bbr, nginx spends time on timers, and the client's pattern of reading shifts that time by a fifth. If the namespace may not
have cubic, it takes reno, or else what there is; the first line of the output names it. With --here, or without root, the
script measures in the machine's own network.
"""
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

CONF = """worker_processes 1; pid {at}/pid; error_log {at}/error; daemon off; {user}
events {{ worker_connections 4096; }}
http {{
 access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 3600;
 open_file_cache max=1000; client_max_body_size 0; client_body_buffer_size 16m;
 client_body_temp_path {data}/body; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
 ssl_certificate {crt}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;
 server {{ listen 127.0.0.1:{http} reuseport; listen 127.0.0.1:{https} ssl reuseport; root {data};
  location /b/put/ {{ dav_methods PUT; create_full_put_path on; }} }}
}}
"""
MIB = 1 << 20
CONGESTION = "net.ipv4.tcp_congestion_control"
# The headers of haul's signed GET of a whole object.
HEADERS = ["x-amz-content-sha256: UNSIGNED-PAYLOAD", "x-amz-date: 20261121T000000Z", "range: bytes=0-{last}",
           "authorization: AWS4-HMAC-SHA256 Credential=a/20261121/us-east-1/s3/aws4_request, "
           "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=" + "0" * 64]
# Name, operation, TLS, bytes; then the bounds of haul's GB/s (at least) and CPU (at most) as ratios to the other program.
# wrk drops the bytes that it reads into a buffer of 8 KiB. In the rows "dropped", haul drops them, too.
ROWS = [
    ("GET 8 MiB", "get", False, 8 * MIB, 0.9, 1.0),
    ("GET 8 MiB, dropped", "drop", False, 8 * MIB, 0.9, 1.0),
    ("GET 64 KiB", "get", False, 64 << 10, 0.9, 1.6),
    ("GET 64 KiB, dropped", "drop", False, 64 << 10, 0.9, 1.6),
    ("GET 8 MiB, TLS", "get", True, 8 * MIB, 0.9, 1.0),
    ("GET 8 MiB, TLS, dropped", "drop", True, 8 * MIB, 0.9, 1.0),
    ("GET 64 KiB, TLS", "get", True, 64 << 10, 0.9, 1.6),
    ("GET 64 KiB, TLS, dropped", "drop", True, 64 << 10, 0.9, 1.6),
    ("PUT 8 MiB", "put", False, 8 * MIB, 0.9, None),
]
DEPTH = 8


def cpu_of(args, **more):
    """Runs a program; returns its output and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=True, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Nginx(servers.Server):
    def start(self):
        servers.need("nginx", "wrk", "ab")
        self.data = tempfile.mkdtemp(prefix="haul-bench-", dir="/dev/shm")
        self.tls = servers.Tls()
        self.tls.__enter__()
        self.http, self.https = servers.free_ports(2)
        for size in (8 * MIB, 64 << 10):
            os.makedirs(f"{self.data}/b/{size}")
            with open(f"{self.data}/b/{size}/0", "wb") as f:
                f.write(os.urandom(size))
        os.makedirs(f"{self.data}/b/put")
        with open(f"{self.data}/body8", "wb") as f:
            f.write(os.urandom(8 * MIB))
        crt, key = self.tls.pair("good")
        conf = self.write("conf", CONF.format(at=self.folder, data=self.data, crt=crt, key=key, http=self.http,
                                              https=self.https, user="user root;" if os.getuid() == 0 else ""))
        process = self.spawn("nginx", shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), "-c", conf, "-e",
                             self.path("error"))
        if not servers.wait_for(self.https, 10, process):
            raise RuntimeError("nginx does not start")

    def stop(self):
        super().stop()
        self.tls.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    def base(self, tls):
        return f"https://127.0.0.1:{self.https}" if tls else f"http://127.0.0.1:{self.http}"


def haul(bench, nginx, op, tls, size, seconds):
    """Runs bench_http; returns (GB/s, CPU seconds per GB)."""
    folder = "put" if op == "put" else str(size)
    store = f'{{"uri": "s3://b/{folder}", "endpoints": "{nginx.base(tls)}", "ca": "{nginx.tls.ca}"}}'
    out, _ = cpu_of([bench, op, store, "%u", "1", str(size), str(DEPTH), str(seconds)],
                    env={**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"})
    words = out.split()
    if words[words.index("failed") + 1] != "0" or int(words[-1]) > DEPTH:
        sys.exit(f"run_http.py: {out}")
    return float(words[0]), float(words[2])


def peer(nginx, op, tls, size, seconds):
    if op == "put":
        n = max(DEPTH, int(seconds * 100))
        out, cpu = cpu_of(["ab", "-k", "-q", "-c", str(DEPTH), "-n", str(n), "-u", f"{nginx.data}/body8", "-T",
                           "application/octet-stream", f"{nginx.base(tls)}/b/put/ab"])
        took = float(re.search(r"Time taken for tests:\s+([\d.]+)", out).group(1))
        return n * size / took / 1e9, cpu / (n * size / 1e9)
    began = time.monotonic()
    headers = [word for h in HEADERS for word in ("-H", h.format(last=size - 1))]
    out, cpu = cpu_of(["wrk", "-t1", f"-c{DEPTH}", f"-d{int(seconds)}", *headers, f"{nginx.base(tls)}/b/{size}/0"])
    took = time.monotonic() - began
    moved = int(re.search(r"(\d+) requests in", out).group(1)) * size / 1e9
    took = float(re.search(r"requests in ([\d.]+)s", out).group(1)) or took
    return moved / took, cpu / moved


def own_network(args):
    """Restarts the script in a network namespace; returns if the user is not root."""
    if os.geteuid() != 0:
        return
    wanted = " || ".join(f"sysctl -q -w {CONGESTION}={name} 2>/dev/null" for name in ("cubic", "reno"))
    script = f'ip link set lo up && {{ {wanted} || true; }} && exec "$@"'
    os.execvp("unshare", ["unshare", "-n", "sh", "-c", script, "sh", sys.executable, __file__, "--here", *args])


def main():
    args = [a for a in sys.argv[1:] if a != "--here"]
    if not args:
        sys.exit(__doc__)
    if len(args) == len(sys.argv) - 1:
        own_network(args)
    bench, rounds = args[0], int(args[1]) if len(args) > 1 else 7
    seconds = float(args[2]) if len(args) > 2 else 2
    with open("/proc/sys/" + CONGESTION.replace(".", "/")) as f:
        print(f"congestion control: {f.read().strip()}\n")
    with Nginx() as nginx:
        seen = {row[0]: [] for row in ROWS}
        for _ in range(rounds):
            for name, op, tls, size, _, _ in ROWS:
                seen[name].append((haul(bench, nginx, op, tls, size, seconds), peer(nginx, op, tls, size, seconds)))
    print("| one thread, 8 connections | haul GB/s | wrk or ab | ratio | haul CPU s/GB | wrk or ab | ratio | holds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, _, _, _, least, most in ROWS:
        pairs = seen[name]
        speed = statistics.median(h[0] / p[0] for h, p in pairs)
        cpu = statistics.median(h[1] / p[1] for h, p in pairs)
        holds = speed >= least and (most is None or cpu <= most)
        middle = [statistics.median(x) for x in ([h[0] for h, _ in pairs], [p[0] for _, p in pairs],
                                                 [h[1] for h, _ in pairs], [p[1] for _, p in pairs])]
        print(f"| {name} | {middle[0]:.2f} | {middle[1]:.2f} | {speed:.2f} | {middle[2]:.3f} | {middle[3]:.3f} | {cpu:.2f} | "
              f"{'yes' if holds else 'no'} |")


if __name__ == "__main__":
    main()
