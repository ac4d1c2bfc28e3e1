# SPDX-License-Identifier: Apache-2.0
"""Generator of the sources of haul_extended: haul with one more account, measure, figure, target, table, option and
capability. Each of them is one line in the table that declares its kind. The lines below are all that is added, but for the
planted break of an invariant.

    extend.py SOURCE OUT

OUT gets the edited files under their own paths. The script prints, one path per line, the files that must be compiled for
the program: the edited files, and the files that include an edited header. Of those that include capability.h it prints
only capability.c, since a capability at the end of the list does not change the bits of the others."""
import os
import re
import sys

# File, pattern, and the lines that are inserted after the text that matches the pattern.
EDITS = (
    # An account, and the 2 ms at the end of each step that are charged to it.
    ("core/measure/account.h", r'\tX\(COPY, copy.*\n.*\n',
     '\tX(LOGGING, logging, "for logging", OTHER, "metrics that the framework writes after a step") \\\n'),
    ("workloads/train/step.c", r"account_switch\(&p->accounts, ACCOUNT_HAUL, s->met_ns\);\n",
     "\taccount_switch(&p->accounts, ACCOUNT_LOGGING, s->met_ns);\n"
     "\tclock_sleep_until(p->ctx->clock, s->met_ns + 2000000);\n"
     "\taccount_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));\n"),

    # A measure, and the lines that count it.
    ("workloads/train/train.h", r'\tX\(TRAIN_STEPS, "steps".*\n',
     '\tX(TRAIN_TOKENS, "tokens", "", SUM, "tokens of the samples read") \\\n'),
    ("workloads/train/step.c", r"rank\[TRAIN_SAMPLES\] \+= b->samples;\n",
     "\trank[TRAIN_TOKENS] += b->samples * p->options->tokens;\n"
     "\ttable_named(&p->tally->tables[TRAIN_TABLE_SOURCES], \"web\")[SOURCE_SAMPLES] += b->samples;\n"),

    # A figure of that measure, and a target for the figure.
    ("workloads/train/columns.c", r"static const struct figure train_rank_figures\[\] = {\n",
     '\tFIGURE_PER("tokens_per_second", "1/s", 1e9, OF(TRAIN_TOKENS), OF(TALLY_WALL_NS), "tokens over the wall time")\n'),
    ("workloads/train/columns.c", r"const struct target train_targets\[\] = {\n",
     '\t{.name = "target_tokens", .label = "rate of tokens", .unit = "1/s", .figure = "tokens_per_second",\n'
     '\t .help = "tokens per second of all ranks to reach; 0: none"},\n'),

    # A table with rows by name: its definition, and its line among the tables of training.
    ("workloads/train/train.h", r"#define TRAIN_TABLE_ENUM\(id, kind\) id,\n",
     '#define SOURCE_LIST(X) X(SOURCE_SAMPLES, "samples", "", SUM, "samples of that source")\n'
     "enum source_measure { SOURCE_LIST(MEASURE_ENUM) SOURCE_MEASURES };\n"),
    ("workloads/train/columns.c", r"static const struct table_kind epoch_table = (?:.*\n)*?};\n",
     "static const struct measure source_measures[] = {SOURCE_LIST(MEASURE_ROW)};\n"
     'static const struct table_kind source_table = {.name = "sources", .help = "a row per source",\n'
     '\t.key = TABLE_TEXT, .key_name = "source", .rows_max = 8,\n'
     "\t.columns = {.measures = source_measures, .measure_count = SOURCE_MEASURES}};\n"),
    ("workloads/train/train.h", r"#define TRAIN_TABLE_LIST\(X\) \\\n",
     "\tX(TRAIN_TABLE_SOURCES, source_table) \\\n"),

    # An option, and the struct member for its value.
    ("workloads/train/train.h", r"\tuint64_t null_steps;\n", "\tuint64_t tokens;\n"),
    ("workloads/train/options.c", r'\tOPT_U64\("epochs", struct train_options.*\n.*\n',
     '\tOPT_U64("tokens", struct train_options, tokens, .def = 512, .max = 1 << 20, .help = "tokens of a sample"),\n'),

    # A capability, a phase that needs it, and a store that has it.
    ("backends/capability.h", r'"cannot be written"\)',
     ' \\\n\tX(TOKENS, tokens, "cuts samples into tokens", "cannot cut samples into tokens")'),
    ("workloads/train/options.c", r"s->needs = BACKEND_RANGES;\n",
     "\t\ts->needs |= o->tokens > 1000 ? BACKEND_TOKENS : 0;\n"),
    ("backends/sim/sim.c", r"\.capabilities = ", "BACKEND_TOKENS | "),

    # A break of an invariant, for tests/system/test_invariant.py: in the rank that HAUL_PLANTED names, a queue forgets what is in
    # flight.
    ("workloads/common/slots.c", r"\t\ts->ready_count = 0;\n",
     '\t\tif (getenv("HAUL_PLANTED") && q->op[REQ_READ].operations > 1000 &&\n'
     '\t\t    strcmp(getenv("HAUL_PLANTED"), getenv("PMI_RANK")) == 0)\n'
     "\t\t\tq->free_ticket_count = q->channel.depth;\n"),
    ("workloads/common/slots.c", r"#include <stdlib.h>\n", "#include <string.h>\n"),
)


def extended(source, path):
    with open(os.path.join(source, path)) as f:
        text = f.read()
    for edited, behind, lines in EDITS:
        if edited != path:
            continue
        found = re.search(behind, text)
        if not found:
            sys.exit(f"{path}: nothing matches {behind!r} (tests/extended/extend.py)")
        text = text[:found.end()] + lines + text[found.end():]
    return text


def includes(source):
    """For each file of the layers: the files of haul that it includes."""
    found = {}
    for layer in ("core", "backends", "workloads", "plan", "results-schema", "ranks", "report", "import", "cli"):
        for folder, _, names in os.walk(os.path.join(source, layer)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path) as f:
                        found[os.path.relpath(path, source)] = re.findall(r'^#include "(.*)"', f.read(), re.M)
    return found


def reached(start, graph):
    """All files that include one of start, directly or through other files."""
    seen, more = set(), set(start)
    while more:
        seen |= more
        more = {path for path, included in graph.items() if seen.intersection(included)} - seen
    return seen


def main(source, out):
    edited = {path for path, _, _ in EDITS}
    for path in edited:
        text, target = extended(source, path), os.path.join(out, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target).read() != text:
            with open(target, "w") as f:
                f.write(text)
    graph = includes(source)
    capability = "backends/capability.h"
    headers = [path for path in edited if path.endswith(".h") and path != capability]
    again = reached(headers, graph) | edited | {"backends/capability.c"}
    for path in sorted(again):
        if path.endswith(".c"):
            print(path)


main(*sys.argv[1:])
