# SPDX-License-Identifier: Apache-2.0
"""Time has one door: only core/clock*.c asks the kernel for the time, sleeps, and waits with a deadline. So all waits use the
monotonic clock (one on the time of day lasts for hours, or not at all, when somebody or NTP sets the clock), and a clock can
be put in place of the kernel's. A library that waits by its own calls is listed with its file."""
import os
import re
import sys

SOURCE = sys.argv[1]
ASKS = r"clock|clock_gettime|gettimeofday|timespec_get|time|ftime|times|__rdtsc|__builtin_ia32_rdtscp?"
SLEEPS = r"nanosleep|clock_nanosleep|usleep|sleep|thrd_sleep|alarm|setitimer|timer_create|timerfd_create"
WAITS = (r"poll|ppoll|select|pselect|epoll_p?wait2?|sem_timedwait|sem_clockwait|pthread_cond_(timed|clock)wait|cnd_timedwait|"
         r"pthread_mutex_(timed|clock)lock|pthread_rwlock_(timed|clock)\w+|pthread_(timed|clock)join_np|mq_timed\w+|"
         r"semtimedop|sigtimedwait|recvmmsg|io_p?getevents|MPI_Wtime|curl_multi_(poll|wait)")
DOOR = re.compile(rf"(?<![\w.>])({ASKS}|{SLEEPS}|{WAITS})\s*\(|\b(SYS_futex|CLOCK_REALTIME)\b|__asm__[^;]*\b(rdtsc|cntvct)")
URING = re.compile(r"\b(io_uring_wait_cqes?\w*|io_uring_enter2|io_uring_prep_(link_)?timeout)\s*\(")
COMMENT_OR_TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
HELPERS = re.compile(r"core/clock\w*\.[ch]")
OWN_WAITS = {"backends/file/uring.c"}  # io_uring waits for I/O and time in one call


def finds(path, text):
    """The forbidden words of a file, each with its line."""
    if HELPERS.fullmatch(path):
        return []
    code = COMMENT_OR_TEXT.sub(lambda m: "\n" * m.group().count("\n"), text)
    found = [] if path in OWN_WAITS else list(URING.finditer(code))
    return [(code.count("\n", 0, m.start()) + 1, m.group().strip("( ")) for m in [*found, *DOOR.finditer(code)]]


def self_test():
    bad = ["\tnanosleep(&t, NULL);", "x = time(NULL);", "rc = sem_clockwait(&s, CLOCK_MONOTONIC, &t);", "poll(&p, 1, 5);",
           "syscall(SYS_futex, &w, FUTEX_WAIT, 0, &t);", "io_uring_enter2(fd, 0, n, f, a, b);"]
    good = ["/* time( */", 'say("sleep (s)");', "t->ops->poll(t, 1);", "run_time(x);", "int (*poll)(int x);", "sem_wait(&s);"]
    for text in bad:
        assert finds("core/x.c", text) and not finds("core/clock_wait.c", text), text
    for text in good:
        assert not finds("core/x.c", text), text


self_test()
failed = 0
for layer in ("core", "backends", "workloads", "plan", "results-schema", "ranks", "report", "import", "facts", "cli"):
    for folder, _, names in os.walk(os.path.join(SOURCE, layer)):
        for name in sorted(n for n in names if n.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(folder, name), SOURCE)
            with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
                for line, word in finds(path, f.read()):
                    print(f"{path}:{line}: {word}: only core/clock*.c asks for the time or waits for it")
                    failed += 1
sys.exit(failed > 0)
