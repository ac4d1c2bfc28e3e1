# SPDX-License-Identifier: Apache-2.0
"""The sentence for a request that failed is composed in one place (backends/queue/failure.h); check_layers.py refuses a second."""
import re

# Calls that make a sentence, and what only failure.c takes from a request that failed.
CALL = re.compile(r"\b(err_set|err_wrap|log_say|snprintf|fprintf)\s*\(")
TAKES = re.compile(r"\brequest_text\s*\(|\bprotocol_status\b|\banswer\.attempts\b|->attempts\b")
HOME = ("backends/queue/failure.c",)
# A report tells of failures that were counted, from the results.
FREE = ("report/", "results-schema/")
COPY = re.compile(r'snprintf\s*\([^"]*"%s"\s*,')


def call_at(text, start):
    """The call whose opening parenthesis follows start, up to the closing one."""
    depth = 0
    for at in range(text.index("(", start), len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return text[start:at + 1]
    return text[start:]


def second_sentences(path, lines):
    """(line, sentence) for each call that words a failed request by itself."""
    if path in HOME or path.startswith(FREE):
        return
    text = "\n".join(lines)
    for found in CALL.finditer(text):
        call = call_at(text, found.start())
        if TAKES.search(call) and not COPY.match(call):
            yield (text.count("\n", 0, found.start()) + 1,
                   "words a failed request in its own way: failure_set (backends/queue/failure.h) has the one sentence")
