# SPDX-License-Identifier: Apache-2.0
"""Clocks of waits: every wait uses the monotonic clock. A wait on the time of day could last for hours, or not at all, when
somebody or NTP sets the clock. Only core/clock.c reads the time of day. A condition variable also waits on the time of day,
unless pthread_condattr_setclock gave it the other clock."""
import os
import re
import sys

SOURCE = sys.argv[1]
TIME_OF_DAY = re.compile(r"\b(CLOCK_REALTIME|sem_timedwait|pthread_mutex_timedlock|mq_timedreceive|gettimeofday)\b")
failed = 0
for layer in ("core", "backends", "workloads", "plan", "results-schema", "ranks", "report", "import", "cli"):
    for folder, _, names in os.walk(os.path.join(SOURCE, layer)):
        for name in sorted(n for n in names if n.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(folder, name), SOURCE)
            with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
                text = f.read()
            found = TIME_OF_DAY.search(text)
            if found and path != "core/clock.c":
                print(f"{path}: {found.group(1)} is the time of day; wait on CLOCK_MONOTONIC")
                failed += 1
            if "pthread_cond_timedwait" in text and "pthread_condattr_setclock(" not in text:
                print(f"{path}: pthread_cond_timedwait without pthread_condattr_setclock waits on the time of day")
                failed += 1
sys.exit(failed > 0)
