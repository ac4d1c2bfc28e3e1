# SPDX-License-Identifier: Apache-2.0
"""Layering of the sources: reads the source files and reports violations of the structure.

    check_layers.py [FOLDER]        checks the tree below FOLDER, by default below $HAUL_SOURCE

It reports each of these, with a sentence that says what to do:
    - an include of a layer, or of a room in a layer, that the file may not know, and a file that has no room
    - a library's header outside the layers that own it
    - modules (X.c with X.h) that include each other in a circle, and files that call each other in one, or call what
      stands above them (check_calls.py)
    - a module of workloads/common/ that fewer than two kinds of phase use
    - a function that is defined in two files, or whose header is in another folder
    - printing and exiting outside cli/, and changes of the whole process outside cli/ and ranks/run/
    - a kind of phase compared as a word outside workloads/ and import/
    - floating-point arithmetic in cli/, which reads arguments and prints
    - variables that are neither const nor on a stack
    - a file of more than 600 lines, of tests and benches, too, and a function of more than 60
    - a second way to word a request that failed (check_failures.py)
    - a comment or a page that names a file that does not exist (check_names.py)
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_calls import calls_upward, circles_of_calls  # noqa: E402
from check_failures import second_sentences  # noqa: E402
from check_names import dead_names  # noqa: E402

KNOWS = {
    "core": {"core"},
    "facts": {"core", "facts"},
    "backends": {"core", "backends"},
    "workloads": {"core", "backends", "workloads"},
    "plan": {"core", "facts", "backends", "workloads", "plan"},
    "results-schema": {"core", "results-schema"},
    "simulate": {"core", "facts", "backends", "workloads", "plan", "results-schema", "simulate"},
    "ranks": {"core", "facts", "backends", "workloads", "plan", "results-schema", "ranks"},
    "report": {"core", "facts", "mlperf", "results-schema", "report"},
    "mlperf": {"core", "mlperf"},
    "import": {"core", "mlperf", "import"},
    "judge": {"core", "facts", "mlperf", "backends", "workloads", "plan", "results-schema", "simulate", "report", "import", "judge"},
    "cli": {"core", "facts", "mlperf", "backends", "workloads", "plan", "results-schema", "simulate", "ranks", "report",
            "import", "judge", "cli"},
}

# Rooms of a layer: the files in each, and the rooms that it depends on. A file may include those rooms and the rooms that
# they depend on. "content/" is a folder with everything below it. "store" is the files store.c and store.h directly in the
# layer, and "" is all other files there. The longest matching name decides. Rooms of future kinds and stores are listed
# already.
ROOMS = {
    "core": {
        "general": ([""], []),
        "content": (["content/"], ["general"]),
        "group": (["group/"], ["content"]),
        "measure": (["measure/"], ["group"]),
        "client": (["client/"], ["measure"]),
        "option": (["option/"], ["content"]),
        "rule": (["rule/"], ["option"]),
        "job": (["job/"], ["option"]),
    },
    "backends": {
        "contract": (["backend", "request", "stores", "store", "endpoint", "capability", "retry", "node_block"], []),
        "op_log": (["op_log/"], ["contract"]),
        "queue": (["queue/"], ["op_log"]),
        "file": (["file/"], ["contract"]),
        "dfs": (["dfs/"], ["contract"]),
        "mem": (["mem"], ["contract"]),
        "null": (["null"], ["contract"]),
        "sim": (["sim/"], ["contract"]),
        "http/wire": (["http/wire/"], ["contract"]),
        "http/curl": (["http/curl/"], ["http/wire"]),
        "http/native": (["http/native/"], ["http/wire"]),
        "http/auth": (["http/auth/"], ["http/wire"]),
        "http": (["http/"], ["http/curl", "http/native", "http/auth"]),
        "http/s3": (["http/s3/"], ["http"]),
        "http/azure": (["http/azure/"], ["http"]),
        # Google's store takes requests of S3's protocol.
        "http/gcs": (["http/gcs/"], ["http/s3"]),
        "table": (["table"], ["contract"]),
    },
    "workloads": {
        "contract": (["workload", "target"], []),
        "common": (["common/"], ["contract"]),
        "formats": (["formats/"], ["common"]),
        "dataset": (["dataset/"], ["formats"]),
        "model": (["model/"], ["dataset"]),
        "archive": (["archive/"], ["model"]),
        # Traces are written by one kind of phase and replayed by another.
        "trace": (["trace/"], []),
        "generate": (["generate/"], ["archive"]),
        "io": (["io/"], ["archive"]),
        "checkpoint": (["checkpoint/"], ["archive"]),
        "load": (["load/"], ["archive"]),
        "vector": (["vector/"], ["archive"]),
        "kvcache/tiers": (["kvcache/tiers/"], ["archive"]),
        "kvcache/requests": (["kvcache/requests/"], ["kvcache/tiers", "trace"]),
        "kvcache/trace": (["kvcache/trace/"], ["kvcache/requests", "trace"]),
        "kvcache": (["kvcache/"], ["kvcache/trace"]),
        # A trace may go through the tiers of a cache, which make rows of rows.
        "replay": (["replay/"], ["archive", "trace", "kvcache/trace"]),
        "train/sampler": (["train/sampler/"], ["dataset"]),
        "train/loader": (["train/loader/"], ["train/sampler"]),
        "train": (["train/"], ["train/loader", "archive", "checkpoint"]),
        "table": (["table"], ["generate", "io", "checkpoint", "load", "kvcache", "replay", "train", "vector"]),
    },
    "plan": {
        "pin": (["pin/"], []),
        "plan": ([""], ["pin"]),
        "search": (["search/"], ["plan"]),
        "series": (["series/"], ["search"]),
        "assess": (["assess/"], ["search"]),
    },
    "ranks": {
        "mpi": (["mpi/"], []),
        "node": (["node/"], ["mpi"]),
        "run": (["run/"], ["node"]),
    },
    "report": {
        "report": ([""], []),
        "text": (["text/"], ["report"]),
        "json": (["json/"], ["report"]),
        "csv": (["csv"], ["report"]),
        "html": (["html/"], ["json"]),
        "mlperf": (["mlperf/"], ["text"]),
        "accept": (["accept/"], ["json"]),
        # What the verbs call: it chooses the shape.
        "verbs": (["report"], ["text", "csv", "html", "mlperf", "accept"]),
    },
    "import": {
        "yaml": (["yaml/"], []),
        "import": ([""], ["yaml"]),
        "dlio": (["dlio/"], ["import"]),
        "kvcache": (["kvcache/"], ["import"]),
        "mlpstorage": (["mlpstorage/"], ["dlio", "kvcache", "vdbbench"]),
        "torchtitan": (["torchtitan/"], ["import"]),
        "vdbbench": (["vdbbench/"], ["import"]),
    },
}
# The rooms of workloads/ that are kinds of phase. Code that two of them share belongs to common/.
KINDS = ("generate", "io", "train", "checkpoint", "load", "kvcache", "replay", "vector")
# Modules of common/ that were made for a future kind of phase, and that kind: {"ring": "replay"}. Until the kind's folder
# exists, it counts as their user.
COMMON_AWAITS = {}

# A library's header, and the layers that may include it. Tests and benches may include anything.
LIBRARIES = {
    r"mpi\.h": {"ranks", "results-schema"},
    r"(hdf5|H5\w+)\.h": {"results-schema"},
    r"curl/.*": {"backends"},
    r"hwloc.*": {"plan", "ranks", "cli"},
    r"openssl/.*": {"backends", "mlperf"},
    r"expat\.h": {"backends"},
    r"yaml\.h": {"import"},
    r"xlsxwriter\.h": {"report"},
}
GENERATED = {"haul_build.h"}

# Words that only some folders may use, and what to do instead.
WORDS = (
    (r"\b(printf|vprintf|puts|putchar|perror)\s*\(|\b(stdout|stderr)\b", ("cli/",),
     "only cli/ prints: return a sentence in struct err, or take a FILE * from the caller"),
    (r"\bSTD(OUT|ERR)_FILENO\b", ("cli/", "ranks/run/"),
     "only cli/ and ranks/run/ know the process's output: take a descriptor from the caller"),
    (r"\b(exit|quick_exit)\s*\(", ("cli/",), "only cli/ exits: return a negative errno"),
    (r"\b(abort|_exit|_Exit|MPI_Abort)\s*\(", ("ranks/",), "only ranks/ aborts: return a negative errno"),
)
# A kind of phase that is compared as a word: a new kind with the same property would be missed.
KIND_WORD = re.compile(r'\bstrn?cmp\([^;]*"(%s)"' % "|".join(KINDS))
KIND_FOLDERS = ("workloads/", "import/")
# Arithmetic with real numbers: a figure or a rule, which is no matter of a command line. A literal that only changes the unit
# of a time is none.
RECKONS = re.compile(r"\b(fmax|fmin|fabs|floor|ceil|l?l?round|sqrt|exp|log\d*|pow)\s*\(|"
                     r"(?<![\w.])(?!1e-?9\b)(\d+\.\d*|\d+e-?\d+)|"
                     r"\bdouble \w+ = [^;]* [-+*/] ")
# Calls that change the whole process. They belong to where the process is set up, or to a backend's hook process_begin.
PROCESS = re.compile(r"\b(setenv|unsetenv|putenv|mallopt|prctl|setlocale|umask|chdir|setrlimit)\s*\(")
PROCESS_FOLDERS, PROCESS_HOOK = ("cli/", "ranks/run/"), "_process_begin"
# Allowed variables: the file, the name, and why it is needed.
VARIABLES = {
    # A signal handler can find data of its thread only in a thread-local variable.
    ("backends/file/mmap.c", "current"),
    # UCX calls the function that replaces its own without an argument of haul's.
    ("ranks/mpi/polite.c", "state"),
}

FILE_LINES, FUNCTION_LINES = 600, 60
SOURCES = (".c", ".h", ".py", ".sh", ".mjs", ".js")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\([^()]*(\([^()]*\))?[^()]*\)\)")


class File:
    def __init__(self, root, path):
        self.path = os.path.relpath(path, root)
        self.layer = self.path.split("/")[0]
        self.folder = os.path.dirname(self.path)
        self.module, self.ending = os.path.splitext(self.path)
        self.room = room_of(self.layer, self.path)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        self.lines = text.splitlines()
        self.code = blank(text).splitlines()
        self.includes = [(number, match.group(1) == '"', match.group(2))
                         for number, line in enumerate(self.lines, 1) if (match := INCLUDE.match(line))]


def blank(text):
    """The text without comments, string literals and macros. All lines keep their numbers."""
    text = NOT_CODE.sub(lambda m: '""' if m.group()[0] in "\"'" else "\n" * m.group().count("\n") + " ", text)
    lines, macro = [], False
    for line in text.split("\n"):
        macro = macro or line.lstrip().startswith("#")
        lines.append("" if macro else line)
        macro = macro and line.endswith("\\")
    return "\n".join(lines)


def room_of(layer, path):
    """The room's name; None if the layer has rooms and the file is in none of them; "" if the layer has no rooms."""
    inside = path[len(layer) + 1:]
    module = os.path.splitext(inside)[0]
    best = None
    for room, (places, _) in ROOMS.get(layer, {}).items():
        for place in places:
            here = inside.startswith(place) if place.endswith("/") else module == place or (
                not place and "/" not in inside)
            if here and (best is None or len(place) > len(best[0])):
                best = (place, room)
    return best[1] if best else None if layer in ROOMS else ""


def known_rooms(layer, room):
    known, new = set(), [room]
    while new:
        name = new.pop()
        if name not in known:
            known.add(name)
            new += ROOMS[layer][name][1]
    return known


def may_know(file, other):
    """Whether a file may include, and therefore call, what another one has."""
    if other.layer != file.layer:
        return other.layer in KNOWS[file.layer]
    return not file.room or not other.room or other.room in known_rooms(file.layer, file.room)


def files_of(root):
    for layer in KNOWS:
        for folder, _, names in os.walk(os.path.join(root, layer)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield File(root, os.path.join(folder, name))


def wrong_includes(file):
    if file.room is None:
        yield 1, f"is in no room of {file.layer}/: add it to a room in ROOMS of check_layers.py"
    for number, quoted, target in file.includes:
        if quoted and target in GENERATED:
            continue
        layer = target.split("/")[0]
        if quoted and (layer not in KNOWS or "/" not in target):
            yield number, f'"{target}" is not a path from the root: write it as layer/folder/file.h'
        elif quoted and layer not in KNOWS[file.layer]:
            yield number, (f"{file.layer} may not include {layer} ({target}): move what is needed down, or pass it in "
                           f"from above")
        elif quoted and layer == file.layer and file.room:
            room = room_of(layer, target)
            if room and room not in known_rooms(layer, file.room):
                yield number, (f"room {file.room} of {layer}/ may not include room {room} ({target}): move what both "
                               f"need to a room that both depend on")
        for pattern, owners in LIBRARIES.items():
            if re.fullmatch(pattern, target) and file.layer not in owners:
                yield number, f"<{target}> belongs to {', '.join(sorted(owners))}: call what they offer"


def long_parts(file):
    if len(file.lines) > FILE_LINES:
        yield 1, f"has {len(file.lines)} lines, more than {FILE_LINES}: split it by concept"
    start = None
    for number, line in enumerate(file.lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            length = number - start - 1
            if length > FUNCTION_LINES:
                yield start - 1, f"a function of {length} lines, more than {FUNCTION_LINES}: split it"
            start = None


def functions(file):
    """Definitions and declarations that other files can see: (line, name, is it a definition)."""
    depth, text, start = 0, "", 0
    for number, line in enumerate(file.code, 1):
        if depth == 0:
            start = start if text.strip() else number
            text += line + "\n"
            if re.search(r"[{;]|^}", line):
                head = ATTRIBUTE.sub("", re.split(r"[{;=]", ATTRIBUTE.sub("", text), maxsplit=1)[0]).strip()
                # The name of a function is in parentheses if there is a macro of the same name.
                match = re.match(r"(\w[\w\s*]*[\s*])(\w+)\s*\(|(\w+)\((\w+)\)\(", head)
                name = match and (match.group(2) or match.group(4))
                if match and not re.search(r"\b(static|typedef|extern)\b", match.group(1) or ""):
                    yield start, name, "{" in line
                text = ""
        depth = max(0, depth + line.count("{") - line.count("}"))


def variables(file):
    """Names of variables that are neither const nor on a stack."""
    depth = 0
    for number, line in enumerate(file.code, 1):
        text = line.strip()
        if text.startswith("static ") or (depth == 0 and re.match(r"[a-z]", line)):
            for more in file.code[number:number + 8]:
                if re.search(r"[;={]", text):
                    break
                text += " " + more.strip()
            head = ATTRIBUTE.sub("", re.split(r"[;={]", text, maxsplit=1)[0])
            head = re.sub(r"\[[^]]*\]", "", head).strip()
            ends = re.search(r"[;={]", text)
            stored = head.startswith("static ") or (ends and ends.group() == "=" and depth == 0)
            if head in ("static struct", "static union") or re.fullmatch(r"static (struct|union) \w+", head) and (
                    ends and ends.group() == "{"):
                yield number, "a struct"
            elif (stored and "(" not in head and not head.startswith(("extern", "typedef"))
                  and re.search(r"[\w*]\s+\*?\w+$|\*\w+$", head)
                  and not re.search(r"\bconst\b[^*]*$", head)):
                yield number, re.search(r"(\w+)$", head).group(1)
        depth += line.count("{") - line.count("}")


def wrong_words(file):
    function = ""
    for number, line in enumerate(file.code, 1):
        match = re.match(r"\w[\w\s*]*?(\w+)\(", line)
        function = match.group(1) if match else function
        for pattern, folders, sentence in WORDS:
            if not file.path.startswith(folders) and re.search(pattern, line):
                yield number, sentence
        if file.path.startswith("cli/") and RECKONS.search(line):
            yield number, ("cli/ reckons with real numbers: move the figure or the rule to the layer that knows what it is of, "
                           "and print what that returns")
        # What is blank in a text may be a comment, which has no call.
        if not file.path.startswith(KIND_FOLDERS) and "cmp(" in line and KIND_WORD.search(file.lines[number - 1]):
            yield number, ("compares a kind of phase as a word: ask for what its workload declares (workload_purpose), or for what "
                           "roles tell (phase_purpose)")
        if (PROCESS.search(line) and not file.path.startswith(PROCESS_FOLDERS)
                and not function.endswith(PROCESS_HOOK)):
            yield number, ("changes the whole process: do it where the process is set up (cli/, ranks/run/), or in the "
                           "backend's process_begin")
    for number, name in variables(file):
        if (file.path, name) not in VARIABLES:
            yield number, f"{name} is a variable that outlives its function: pass it in, or make it const"


def circles(files):
    """Modules that include each other, directly or through others: lists of (module, line, what it includes)."""
    modules = {file.module for file in files}
    edges = collections.defaultdict(dict)
    for file in files:
        for number, quoted, target in file.includes:
            other = os.path.splitext(target)[0]
            if quoted and other in modules and other != file.module:
                edges[file.module].setdefault(other, f"{file.path}:{number}")
    for group in components(edges):
        yield [(edges[a][b], b) for a in sorted(group) for b in sorted(edges[a]) if b in group]


def components(edges):
    """Tarjan: the strongly connected components of more than one node."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in order:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == order[node]:
            group = set(stack[stack.index(node):])
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10000)
    for node in list(edges):
        if node not in order:
            visit(node)
    return found


def lonely_common(files):
    """Modules of common/ that have fewer than two users. Users are kinds of phase, directly or through other modules of
    workloads/, and the layers above."""
    within = collections.defaultdict(set)
    users = collections.defaultdict(set)
    for file in files:
        targets = {os.path.splitext(target)[0] for _, quoted, target in file.includes
                   if quoted and target.startswith("workloads/")}
        kind = (file.room or "").split("/")[0]
        if file.layer != "workloads":
            users[file.layer] |= targets
        elif kind in KINDS:
            users[kind] |= targets
        within[file.module] |= targets
    for kind, modules in users.items():
        new = list(modules) if kind in KINDS else []
        while new:
            for other in within[new.pop()] - modules:
                modules.add(other)
                new.append(other)
    for file in files:
        if file.layer == "workloads" and file.room == "common" and file.ending == ".h":
            who = sorted(user for user in users if file.module in users[user])
            awaited = COMMON_AWAITS.get(os.path.basename(file.module))
            if len(who) + (awaited is not None and awaited not in users) < 2:
                yield file, (f"common/ is for code that two kinds of phase use, and only {' '.join(who) or 'none'} uses "
                             f"this: move it there")


def misplaced_functions(files):
    """Functions that are defined twice, declared twice, or not defined in or below the folder that declares them."""
    defined, declared = collections.defaultdict(list), collections.defaultdict(list)
    for file in files:
        for number, name, is_definition in functions(file):
            if is_definition == (file.ending == ".c"):
                (defined if is_definition else declared)[name].append((file, number))
    for name, places in sorted(defined.items()):
        # X_absent.c or absent.c defines the functions of a part that a build leaves out.
        built = [place for place in places if not place[0].module.endswith("absent")]
        for file, number in built[1:]:
            yield file, number, (f"{name} is also defined in {built[0][0].path}, and the linker takes the first that it "
                                 f"finds: give them different names")
        for header, number in declared.get(name, []):
            if not any((file.folder + "/").startswith(header.folder + "/") for file, _ in places):
                yield header, number, (f"{name} is defined in {places[0][0].path}: declare it in a header of "
                                       f"{places[0][0].folder}/")
    for name, places in sorted(declared.items()):
        for header, number in places[1:]:
            yield header, number, f"{name} is also declared in {places[0][0].path}: keep one of the declarations"


def long_tests(root):
    """Files of tests and benches that have too many lines."""
    for folder in ("tests", "bench"):
        for at, _, names in os.walk(os.path.join(root, folder)):
            for path in (os.path.join(at, name) for name in sorted(names) if name.endswith(SOURCES)):
                with open(path, encoding="utf-8") as stream:
                    lines = sum(1 for _ in stream)
                if lines > FILE_LINES:
                    yield os.path.relpath(path, root), f"has {lines} lines, more than {FILE_LINES}: split it by concept"


def check(root):
    """Returns sentences about violations, and the number of files that were read."""
    files = list(files_of(root))
    wrong = []
    for file in files:
        for part in (wrong_includes, long_parts, wrong_words):
            wrong += [f"{file.path}:{number}: {sentence}" for number, sentence in part(file)]
        wrong += [f"{file.path}:{number}: {sentence}" for number, sentence in second_sentences(file.path, file.lines)]
    for group in circles(files):
        wrong.append("modules that include each other in a circle: move what both need to a module of its own\n" +
                     "\n".join(f"    {where} includes {module}.h" for where, module in group))
    wrong += circles_of_calls(files, functions, components)
    wrong += calls_upward(files, functions, may_know)
    wrong += [f"{file.path}:1: {sentence}" for file, sentence in lonely_common(files)]
    wrong += [f"{path}:1: {sentence}" for path, sentence in long_tests(root)]
    wrong += [f"{file.path}:{number}: {sentence}" for file, number, sentence in misplaced_functions(files)]
    wrong += [f"{path}:{number}: {sentence}" for path, number, sentence in dead_names(root)]
    return wrong, len(files)


def main():
    wrong, count = check(sys.argv[1] if len(sys.argv) > 1 else os.environ["HAUL_SOURCE"])
    for sentence in wrong:
        print(sentence)
    print(f"{count} files, {len(wrong)} violations")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
