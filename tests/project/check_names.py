# SPDX-License-Identifier: Apache-2.0
"""Names of files in comments and pages: each must be the name of a file that exists, beside it or with its path.

check_layers.py calls this, so that a comment cannot outlive the file that it sends its reader to."""
import os
import re

# A comment, or a string, in which // begins no comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
NAME = re.compile(r"(?<![\w./*<{$-])(?:\.{1,2}/)*((?:[\w.-]+/)*[A-Za-z_][\w-]*\.(?:c|h|py|sh|md))\b(?![\w/(])")
# A name that stands for any name: NAME.c, test_NAME.py, X.h, FOLDER/table.c, more.c.
PLACEHOLDER = re.compile(r"(^|[/_])(NAME|X|FOLDER|more)([._/]|$)")
# Files that are not in this tree, and where they are.
FOREIGN = {
    "haul_build.h": "made by cmake/BuildId.cmake",
    "lustre_user.h": "Lustre's client", "beegfs_ioctl_functions.h": "BeeGFS's client",
    "linux/magic.h": "the kernel", "linux/in.h": "the kernel", "netinet/in.h": "the C library",
    "torch/serialization.py": "PyTorch", "torch/_tensor.py": "PyTorch", "torch/_utils.py": "PyTorch",
    "checkpointing/base_checkpointing.py": "DLIO", "base_checkpointing.py": "DLIO",
    "batch/setup.sh": "written by the site", "autogen.sh": "of another project",
}
READ = (".c", ".h", ".md", ".py", ".sh", ".cmake", "CMakeLists.txt")
SKIPPED = ("build", ".git")


def files_of(root):
    for at, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in names:
            yield os.path.relpath(os.path.join(at, name), root)


def prose(path, text):
    """The parts of a file in which names of files are names: (position, text). Programs name files as arguments, too, so of
    their lines only comments count."""
    if path.endswith(".md"):
        yield 0, text
    elif path.endswith((".c", ".h")):
        for found in TOKEN.finditer(text):
            if found.group()[0] == "/":
                yield found.start(), found.group()
    else:
        at = 0
        for line in text.split("\n"):
            if line.lstrip().startswith("#"):
                yield at, line
            at += len(line) + 1


def dead_names(root):
    """Sentences about names of files that do not exist: (path, line, sentence)."""
    paths = sorted(files_of(root))
    ends, bare = set(), set()
    for path in paths:
        parts = path.split("/")
        ends.update("/".join(parts[first:]) for first in range(len(parts)))
        bare.add(parts[-1])
    here = set(paths)
    for path in paths:
        if not path.endswith(READ):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        folder = os.path.dirname(path)
        for start, part in prose(path, text):
            for found in NAME.finditer(part):
                name = found.group(1)
                # Only C has headers and sources of one name in many folders. Elsewhere a name alone finds its file.
                known = name in ends if "/" in name else os.path.join(folder, name) in here or (
                    not path.endswith((".c", ".h")) and name in bare)
                if not known and name not in FOREIGN and not PLACEHOLDER.search(name):
                    line = text.count("\n", 0, start + found.start()) + 1
                    yield path, line, f"there is no file {name}: name it with its path, or take the name out"
