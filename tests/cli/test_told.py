# SPDX-License-Identifier: Apache-2.0
"""What a reader is told. Each kind of claim that once said more than was known has its test, which stands in the table below; the words of
all plans and reports are those of a sentence."""
import glob
import json
import lzma
import os
import re
import tempfile

from clitest import check, haul, main, refused

SOURCE = os.environ["HAUL_SOURCE"]

# Kinds of claims, and where they are tested: the file below tests/, and the functions. A kind without a test that exists is an error.
TOLD = {
    # Judged by MLPerf's rules
    "closed is a list of keys, and all else is named": ("cli/test_closed.py", "test_each_option test_each_key_of_the_list test_what_was_tried"),
    "what neither job nor results show is a condition": ("cli/test_check.py", "test_categories test_results_in_memory test_memory_of_results"),
    "what only a run has is not known of a job": ("cli/test_editions.py", "test_published_vectors"),
    "open is what the edition's open division lists": ("cli/test_check.py", "test_open_caches test_open_processes"),
    "halves of a checkpoint submission": ("cli/test_check.py", "test_halves test_stores"),
    "submissions as they were published": ("cli/test_editions.py", "test_published_checkpoints test_published_trainings test_caches"),
    "one fact in import, ready job, class and edition": ("cli/test_editions.py", "test_all_agree test_subsets"),
    "a job of another edition is told by its keys": ("cli/test_check.py", "test_of_another_edition test_what_if"),
    "what is exported of a run that ended early, or is void": ("cli/test_export.py", "test_what_did_not_end test_training"),
    "units of published values": ("cli/test_validate.py", "test_refusals test_published_value_changed"),
    "run folders and published trees": ("cli/test_check.py", "test_run_folders"),
    "a number without a unit": ("cli/test_plan.py", "test_units_that_are_suspicious"),
    "the verdict stands first, and lines name their run": ("cli/test_check.py", "test_categories test_results"),
    "an index is built once, and searched five times": ("system/test_vector.py", "test_built_once test_built_once_resumed"),
    "of two numbers of files one wins": ("cli/test_plan.py", "test_two_numbers_of_files"),
    # Figures and claims about data
    "samples are counted, by size, or as planned": ("system/test_counted.py", "test_drawn_pairs test_by_size_and_as_planned test_the_same_everywhere"),
    "parts of a time are at most all of it": ("system/test_figures.py", "test_checkpoints_are_no_warmup"),
    "requests across a border": ("system/test_window.py", "test_few test_all"),
    "one window": ("system/test_figures.py", "test_one_window test_a_phase_within_its_warmup_counts_nothing"),
    "hits by their kinds": ("report/text/test_caches.c", "test_table"),
    "entries that are read while decoding are a choice": ("workloads/kvcache/test_steps.c", "test_steps test_modes"),
    "windows of attention in models": ("workloads/model/test_kv_model.c", "test_hybrid"),
    "requests of a trace that are cut": ("system/test_kvcache.py", "test_cut"),
    "bytes of a replayed log": ("system/test_replay.py", "test_bytes_of_an_iolog"),
    "requests of an operation, counted outside": ("system/test_object_mix.py", "test_requests_per_operation test_mix_counted_from_outside"),
    "requests of an operation on another transport": ("system/test_object_dialects.py", "test_requests_are_counted_outside"),
    "what is expected": ("cli/test_plan.py", "test_expected test_table_of_nodes"),
    "what a simulation expects is what a run gives": ("system/test_simulate.py", "test_as_runs test_slowest_of_many test_plain_io_across_borders"),
    "acceptance without side files": ("system/test_compare.py", "test_accept_without_side_files test_accept_each_criterion"),
    "part of a phase": ("system/test_compare.py", "test_part_of_a_phase"),
    "claims are the same everywhere": ("system/test_claims.py", "test_kinds test_more_kinds"),
    "a search that was stopped, or is undecided": ("system/test_find.py", "test_ends test_unknown test_killed test_signal"),
    "sentences of a search": ("report/test_found.c", "found outside stopped"),
    "causes that were seen": ("report/text/test_client_side.c", "busy_cores bytes_over_loopback"),
    "doubts, each at its border": ("report/test_doubts.c", "test_each_is_raised test_headlines"),
    "void sides of a comparison": ("report/test_compare.c", "test_void_sides"),
    "figures of a side are the same in text and page": ("system/test_compare.py", "test_in_turn test_only_the_same_phases"),
    "what a storage carries": ("plan/assess/test_assess.c", "trainings measured refused"),
    "a listing is told by its objects": ("system/test_figures.py", "test_a_listing_is_told_by_its_objects test_operations_are_what_was_asked_for"),
    "columns of one row belong together": ("system/test_figures.py", "test_outputs_agree test_more_outputs_agree test_every_figure_is_where_the_table_says"),
    "demotions are told": ("system/test_kvcache_shared.py", "test_capacity"),
    "the picture of an answer": ("cli/test_told.py", "test_pictures"),
    "configurations of models": ("workloads/model/test_config.c", "test_published_totals test_unknown_part"),
    "logs of other tools": ("workloads/replay/test_replay_log.c", "test_logs"),
    "keys that are no names of files": ("workloads/replay/test_replay_rows.c", "test_names test_long_names test_other_names"),
    "checkpoints of weights alone": ("system/test_distributed.py", "test_formats_and_weights_only test_counts_and_bytes_by_hand"),
    "a model to load is made": ("system/test_load.py", "test_ready_job"),
    "what is no workload": ("import/test_import_outside.py", "test_only_a_workload_is_one"),
    "other generations of DLIO's keys": ("import/test_import_outside.py", "test_generations_of_checkpoints test_generations_of_counts"),
    "an address is no name of a bucket": ("cli/test_plan.py", "test_bucket_before_an_address"),
    # Words
    "time that is left": ("ranks/run/test_progress.c", "test_time_left"),
    "criteria beside a score": ("report/text/test_caches.c", "test_criteria"),
    "options of other tools": ("cli/test_help.py", "test_options_of_other_tools test_plain_words"),
    "commands of other tools": ("import/test_import_mlpstorage.py", "test_words test_flags"),
    "one of a thing, and sentences": ("cli/test_told.py", "test_sentences"),
}


def test_each_kind_has_its_test():
    for kind, (path, functions) in TOLD.items():
        with open(f"{SOURCE}/tests/{path}", encoding="utf-8") as stream:
            text = stream.read()
        for name in functions.split():
            check(re.search(rf"^(def {name}\(|(static )?(void|int) {name}\()", text, re.M), f"{kind}: {path} has no {name}")


def fixtures(folder):
    for path in sorted(glob.glob(f"{SOURCE}/tests/fixtures/results/kinds/*.h5.xz")):
        name = f"{folder}/{os.path.basename(path)[:-3]}"
        with lzma.open(path) as packed, open(name, "wb") as out:
            out.write(packed.read())
        yield name


THINGS = "keys|values|requests|ranks|files|steps|samples|nodes|folders|phases|users|repeats|tokens|objects|threads|errors|runs|doubts|criteria|reasons"
ODD = re.compile(rf"(?<=[a-z,(;:·] )1 (more )?({THINGS})\b|,,|\.\.(?!\d|/|\.)|\( |at 0\.00 [kMGT]?B/s|\bnan\b|\binf\b")


def test_sentences():
    """No plan of a ready job and no report has a plural of one, two commas, or a number that is none."""
    with tempfile.TemporaryDirectory() as folder:
        said = [("report", path) for path in fixtures(folder)]
        said += [("plan", os.path.basename(path)[:-5]) for path in sorted(glob.glob(f"{SOURCE}/workloads/catalog/[a-z]*.json"))]
        for verb, name in said:
            r = haul(verb, name, env={"HAUL_DATA": "/nowhere", "HAUL_BUCKET": "account/bucket", "COLUMNS": "100"})
            words = " ".join(r.stdout.split())
            odd = ODD.search(words)
            check(r.stdout and not odd, f"{verb} {name}: {odd and words[max(odd.start() - 60, 0):odd.end() + 60]}: {r.stderr}")


def test_pictures():
    """A figure over nodes is of results that have such, and no answer of a search; the page draws that."""
    with tempfile.TemporaryDirectory() as folder:
        for path in fixtures(folder):
            answer = os.path.basename(path) in ("find.h5", "tune.h5", "assess.h5")
            r = haul("report", "--svg", f"{path}.svg", path)
            check(r.returncode in (0, 2) and os.path.exists(f"{path}.svg") == (r.returncode == 0), r)
            if answer:
                refused(r, "has the answer of a search", "--html")


main()
