#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""References and man pages, from the tables of the program:

    docs/references.py build/release/haul [FOLDER]

writes reference-validation.md, reference-job.md, reference-results.md, reference-options.md, figures.md, man/haul.1, man/haul-job.5 and man/haul-results.5 into
FOLDER (docs/). The test "docs" writes them anew and compares, so whoever changes a table runs this afterwards."""
import json
import os
import re
import subprocess
import sys

MADE = "This page is made from the tables of the program by `docs/references.py`."
EXIT_STATUS = [("0", "the run is done"), ("1", "the run failed: a sentence says on which rank, node and object"),
               ("2", "the command line or the job is wrong: nothing was created"),
               ("4", "the run was interrupted; the results until then are kept"),
               ("8", "the run is done, but missed a target or met it by figures that do not count, and --strict was given; of haul accept: a criterion is not met; of haul check: not closed; of haul validate: a value differs"),
               ("9", "of haul check: closed, if the conditions that it lists hold, which a job or results cannot show")]


def haul(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def rows_of(lines, row, column):
    """(what row matches, lines of its help, where it begins) of each row of an aligned text, whose help may go on in lines from that
    column on."""
    rows = []
    for line in lines:
        found = row.match(line)
        if found and not line.startswith(" " * column):
            rows.append((found.group(1), [found.group(2) or ""], found.start(2)))
        elif rows and line.startswith("  "):
            rows[-1][1].append(line)
    return rows


def job_sections(program):
    """The introduction, and (path, help, [(key, value, help)]) of each section."""
    text = haul(program, "schema", "--reference")
    intro, *sections = re.split(r"^(?=/)", text, flags=re.M)
    out = []
    for section in sections:
        head, *lines = section.rstrip("\n").split("\n")
        path, said = head.split(": ", 1) if not head.startswith("/stores") else re.match(r"(.*?://): (.*)", head).groups()
        rows = []
        for name, parts, at in rows_of(lines, re.compile(r"  (\S+) +(.*)$"), 3):
            value, *said_first = parts.pop(0).split("   ", 1)
            # A long value goes on where it begins; help begins further in.
            while not said_first and parts and not parts[0].startswith(" " * (at + 1)):
                value, *said_first = f"{value} {parts.pop(0).strip()}".split("   ", 1)
            words = " ".join([*said_first, *parts])
            rows.append((name, value.strip(), " ".join(words.split())))
        out.append((path, said, rows))
    return intro.strip(), out


def verbs(program):
    """(verb, arguments, help, [(option, help)], example) of each verb."""
    out = []
    for line in haul(program, "help").split("\n"):
        found = re.match(r"  (\w+)", line)
        if found:
            text = haul(program, found.group(1), "--help")
            usage, said, *lines = text.rstrip("\n").split("\n")
            rows = [(name, " ".join(" ".join(parts).split()))
                    for name, parts, _ in rows_of(lines, re.compile(r"  (--(?:\S| (?! ))+)(?: {2,}(.*))?$"), 20)]
            out.append((found.group(1), usage.removeprefix("haul ").removesuffix(" [options]"), said, rows,
                        lines[-1].removeprefix("example: ")))
    return out


def cell(text):
    return text.replace("|", "\\|")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(cell(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def sentence(text):
    """Help as a sentence of its own; a name such as file:// keeps its letters."""
    return (text if ":" in text.split()[0] or text.startswith("haul") else text[0].upper() + text[1:]) + "."


def code(text):
    return f"`{text}`"


def job_page(program):
    intro, sections = job_sections(program)
    parts = [f"# Reference of jobs\n\n{MADE} `haul schema --reference` prints the same.\n\n{intro}\n"]
    for path, said, rows in sections:
        parts.append(f"## {path}\n\n{sentence(said)}\n\n"
                     + table(["key", "value", "meaning"], [(code(n), v, h) for n, v, h in rows]))
    return "\n".join(parts)


def options_page(program):
    parts = [f"# Reference of the command line\n\n{MADE} `haul VERB --help` prints the same for a verb.\n\n"
             + table(["exit status", ""], EXIT_STATUS)]
    for _, usage, said, rows, example in verbs(program):
        parts.append(f"## haul {usage}\n\n{sentence(said)}\n\n"
                     + table(["option", "meaning"], [(code(n), h) for n, h in rows]) + f"\nExample: `{example}`\n")
    return "\n".join(parts)


def results_of(program):
    """What all kinds of phases have (measures, tables), and the kinds without it."""
    kinds = json.loads(haul(program, "schema", "--results"))["phases"]
    common = [m for m in kinds[0]["measures"] if all(m in kind["measures"] for kind in kinds)]
    tables = [t for t in kinds[0]["tables"] if all(t in kind["tables"] for kind in kinds)]
    for kind in kinds:
        kind["measures"] = [m for m in kind["measures"] if m not in common]
        kind["tables"] = [t for t in kind["tables"] if t not in tables]
    return common, tables, kinds


WHAT = {"measures": ("Measures", "A row per rank. *Merged* says how the ranks' rows become the phase's."),
        "figures": ("Figures", "Computed from a row of measures, of one rank or merged."),
        "histograms": ("Latencies", "A histogram each.")}


def results_rows(kind, what):
    for row in kind[what]:
        yield [code(row["name"]), *([row["unit"]] if "unit" in row else []), *([row["merge"]] if "merge" in row else []),
               *([code(row["formula"])] if "formula" in row else []), row["help"]]


HEADS = {"measures": ["measure", "unit", "merged", "meaning"], "figures": ["figure", "unit", "formula", "meaning"],
         "histograms": ["latency", "of what"]}


def results_page(program):
    common, tables, kinds = results_of(program)
    parts = [f"# Reference of results\n\n{MADE} `haul schema --results` prints the same as JSON. [The results "
             "file](results.md) and [its schema](../results-schema/schema.md) say where all of it stands in results.h5.\n",
             "## Every kind of phase\n\n" + table(HEADS["measures"], results_rows({"measures": common}, "measures"))]
    parts += [f"### Table {t['name']}\n\n{sentence(t['help'])}\n\n"
              + table(HEADS["measures"], results_rows(t, "measures")) for t in tables]
    schema = json.loads(haul(program, "schema", "--results"))
    own = schema["own"]
    parts.append("## The run's own time\n\nAttributes of the root, by the clock of rank 0. `--json` has them in `own_seconds`, without "
                 "`own_`.\n\n" + table(["attribute", "unit", "meaning"], results_rows({"own": own}, "own")))
    parts.append("## Answers\n\nOf a run that was [asked a question](asking.md), groups of the file; `--json` has them under the same names.\n")
    for a in schema["answers"]:
        parts.append(f"### /{a['name']}\n\n{sentence(a['help'])}\n\n" + table(["attribute", "meaning"], results_rows(a, "attributes"))
                     + "\n" + table([f"column of /{a['name']}/{a['rows']}", "meaning"], results_rows(a, "columns")))
    for kind in kinds:
        parts.append(f"## {kind['name']}\n\n{sentence(kind['help'])}\n")
        parts += [f"### {title} of {kind['name']}\n\n{said}\n\n" + table(HEADS[what], results_rows(kind, what))
                  for what, (title, said) in WHAT.items() if kind[what]]
        for t in kind["tables"]:
            parts.append(f"### Table {t['name']} of {kind['name']}\n\n{sentence(t['help'])}\n\n"
                         + "\n".join(table(HEADS[what], results_rows(t, what)) for what in WHAT if t[what]))
    return "\n".join(parts)


FIGURES = """# The figures, each with one meaning

This page is made from a table of the program by `docs/references.py`. Text, page, CSV, JSON and `/summary` of results.h5 take a
figure from the same place, so they agree in value and in meaning; a test compares them.

A phase *measures* from the end of its `warmup` on: nothing before that counts in a figure, but the phase's `seconds` have it. A
phase that ends within its warm-up has no figures. *All together* is one quotient of sums over the ranks, not a mean of theirs.
What is not known is empty, null or –, never 0.
"""


def figures_page(program):
    shown = json.loads(haul(program, "schema", "--results"))["shown"]
    rows = [[f["name"], f["counts"], f["time"], f["ranks"]] for f in shown]
    places = [[f["name"], *[code(f[k]) if f[k] else "" for k in ("text", "json", "csv", "summary")]] for f in shown]
    return "\n".join([FIGURES, table(["figure", "what is counted", "over which time", "of which ranks"], rows),
                      "## Where each stands\n\nKeys of JSON are those of a phase, as `haul report --json` prints it; the page has "
                      "the same object.\n\n" + table(["figure", "text", "JSON", "CSV", "/summary"], places)])


VALIDATION = f"""# Reference of published values

{MADE} `haul validate` prints the same; [what others published](validation.md) says how to read it.
"""


def validation_number(value, unit):
    shown = f"{value:,.0f}" if abs(value - round(value)) <= 1e-12 * value else f"{value:.7g}"
    return f"{shown} {unit}".strip()


def validation_difference(part):
    return "none" if abs(part) <= 1e-9 else "< 0.001 %" if abs(part) < 5e-6 else f"{100 * part:+.3f} %"


def validation_page(program):
    """The table of haul validate, and for each source its rows."""
    out = json.loads(haul(program, "validate", "--json"))
    parts, sources = [VALIDATION], {}
    for row in out["rows"]:
        sources.setdefault(row["source"], []).append(row)
    for source, rows in sources.items():
        cells = []
        for r in rows:
            text = r["published_text"] is not None
            cells.append([r["of"], r["quantity"], code(r["published_text"]) if text else validation_number(r["published"], r["unit"]),
                          code(r["haul_text"]) if text else validation_number(r["haul"], r["unit"]),
                          validation_difference(0 if text else r["difference"]),
                          f"{100 * r['tolerance']:g} %" if r["tolerance"] else "none", r["state"]])
        parts.append(f"## {source}\n\n" + table(["of", "quantity", "published", "haul", "difference", "tolerance", ""], cells)
                     + "".join(f"\n{sentence(b)}\n" for b in dict.fromkeys(r["because"] for r in rows) if b))
    return "\n".join(parts)


def roff(text):
    """Text as a line of roff."""
    for sign, name in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ('"', "\\(dq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti"),
                       ("…", "..."), ("×", "x")):
        text = text.replace(sign, name)
    return "\\&" + text if text.startswith(".") else text


def man(name, section, said, parts):
    """A man page of parts (heading, text, [(term, text)])."""
    out = [f'.\\" Made from the tables of the program by docs/references.py.',
           f'.TH {name.upper().replace("-", chr(92) + "-")} {section} "" "haul" "haul"',
           ".SH NAME", f"{roff(name)} \\- {roff(said)}"]
    for heading, text, rows in parts:
        out.append(f'.{"SS" if heading.startswith(" ") else "SH"} "{roff(heading.strip())}"')
        out += [roff(line) for line in text.split("\n") if line.strip()]
        for term, meaning in rows:
            out += [".TP", f'.B "{roff(term)}"', roff(meaning) if meaning else "\\&"]
    return "\n".join(out) + "\n"


def haul_1(program):
    all_verbs = verbs(program)
    parts = [("SYNOPSIS", "haul VERB [options]", []),
             ("DESCRIPTION", "Measures the storage I/O of AI, from a laptop to thousands of MPI ranks: training, checkpoints, "
              "loading of models, and key-value caches of language models. A JOB is a file (haul-job(5)) or the name of a ready "
              "job, as haul catalog lists them. What a run measured is in an HDF5 file (haul-results(5)).", []),
             ("VERBS", "haul VERB \u002d\u002dhelp says the same of one verb.", [])]
    parts += [(f" haul {usage}", f"{said}. Example: {example}", rows) for _, usage, said, rows, example in all_verbs]
    parts += [("EXIT STATUS", "", EXIT_STATUS),
              ("ENVIRONMENT", "", [("HAUL_DATA", "folder below which most ready jobs keep their data"),
                                   ("HAUL_CATALOG", "folder of ready jobs, in place of the installed one"),
                                   ("HAUL_BUCKET", "bucket of the ready jobs of object stores")]),
              ("EXAMPLES", "mpiexec -n 4 haul run unet3d_demo", []),
              ("SEE ALSO", "haul-job(5), haul-results(5), mpiexec(1), h5dump(1)", [])]
    return man("haul", 1, "measures the storage I/O of AI", parts)


def haul_job_5(program):
    intro, sections = job_sections(program)
    parts = [("DESCRIPTION", intro, [])]
    parts += [(path, f"{said}.", [(f"{n}: {v}", h) for n, v, h in rows]) for path, said, rows in sections]
    return man("haul-job", 5, "jobs of haul", parts + [("SEE ALSO", "haul(1), haul-results(5)", [])])


def haul_results_5(program):
    common, tables, kinds = results_of(program)

    def terms(kind, what):
        for row in kind[what]:
            unit = f" ({row['unit']})" if row.get("unit") else ""
            how = f" (merged: {row['merge']})" if "merge" in row else f": {row['formula']}" if "formula" in row else ""
            yield row["name"] + unit, row["help"] + how

    parts = [("DESCRIPTION", "A run writes one HDF5 file, results.h5, with a group /phases/N_NAME for each phase. haul report "
              "shows it to people; any HDF5 tool reads it. A measure has a row per rank, and is merged over the ranks as it "
              "says; a figure is computed from measures.", []),
             ("EVERY KIND OF PHASE", "", list(terms({"measures": common}, "measures")))]
    parts += [(f" Table {t['name']}", f"{t['help']}.", terms(t, "measures")) for t in tables]
    for kind in kinds:
        parts.append((kind["name"].upper(), f"{kind['help']}.", []))
        parts += [(f" {title} of {kind['name']}", "", terms(kind, what)) for what, (title, _) in WHAT.items() if kind[what]]
        parts += [(f" Table {t['name']} of {kind['name']}", f"{t['help']}.", [row for what in WHAT for row in terms(t, what)])
                  for t in kind["tables"]]
    return man("haul-results", 5, "results files of haul", parts + [("SEE ALSO", "haul(1), haul-job(5), h5dump(1)", [])])


PAGES = {"reference-validation.md": validation_page, "reference-job.md": job_page, "figures.md": figures_page, "reference-results.md": results_page, "reference-options.md": options_page,
         "man/haul.1": haul_1, "man/haul-job.5": haul_job_5, "man/haul-results.5": haul_results_5}


def main():
    program = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    os.makedirs(os.path.join(folder, "man"), exist_ok=True)
    for name, page in PAGES.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(page(program))


if __name__ == "__main__":
    main()
