# SPDX-License-Identifier: Apache-2.0
"""Test of check_layers.py: it reports the one violation in each of many small source trees."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_layers  # noqa: E402

# What the trees below say of a module that waits.
check_layers.COMMON_AWAITS = {"ring": "replay"}
LONG = "".join(f"\tx += {i};\n" for i in range(61))

# Name, files of the tree, a part of the expected sentence; None if nothing is wrong.
TREES = (
    ("nothing wrong", {
        "core/err.h": "int err_set(int rc);\n",
        "core/err.c": '#include "core/err.h"\n\nint err_set(int rc)\n{\n\treturn rc;\n}\n',
        "core/option/option.h": '#include "core/err.h"\n'}, None),
    ("a layer above", {
        "core/err.h": '#include "ranks/run/run.h"\n', "ranks/run/run.h": "\n"},
     "core/err.h:1: core may not include ranks"),
    ("a path that is not from the root", {"core/err.c": '#include "err.h"\n'},
     "core/err.c:1: \"err.h\" is not a path from the root"),
    ("a command line that reckons", {
        "cli/check.c": "void add(double begun, double ended)\n{\n\tgap = fmax(gap, begun - ended);\n}\n"},
     "cli/check.c:3: cli/ reckons with real numbers"),
    ("a command line with a rule's bound", {"cli/run_folder.c": "static const double share = 0.8;\n"},
     "cli/run_folder.c:1: cli/ reckons with real numbers"),
    ("a command line with a rate", {
        "cli/check.c": "void say(const struct run *r)\n{\n\tdouble rate = r->bytes / r->seconds;\n}\n"},
     "cli/check.c:3: cli/ reckons with real numbers"),
    ("a command line that prints, with the unit of a time and numbers in a text", {
        "cli/check.c": "void say(uint64_t ns)\n{\n\tcli_say(\"0.8 of 1.5\", (double)ns / 1e9); /* 0.8 */\n}\n"}, None),
    ("a library of others", {"workloads/io/io.c": "#include <mpi.h>\n"},
     "workloads/io/io.c:1: <mpi.h> belongs to ranks, results-schema"),
    ("a kind of phase that includes another", {
        "workloads/io/io.c": '#include "workloads/train/train.h"\n', "workloads/train/train.h": "\n"},
     "room io of workloads/ may not include room train"),
    ("a training that includes a checkpoint", {
        "workloads/train/step.c": '#include "workloads/checkpoint/save.h"\n', "workloads/checkpoint/save.h": "\n"}, None),
    ("formats that know a data set", {
        "workloads/formats/raw.c": '#include "workloads/dataset/dataset.h"\n', "workloads/dataset/dataset.h": "\n"},
     "room formats of workloads/ may not include room dataset"),
    ("a sampler that knows the loader", {
        "workloads/train/sampler/rank_sequence.c": '#include "workloads/train/loader/loader.h"\n',
        "workloads/train/loader/loader.h": "\n"},
     "room train/sampler of workloads/ may not include room train/loader"),
    ("a store that knows the queue", {
        "backends/mem.c": '#include "backends/queue/queue.h"\n', "backends/queue/queue.h": "\n"},
     "room mem of backends/ may not include room queue"),
    ("a store that knows another", {
        "backends/sim/sim.c": '#include "backends/file/file.h"\n', "backends/file/file.h": "\n"},
     "room sim of backends/ may not include room file"),
    ("the operation log that knows the queue", {
        "backends/op_log/row.c": '#include "backends/queue/queue.h"\n', "backends/queue/queue.h": "\n"},
     "room op_log of backends/ may not include room queue"),
    ("HTTP's wire that knows curl", {
        "backends/http/wire/sum.c": '#include "backends/http/curl/transport.h"\n',
        "backends/http/curl/transport.h": "\n"},
     "room http/wire of backends/ may not include room http/curl"),
    ("HTTP that knows a dialect", {
        "backends/http/open.c": '#include "backends/http/s3/s3.h"\n', "backends/http/s3/s3.h": "\n"},
     "room http of backends/ may not include room http/s3"),
    ("MPI's groups that know the nodes", {
        "ranks/mpi/group.c": '#include "ranks/node/nodes.h"\n', "ranks/node/nodes.h": "\n"},
     "room mpi of ranks/ may not include room node"),
    ("a report that knows one of its shapes", {
        "report/series.c": '#include "report/text/page.h"\n', "report/text/page.h": "\n"},
     "room report of report/ may not include room text"),
    ("content that knows groups", {
        "core/content/fill.c": '#include "core/group/group.h"\n', "core/group/group.h": "\n"},
     "room content of core/ may not include room group"),
    ("measures that know the job", {
        "core/measure/hist.c": '#include "core/job/job.h"\n', "core/job/job.h": "\n"},
     "room measure of core/ may not include room job"),
    ("a file without a room", {"workloads/new.c": "\n"}, "workloads/new.c:1: is in no room of workloads/"),
    ("a folder without a room", {"workloads/other/new.c": "\n"}, "workloads/other/new.c:1: is in no room"),
    ("two headers in a circle", {
        "plan/a.h": '#include "plan/b.h"\n', "plan/b.h": '#include "plan/a.h"\n'},
     "in a circle: move what both need to a module of its own\n"
     "    plan/a.h:1 includes plan/b.h\n    plan/b.h:1 includes plan/a.h"),
    ("modules in a circle by their .c", {
        "plan/a.c": '\n#include "plan/b.h"\n', "plan/a.h": "\n", "plan/b.h": '#include "plan/c.h"\n',
        "plan/c.c": '#include "plan/a.h"\n', "plan/c.h": "\n"},
     "    plan/a.c:2 includes plan/b.h\n    plan/b.h:1 includes plan/c.h\n    plan/c.c:1 includes plan/a.h"),
    ("sources that call each other behind a shared header", {
        "plan/a.h": "int plan_a(int n);\nint plan_b(int n);\n",
        "plan/a.c": "int plan_a(int n)\n{\n\treturn plan_b(n);\n}\n",
        "plan/b.c": "int plan_b(int n)\n{\n\treturn n ? plan_a(n - 1) : 0;\n}\n"},
     "files that call each other in a circle: move what many call into a module below them\n"
     "    plan/a.c:3 calls plan_b of plan/b.c\n    plan/b.c:3 calls plan_a of plan/a.c"),
    ("sources that call each other through others, across rooms", {
        "plan/a.c": "int plan_a(int n)\n{\n\treturn plan_b(n);\n}\n",
        "plan/b.c": "int plan_b(int n)\n{\n\treturn plan_c(n);\n}\n",
        "plan/c.c": "int plan_c(int n)\n{\n\treturn n ? plan_a(0) : 0;\n}\n"}, "plan/c.c:3 calls plan_a of plan/a.c"),
    ("a circle through a body in a header", {
        "plan/a.c": "int plan_a(int n)\n{\n\treturn plan_b(n);\n}\n",
        "plan/b.h": "static inline int plan_b(int n)\n{\n\treturn plan_a(n);\n}\n"}, "plan/b.h:3 calls plan_a of plan/a.c"),
    ("a body in the header of the same source", {
        "plan/a.c": "int plan_a(int n)\n{\n\treturn plan_b(n);\n}\n",
        "plan/a.h": "int plan_a(int n);\nstatic inline int plan_b(int n)\n{\n\treturn plan_a(n);\n}\n"}, None),
    ("a call of what stands above, behind a header that may be included", {
        "report/shapes.h": "int report_text(void);\n", "report/text/text.c": "int report_text(void)\n{\n\treturn 0;\n}\n",
        "report/series.c": "int series_of(void)\n{\n\treturn report_text();\n}\n"},
     "report/series.c:3: calls report_text of report/text/text.c, which stands above it"),
    ("a callback, a static function of the same name, and a member", {
        "plan/a.c": "static int same(void)\n{\n\treturn 0;\n}\n\nint plan_a(int n)\n{\n\treturn plan_b(same, n);\n}\n",
        "plan/b.c": "int same(void)\n{\n\treturn 1;\n}\n\nint plan_b(int (*next)(void), int n)\n{\n\treturn n ? x.plan_a(n) : next();\n}\n"},
     None),
    ("folders in a circle", {
        "results-schema/x/a.h": '#include "results-schema/y/b.h"\n',
        "results-schema/y/b.h": '#include "results-schema/x/a.h"\n'}, "in a circle"),
    ("common/ of one kind", {
        "workloads/common/clean.h": "\n", "workloads/io/io.c": '#include "workloads/common/clean.h"\n'},
     "workloads/common/clean.h:1: common/ is for code that two kinds of phase use, and only io uses this"),
    ("common/ of two kinds, one of them by a data set", {
        "workloads/common/clean.h": "\n", "workloads/io/io.c": '#include "workloads/common/clean.h"\n',
        "workloads/dataset/dataset.h": '#include "workloads/common/clean.h"\n',
        "workloads/train/train.c": '#include "workloads/dataset/dataset.h"\n'}, None),
    ("common/ that waits for a kind", {
        "workloads/common/ring.h": "\n", "workloads/generate/one.c": '#include "workloads/common/ring.h"\n'}, None),
    ("common/ whose kind has come and does not use it", {
        "workloads/common/ring.h": "\n", "workloads/generate/one.c": '#include "workloads/common/ring.h"\n',
        "workloads/replay/phase.c": "\n"}, "and only generate uses this"),
    ("a function in two files", {
        "backends/http/wire/pace.c": "int pace_check(int a)\n{\n\treturn a;\n}\n",
        "workloads/io/pace.c": "int pace_check(int b,\n\t       int c)\n{\n\treturn b + c;\n}\n"},
     "pace_check is also defined in backends/http/wire/pace.c"),
    ("a function in two files, one in the place of the other", {
        "backends/op_log/zstd.c": "int op_log_open(void)\n{\n\treturn 0;\n}\n",
        "backends/op_log/absent.c": "int op_log_open(void)\n{\n\treturn 1;\n}\n",
        "backends/op_log/file.h": "int op_log_open(void);\n"}, None),
    ("static functions in two files", {
        "plan/a.c": "static int same(void)\n{\n\treturn 0;\n}\n",
        "plan/b.c": "static int same(void)\n{\n\treturn 1;\n}\n"}, None),
    ("a header of another folder", {
        "core/job/job.h": "/* int no(void); */\nint option_x(void) __attribute__((cold));\n",
        "core/option/x.c": "int option_x(void)\n{\n\treturn 0;\n}\n"},
     "core/job/job.h:2: option_x is defined in core/option/x.c: declare it in a header of core/option/"),
    ("a header for the folders below it", {
        "report/shapes.h": "int report_json(void);\n", "report/json/json.c": "int report_json(void)\n{\n\treturn 0;\n}\n"},
     None),
    ("a function declared twice", {
        "plan/a.h": "int plan_a(void);\n", "plan/b.h": "int plan_a(void);\n"},
     "plan/b.h:1: plan_a is also declared in plan/a.h"),
    ("a kind of phase as a word", {
        "plan/a.c": 'bool plan_a(const char *k)\n{\n\treturn strcmp(k, "train") == 0;\n}\n'}, "plan/a.c:3: compares a kind of phase as a word"),
    ("a kind of phase as a word in its workload", {
        "workloads/train/a.c": 'bool train_a(const char *k)\n{\n\treturn strcmp(k, "train") == 0;\n}\n'}, None),
    ("printing", {"plan/a.c": 'void plan_a(void)\n{\n\tprintf("%d", 1);\n}\n'}, "plan/a.c:3: only cli/ prints"),
    ("standard error", {"core/log.c": 'void log_x(void)\n{\n\tfprintf(stderr, "no");\n}\n'}, "core/log.c:3: only cli/ prints"),
    ("a stream of the caller", {"plan/a.c": 'void plan_a(FILE *f)\n{\n\tfprintf(f, "stdout"); /* stderr */\n}\n'}, None),
    ("printing in cli/", {"cli/main.c": 'int main(void)\n{\n\tprintf("x");\n\texit(1);\n}\n'}, None),
    ("exiting", {"ranks/run/run.c": "void run_x(void)\n{\n\texit(1);\n}\n"}, "ranks/run/run.c:3: only cli/ exits"),
    ("aborting", {"core/err.c": "void err_x(void)\n{\n\tabort();\n}\n"}, "core/err.c:3: only ranks/ aborts"),
    ("aborting in ranks/", {"ranks/mpi/group.c": "void group_x(void)\n{\n\tMPI_Abort(0, 1);\n}\n"}, None),
    ("the environment in a library", {
        "plan/pin/near.c": 'void pin_x(void)\n{\n\tsetenv("A", "b", 0);\n}\n'},
     "plan/pin/near.c:3: changes the whole process"),
    ("the heap in a backend's hook", {
        "backends/http/curl/x.c": "void curl_process_begin(void)\n{\n\tmallopt(1, 2);\n}\n"}, None),
    ("a static variable", {"core/log.c": "static int level = 1;\n"}, "core/log.c:1: level is a variable"),
    ("a variable of a file", {"core/log.c": "unsigned log_level = 1;\n"}, "core/log.c:1: log_level is a variable"),
    ("a static variable in a function", {
        "core/log.c": "void log_x(void)\n{\n\tstatic unsigned calls;\n\tcalls++;\n}\n"}, "core/log.c:3: calls is a variable"),
    ("a static pointer to what is const", {"core/log.c": "static const char *name;\n"}, "core/log.c:1: name is a variable"),
    ("a table of pointers", {"core/log.c": 'static const char *names[] = {"a"};\n'}, "core/log.c:1: names is a variable"),
    ("a static struct", {"core/log.c": "static struct {\n\tint a;\n} all;\n"}, "core/log.c:1: a struct is a variable"),
    ("const tables", {
        "core/log.c": 'static const char *const names[] = {"a"};\nconst struct x log_table[2] = {0};\n'
                      "static const struct {\n\tint a;\n} rows[] = {{1}};\nstatic int log_a(int b);\n"}, None),
    ("a second sentence for a failure", {
        "workloads/io/data.c": 'int io_x(void)\n{\n\treturn err_set(err, rc, "%s/%s: %s", uri, key,\n'
                               "\t\t       request_text(req));\n}\n"},
     "workloads/io/data.c:3: words a failed request in its own way"),
    ("a second sentence with the attempts", {
        "cli/ls.c": 'void ls_x(void)\n{\n\tfprintf(out, "%s (%u attempts)", key, req.answer.attempts);\n}\n'},
     "cli/ls.c:3: words a failed request in its own way"),
    ("a copy of the reason, and the one sentence", {
        "workloads/io/data.c": 'void io_x(void)\n{\n\tsnprintf(text, sizeof(text), "%s", request_text(req));\n'
                               "\tfailure_set(err, rc, store, req, NULL);\n}\n"}, None),
    ("a comment that names a file that is gone", {"core/log.c": "/* Rows are made in\n * log_row.c. */\n"},
     "core/log.c:2: there is no file log_row.c"),
    ("a comment that names files beside it, with a path, of others, and of no name", {
        "core/log.c": "/* See log.h, job/job.h, linux/magic.h and NAME.c; <errno.h> is a library's. */\n",
        "core/log.h": "", "core/job/job.h": ""}, None),
    ("a page that names a file that is gone", {"docs/results.md": "\nAs `core/row.c` says.\n", "core/log.c": ""},
     "docs/results.md:2: there is no file core/row.c"),
    ("a file of too many lines", {"cli/main.c": "\n" * 601}, "cli/main.c:1: has 601 lines, more than 600"),
    ("a test of too many lines", {"cli/main.c": "", "tests/cli/test_main.py": "\n" * 601},
     "tests/cli/test_main.py:1: has 601 lines, more than 600"),
    ("a long function", {"cli/main.c": "int main(void)\n{\n" + LONG + "}\n"},
     "cli/main.c:1: a function of 61 lines, more than 60"),
)


def sentences(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        return check_layers.check(root)[0]


def main():
    failed = 0
    for name, files, expected in TREES:
        said = sentences(files)
        if len(said) != (expected is not None) or expected and expected not in said[0]:
            print(f"{name}: expected {expected!r}, got {said}")
            failed += 1
    print(f"{len(TREES)} trees, {failed} not judged as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
