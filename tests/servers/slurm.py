# SPDX-License-Identifier: Apache-2.0
"""Slurm for the tests of job scripts: a real one on this machine, without systemd, with its own folder and ports. It runs
slurmctld, munge, and one slurmd for each of a few virtual nodes. All its processes are ended at its end.

    with Slurm(nodes=4) as slurm:
        job = slurm.sbatch("script.sh", "--nodes=2")
        slurm.wait(job)

The nodes n1, n2 … run jobs, and share this machine's cores. The nodes c1 … c520 of the partition "large" exist only for the
scheduler: `sbatch --test-only` accepts jobs for them, but no job starts there.
"""
import contextlib
import getpass
import os
import signal
import socket
import time

import servers
from ports import free_ports

CPUS = 12

CONF = """ClusterName=haul
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=120
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MessageTimeout=60
SlurmdTimeout=20
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ResumeProgram=/bin/false
SuspendProgram=/bin/true
SuspendTime=INFINITE
NodeName=c[1-520] NodeAddr=127.0.0.1 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 State=CLOUD
PartitionName=large Nodes=c[1-520] MaxTime=INFINITE
PartitionName=low Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=5
PartitionName=high Nodes=n[1-{nodes}] MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF
"""
NODE = "NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Sockets=1 CoresPerSocket={cores} ThreadsPerCore=2 State=UNKNOWN\n"

# Steps leave the process group of their slurmd, but keep the name of its configuration in their environment.
STRAYS = """for file in $(grep -lsz "^SLURM_CONF=$1/" /proc/[0-9]*/environ); do
	pid=${file#/proc/}
	kill -9 "${pid%/environ}" 2>/dev/null
done
"""


class Slurm(servers.Server):
    strays = STRAYS

    def __init__(self, nodes=4):
        super().__init__()
        servers.need("munged", "slurmctld", "slurmd", "sbatch", "srun")
        self.nodes = nodes
        self.path_of_programs = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

    def start(self):
        port, *ports = free_ports(1 + self.nodes)
        # munged requires a socket in a folder that everybody may enter.
        os.chmod(self.folder, 0o755)
        host = socket.gethostname().split(".")[0]
        for name in ("state", "munge"):
            os.mkdir(self.path(name), 0o755)
        with open(os.open(self.path("munge", "key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
            key.write(os.urandom(128))
        text = CONF.format(host=host, port=port, user=getpass.getuser(), folder=self.folder, nodes=self.nodes)
        nodes = "".join(NODE.format(i=i + 1, host=host, port=p, cpus=CPUS, cores=CPUS // 2) for i, p in enumerate(ports))
        self.write("slurm.conf", text.replace("PartitionName=large", nodes + "PartitionName=large"))
        if not os.path.ismount("/sys/fs/cgroup"):  # slurmd looks there which plugin to load, which nothing here uses
            self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        munge = self.spawn("munged", "munged", "--foreground", "--socket=" + self.path("munge", "socket"),
                           "--key-file=" + self.path("munge", "key"), "--pid-file=" + self.path("munge", "pid"),
                           "--log-file=" + self.path("munge", "log"), "--seed-file=" + self.path("munge", "seed"),
                           env=self.env())
        self.until(lambda: os.path.exists(self.path("munge", "socket")), "munged", munge)
        control = self.spawn("slurmctld", "slurmctld", "-D", "-i", env=self.env())
        self.slurmd = [self.node(i + 1) for i in range(self.nodes)]
        self.until(lambda: self.idle() == self.nodes, "slurmctld", control)

    def env(self, more=None):
        return {**os.environ, "PATH": self.path_of_programs, "SLURM_CONF": self.path("slurm.conf"), **(more or {})}

    def until(self, holds, name, process, seconds=60):
        deadline = time.monotonic() + seconds
        while not holds():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} does not start: {self.said(name)}")
            time.sleep(0.05)

    def node(self, i):
        os.makedirs(self.path(f"spool-n{i}"), exist_ok=True)
        return self.spawn(f"n{i}", "slurmd", "-D", "-N", f"n{i}", env=self.env())

    def idle(self):
        out = self.call("sinfo", "--noheader", "--partition=low", "--states=idle", "--format=%D").stdout.strip()
        return int(out) if out.isdigit() else 0

    def call(self, *args, env=None, **more):
        return self.run(*args, env=self.env(env), **more)

    def ask(self, *args, **more):
        """Runs a command of Slurm that must succeed, and returns its output."""
        done = self.call(*args, **more)
        if done.returncode:
            raise AssertionError(f"{' '.join(args)}: {done.stdout}")
        return done.stdout.strip()

    def sbatch(self, *args, env=None, cwd=None):
        return self.ask("sbatch", "--parsable", *args, env=env, cwd=cwd)

    def show(self, job):
        """The job as scontrol shows it, as a dict."""
        words = self.ask("scontrol", "--oneliner", "show", "job", str(job)).split()
        return dict(w.split("=", 1) for w in words if "=" in w)

    def wait(self, job, seconds=120):
        """Waits until the job's script has ended. COMPLETING counts, since a dead node keeps the job in that state."""
        states = ("COMPLETED", "COMPLETING", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")
        deadline = time.monotonic() + seconds
        while (job_now := self.show(job))["JobState"] not in states:
            if time.monotonic() > deadline:
                raise AssertionError(f"job {job} is still {job_now['JobState']} after {seconds} s")
            time.sleep(0.1)
        return job_now

    def ours(self, *more):
        """The processes of this Slurm with their parents; only those whose environment also has the given words."""
        marks = {word.encode() for word in (f"SLURM_CONF={self.path('slurm.conf')}", *more)}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as f:
                    words = f.read().split(b"\0")
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
                if marks <= set(words):
                    yield int(pid), parent

    def kill(self, *pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def fail(self, i):
        """Kills node n<i>: its slurmd, all its tasks, and the processes that watch over them."""
        self.end(self.slurmd[i - 1], signal.SIGKILL)
        tasks = list(self.ours(f"SLURMD_NODENAME=n{i}"))
        own = {pid for pid, _ in self.ours()}
        self.kill(*[parent for _, parent in tasks if parent in own], *[pid for pid, _ in tasks])

    def revive(self, i):
        """Starts node n<i> again, and waits until it is idle."""
        self.slurmd[i - 1] = self.node(i)
        self.until(lambda: self.idle() == self.nodes, f"n{i}", self.slurmd[i - 1])

    def end_all(self, how=signal.SIGKILL):
        """Kills all processes, because nothing of them is kept. The daemons come first, so that no step can start more."""
        super().end_all(signal.SIGKILL)
        self.kill(*[pid for pid, _ in self.ours()])
