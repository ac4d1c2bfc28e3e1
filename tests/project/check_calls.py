# SPDX-License-Identifier: Apache-2.0
"""Direct calls between files, which shared headers hide: check_layers.py refuses circles of them, and calls of a room above. Bodies
in headers are read, too.

A call through a table of functions is no direct call, so a callback is no circle. A circle is split: what many call goes into a
module below."""
import collections
import re

CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
INLINE = re.compile(r"static inline [\w\s*]*?(\w+)\(")
STATIC = re.compile(r"static [\w\s*]*?(\w+)\(")
HEAD = re.compile(r"\w[^=]*\(")


def owners_of(files, functions):
    """{function: the file with its body}. A body may be in a header, where it is static inline."""
    owner = {}
    for file in files:
        if not file.module.endswith("absent"):
            for _, name, is_definition in functions(file):
                if is_definition:
                    owner.setdefault(name, file)
    for file in files:
        if file.ending == ".h":
            for line in file.code:
                if found := INLINE.match(line):
                    owner.setdefault(found.group(1), file)
    return owner


def calls(files, functions):
    """Who calls whom: {path: {path: (line, name)}}. functions: (file) -> (line, name, is it a definition)."""
    owner = owners_of(files, functions)
    edges = collections.defaultdict(dict)
    for file in files:
        own = {found.group(1) for line in file.code if (found := STATIC.match(line))}
        for number, line in enumerate(file.code, 1):
            if HEAD.match(line):  # the head of a definition, or a declaration
                continue
            for found in CALL.finditer(line):
                other = owner.get(found.group(1))
                if other and other is not file and found.group(1) not in own:
                    edges[file.path].setdefault(other.path, (number, found.group(1)))
    return edges


def circles_of_calls(files, functions, components):
    """Sentences about circles. components: the strongly connected components of edges. What X.c calls of its own X.h is none."""
    edges = calls(files, functions)
    for path, others in edges.items():
        others.pop(re.sub(r"c$", "h", path), None)
    for group in components(edges):
        lines = [f"    {a}:{edges[a][b][0]} calls {edges[a][b][1]} of {b}" for a in sorted(group) for b in sorted(edges[a]) if b in group]
        yield "files that call each other in a circle: move what many call into a module below them\n" + "\n".join(lines)


def calls_upward(files, functions, may_know):
    """Sentences about calls of a layer or a room that the file may not include: the function stands in a header that it may."""
    by_path = {file.path: file for file in files}
    for path, others in calls(files, functions).items():
        for other, (number, name) in sorted(others.items()):
            if not may_know(by_path[path], by_path[other]):
                yield (f"{path}:{number}: calls {name} of {other}, which stands above it: pass a function or a table in from "
                       f"above, or move the caller up")
