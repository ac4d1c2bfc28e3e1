# SPDX-License-Identifier: Apache-2.0
"""Servers written in Python, as processes that the test forks."""
import os
import random
import signal
import subprocess
import sys
import time
import traceback


class Forked:
    """A function of this program as a process of its own, with what Server needs of subprocess.Popen. It starts in a tenth of
    the time of another Python, and has nothing open but its output, so that guards notice the end of the test."""

    def __init__(self, function, out):
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.become(function, out)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)

    @staticmethod
    def become(function, out):
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for fd in (1, 2):
            os.dup2(out.fileno(), fd)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        random.seed()
        function()

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout=float("inf")):
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("forked", timeout)
            time.sleep(0.002)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)
