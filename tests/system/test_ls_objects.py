# SPDX-License-Identifier: Apache-2.0
"""haul ls and the operation log on an object store, which tests/servers/run.py starts and haul fills."""
import subprocess

from haultest import *
from test_ls import listed

STORE = json.loads(os.environ["HAUL_TEST_STORE"])


def test_object_store():
    sets = [a for k, v in STORE.items() if k != "uri" for a in ("--set", f"{k}={json.dumps(v)}")]
    job = {"name": "fill", "stores": {"data": STORE},
           "dataset": {"store": "data", "format": "raw", "files": 600, "sample_bytes": 100, "sample_bytes_stdev": 20,
                       "folder": "set one", "subfolders": 3},
           "phases": [{"generate": {"threads": 4}}]}
    with Folder() as folder:
        r = mpi(1, "run", write_job(folder, job), "--op-log", "ops.tsv.zst", cwd=folder)
        check(r.rc == 0, f"{r}")
        phase = report(f"{folder}/results.h5")["phases"][0]
        text = subprocess.run(["zstd", "-dc", f"{folder}/ops.tsv.zst"], capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in text.splitlines()[1:-1]]
    check(len(rows) == phase["measures"]["store_requests"], f"{len(rows)} rows, {phase['measures']['store_requests']} operations")
    endpoint = STORE["endpoints"]
    check({r[6] for r in rows} == {endpoint}, f"endpoints: { {r[6] for r in rows} }, wanted {endpoint}")
    check(any(r[2] == "PUT" and r[17] in ("200", "201") for r in rows), f"status: {rows[-1]}")
    files, folders, more = listed(STORE["uri"], *sets)
    check(folders == {"set one/"} and not files and not more, f"{files} {folders}")
    files, folders, more = listed(STORE["uri"], *sets, "--recursive", "--max", "5000")
    data = {n: s for n, s in files.items() if ".haul" not in n}
    check(len(data) == 600 and len(folders) == 4 and not more, f"{len(data)} objects, {folders}")
    put = {r[7]: int(r[5]) for r in rows if r[2] == "PUT"}
    root = STORE["uri"].split("://")[1]
    odd = {f"{root}/{n}": s for n, s in files.items()}.items() ^ put.items()
    check(not odd, f"{len(odd)} listed and written objects differ: {sorted(odd)[:2]} … {sorted(odd)[-2:]}")
    one = sorted(folders)[1]
    here, none, _ = listed(f"{STORE['uri']}/{one}", *sets)
    check({one + n for n in here} == {n for n in data if n.startswith(one)} and not none, f"{one}: {len(here)}")
    r = alone("ls", STORE["uri"] + "/nobody", *sets)
    check((r.rc, r.out) == (0, "the folder is empty\n"), f"{r}")
    if STORE["uri"].startswith("s3://"):
        r = alone("ls", STORE["uri"], *sets, env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        check((r.rc, r.out) == (1, "") and r.err == f"haul: {STORE['uri']}: the secret does not fit the access key (SignatureDoesNotMatch) (403, 1 attempt)\n", f"{r}")
        r = alone("ls", "s3://nosuchbucket/x", *sets)
        check((r.rc, r.out) == (1, "") and r.err == f"haul: s3://nosuchbucket/x: there is no such bucket (404, 1 attempt)\n", f"{r}")


main()
