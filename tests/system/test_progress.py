"""Progress line: on a terminal it is updated in place, also under mpiexec. A pipe gets whole lines, --quiet switches it off,
and it never goes to standard output."""
import os
import subprocess

from haultest import Folder, check, command, environment, main, mpi, write_job


def job():
    # The rate makes the phase last long enough for the line to appear.
    return {"name": "progress", "stores": {"n": {"uri": "null://x"}},
            "phases": [{"io": {"operation": "write", "objects": 64, "size": "4 KiB", "block": "4 KiB", "passes": 1,
                               "rate": 40, "folder": "a"}}]}


def under_a_terminal(folder, *args):
    """Runs with a terminal as standard error; returns what the terminal and standard output got."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(command(2, "run", "job.json", "--force", *args), cwd=folder, env=environment(2),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    out = process.stdout.read()
    process.wait()
    os.close(ours)
    return shown.decode(), out.decode()


def test_terminal_below_mpiexec():
    with Folder() as folder:
        write_job(folder, job())
        shown, out = under_a_terminal(folder)
        check("\r\x1b[Kio" in shown and shown.endswith("\r\x1b[K"), f"{shown!r}")
        check("\x1b[K" not in out and "progress" in out, f"{out!r}")
        check(len([line for line in shown.split("\r\x1b[K") if line]) >= 2, f"the line is not updated: {shown!r}")


def test_quiet():
    with Folder() as folder:
        write_job(folder, job())
        shown, out = under_a_terminal(folder, "--quiet")
        check(shown == "" and out == "", f"{shown!r} {out!r}")


def test_pipe():
    with Folder() as folder:
        write_job(folder, job())
        r = mpi(2, "run", "job.json", cwd=folder)
        check(r.rc == 0 and "\x1b" not in r.err, f"{r}")
        check("left" not in r.out, f"{r}")


main()
