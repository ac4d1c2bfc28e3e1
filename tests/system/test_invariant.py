# SPDX-License-Identifier: Apache-2.0
"""A broken invariant in one rank ends the run as a failure, soon, with a sentence that names it, and with the results so far. The
break is planted (tests/extended/extend.py): the queue of one rank forgets what is in flight."""
import re

from haultest import *


def job(**last):
    read = {"operation": "read", "depth": 4, "block": "4 KiB"}
    return {"name": "broken", "stores": {"data": {"uri": "sim://x", "latency": "100 us"}},
            "phases": [{"io": {"name": "whole", "size": "1 MiB", **read}},
                       {"io": {"name": "breaks", "size": "64 MiB", "passes": 0, "seconds": 100, **read, **last}}]}


def ended(folder, broken, nodes, *args):
    write_job(folder, job())
    return mpi(3, "run", "job.json", "--fake-nodes", nodes, *args, cwd=folder, env={"HAUL_PLANTED": str(broken)})


def good_until_then(folder):
    found = report(f"{folder}/results.h5")
    check(found["status"] == "failed", f"status {found['status']}")
    whole = found["phases"][0]
    check(whole["bytes_read"] == 3 << 20 and not whole.get("error"), f"the phase before: {whole}")
    return found


def breaks_on_first_node(broken):
    with Folder(MEMORY) as folder:
        r = ended(folder, broken, 1)
        said = r"rank %d\b.*a fault of haul: q->free_ticket_count < \S+ \(line \d+ of async\.c\) does not hold, though a request" % broken
        check(r.rc in (1, 9) and re.search(said, r.err), f"{r}")  # 9: the launcher was faster
        check(r.seconds < 60, f"the run goes on: {r}")
        found = good_until_then(folder)
        check("a fault of haul" in json.dumps(found), f"{found}")


def test_first_rank():
    breaks_on_first_node(0)


def test_last_rank():
    breaks_on_first_node(2)


def test_other_node():
    """It ends as where a rank is killed: the launcher ends the others, which keep what they have."""
    with Folder(MEMORY) as folder:
        r = ended(folder, 2, 3)
        check(r.rc != 0 and "a fault of haul" in r.err, f"{r}")
        check(r.seconds < 60, f"the run goes on: {r}")
        found = report(f"{folder}/results.h5")
        check(found["phases"][0]["bytes_read"] == 3 << 20, f"{found}")


def test_nothing_planted():
    with Folder() as folder:
        write_job(folder, job(seconds=1))
        r = mpi(3, "run", "job.json", cwd=folder)
        check(r.rc == 0 and report(f"{folder}/results.h5")["status"] == "done", f"{r}")


main()
