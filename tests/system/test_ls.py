# SPDX-License-Identifier: Apache-2.0
"""haul ls on local folders. test_ls_objects.py tests it on object stores."""
from haultest import *


def listed(*args, **more):
    r = alone("ls", *args, "--json", **more)
    check(r.rc == 0, f"{r}")
    found = json.loads(r.out)
    files = {e["name"]: e["size"] for e in found["entries"] if not e["name"].endswith("/")}
    folders = {e["name"] for e in found["entries"] if e["name"].endswith("/")}
    check(found["objects"] == len(files) and found["folders"] == len(folders), f"counts: {r}")
    check(found["bytes"] == sum(files.values()), f"bytes: {r}")
    return files, folders, found["more"]


def tree(folder):
    """Makes a folder with more than four pages of entries, and nested folders."""
    wanted, folders = {}, set()
    for i in range(1100):
        wanted[f"many/{i:04}"] = i
    wanted.update({"a": 1500, "deep/er/x y": 0, "deep/er/z%2B\"&=~": 12, "deep/\u00e4": 3})
    for name, size in wanted.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(bytes(size))
        while "/" in name:
            name = name.rsplit("/", 1)[0]
            folders.add(name + "/")
    return wanted, folders


def test_folders():
    with Folder() as folder:
        wanted, folders = tree(folder)
        for uri in (f"file://{folder}", f"file://{folder}/", "file://./"):
            files, found, more = listed(uri, cwd=folder)
            check((files, found, more) == ({"a": 1500}, {"many/", "deep/"}, False), f"{files} {found} {more}")
        files, found, more = listed(f"file://{folder}", "--recursive", "--max", "100000")
        check(files == wanted and found == folders and not more, f"{len(files)} of {len(wanted)}")
        files, found, more = listed(f"file://{folder}/many")
        check(len(files) == 1000 and more, f"by default: {len(files)} files, more: {more}")
        files, _, more = listed(f"file://{folder}/many", "--max", "1100")
        check(len(files) == 1100 and not more, f"--max 1100: {len(files)} files, more: {more}")
        files, _, more = listed(f"file://{folder}/many", "--max", "1099")
        check(len(files) == 1099 and more, f"--max 1099: {len(files)} files, more: {more}")
        files, _, _ = listed(f"file://{folder}/many", "--max", "1100", "--set", "engine=mmap")
        check(len(files) == 1100, f"with an option of the store: {len(files)} files")


def test_sorted():
    """Entries are sorted by name in each folder, whatever the order of the file system. If a folder has more entries than
    --max, the first ones are shown."""
    with Folder() as folder:
        wanted, _ = tree(folder)
        for more in [], ["--max", "7"]:
            found = json.loads(alone("ls", f"file://{folder}/many", "--json", *more).out)
            names = [e["name"] for e in found["entries"]]
            check(names == [f"{i:04}" for i in range(int(more[1]) if more else 1000)], f"{names[:10]}")
        found = json.loads(alone("ls", f"file://{folder}", "--json", "--recursive", "--max", "9999").out)
        names = [e["name"] for e in found["entries"] if not e["name"].startswith("many/0") and not e["name"].startswith("many/1")]
        check(names == ["a", "deep/", "deep/er/", "deep/er/x y", "deep/er/z%2B\"&=~", "deep/\u00e4", "many/"], f"{names}")


def test_text():
    with Folder() as folder:
        os.makedirs(f"{folder}/sub")
        for name, size in (("small", 7), ("large", 123456789)):
            with open(f"{folder}/{name}", "wb") as f:
                f.truncate(size)
        r = alone("ls", f"file://{folder}")
        lines = r.out.splitlines()
        check(r.rc == 0 and lines[:3] == [" 123.5 MB  large", "      7 B  small", "           sub/"],
              f"{r}")
        check(lines[3:] == [" 123.5 MB  in 2 objects, beside 1 folder"], f"{r}")
        r = alone("ls", f"file://{folder}", "--max", "1")
        check(r.out.splitlines()[-1].endswith("; there are more, --max shows them"), f"{r}")
        r = alone("ls", f"file://{folder}/sub")
        check((r.rc, r.out) == (0, "the folder is empty\n"), f"{r}")


def test_refusals():
    for args, rc, sentence in (
            (["file:///no/such"], 1, "file:///no/such: there is no such folder"),
            (["file:///etc/passwd"], 1, "file:///etc/passwd: there is no such folder"),
            (["mem://x"], 2, "mem:// keeps nothing from one run to the next: there is nothing to list"),
            (["sim://x"], 2, "sim:// keeps nothing from one run to the next: there is nothing to list"),
            (["file:///tmp", "--set", "engin=uring"], 2, '/stores/store/engin: unknown key; did you mean "engine"?'),
            (["file:///tmp", "--set", "engine"], 2, "--set engine: write it as path=value, as in train.batch=4"),
            (["/tmp"], 2, "/stores/store/uri: ")):
        r = alone("ls", *args)
        check(r.rc == rc and r.err.startswith(f"haul: {sentence}") and r.err.count("\n") == 1 and not r.out, f"{r}")


if __name__ == "__main__":
    main()
