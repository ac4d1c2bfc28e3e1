# SPDX-License-Identifier: Apache-2.0
"""Circles of direct calls between .c files, which shared headers hide; check_layers.py refuses them.

A call through a table of functions is no direct call, so a callback is no circle. A circle is split: what many call goes into a
module below."""
import collections
import re

CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
STATIC = re.compile(r"static [\w\s*]*?(\w+)\(")
HEAD = re.compile(r"\w[^=]*\(")


def calls(sources, functions):
    """Who calls whom: {path: {path: "file:line calls name"}}. functions: (file) -> (line, name, is it a definition)."""
    owner = {}
    for file in sources:
        if not file.module.endswith("absent"):
            for _, name, is_definition in functions(file):
                if is_definition:
                    owner.setdefault(name, file)
    edges = collections.defaultdict(dict)
    for file in sources:
        own = {found.group(1) for line in file.code if (found := STATIC.match(line))}
        for number, line in enumerate(file.code, 1):
            if HEAD.match(line):  # the head of a definition, or a declaration
                continue
            for found in CALL.finditer(line):
                other = owner.get(found.group(1))
                if other and other is not file and found.group(1) not in own:
                    edges[file.path].setdefault(other.path, f"{file.path}:{number} calls {found.group(1)} of {other.path}")
    return edges


def circles_of_calls(files, functions, components):
    """Sentences about circles. components: the strongly connected components of edges."""
    sources = [file for file in files if file.ending == ".c"]
    edges = calls(sources, functions)
    for group in components(edges):
        yield (".c files that call each other in a circle: move what many call into a module below them\n" +
               "\n".join(f"    {edges[a][b]}" for a in sorted(group) for b in sorted(edges[a]) if b in group))
