#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks of jobs at random and lets jobs exhaust resources. Each job must end soon and leave no process or file.

    tests/hostile/storm/storm.py --build build --kills 1000 [--launchers weft,mpirun,srun] [--seed S]
    tests/hostile/storm/storm.py --build build --exhaustion

Goal    After any fault of a rank or the launcher, the job ends within 5 seconds and leaves no process, no file in
        /dev/shm and no temporary folder. weft run names the failed rank; for other launchers, the output has the
        number of jobs in which they name it.
Method  Ranks make all kinds of calls (storm_rank.cpp), on one node and on virtual nodes. A fault occurs at a random
        time, before the ranks join or while they make calls. An environment variable marks all processes of a job.
Faults  kill, segv: the rank gets SIGKILL or SIGSEGV. exit0, exit5: the rank exits in the middle of a call. stop_kill:
        a rank is stopped, and another rank is killed. stop_cont: a rank is stopped and continued, the job continues,
        and then the rank is killed. launcher, term: the launcher gets SIGKILL or SIGTERM.
Others  Two faults of other software are counted, not reported as errors:
        - A foreign launcher does not end although all its processes have ended. Open MPI's launcher does this with any
          program if a rank is killed while PMIx answers its connection (docs/reliability.md).
        - srun leaves files of endpoints (provider shm): Slurm kills all processes of a cancelled step at once, also
          those that would remove the files. The user's next job removes them.
        Two faults are left out. srun is not killed, because Slurm lets its ranks continue. Ranks of mpirun do not exit
        with status 0 before they have joined, because mpirun takes this for a normal end.
        Tests with srun need an allocation: tests/system/slurm/run -- tests/hostile/storm/storm.py ...
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

END_S = 5.0  # maximum time from a fault to the end of the job
FAULTS = ["kill", "kill", "segv", "exit0", "exit5", "stop_kill", "stop_cont", "launcher", "term"]
KEEPER = "weft-keeper"  # process that removes a rank's file if the rank dies; has the rank's environment
ENDPOINT = re.compile(r"weft-[0-9a-f]{32}")  # file of an endpoint in /dev/shm
LEFT_OUT = {"srun": ["launcher"]}  # faults that are not tested, by launcher
SIGNALS = {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "exit0": signal.SIGUSR2, "exit5": signal.SIGUSR1}


class WeftError(Exception):
    """An error of weft."""


def environ_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def state_of(pid):
    """Returns a text with state, parent, signals and wait channel of a process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        wait_channel = pathlib.Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return "ended meanwhile"
    return ", ".join(re.findall(r"^(?:State|PPid|ShdPnd|SigBlk):\s.*", text, re.M) + [wait_channel])


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def shared_files():
    return set(os.listdir("/dev/shm"))


class Watch:
    """Clock that stops while this script does not run, for example in a frozen control group."""

    STEP_MAX_S = 0.5  # longer times between two looks at the clock do not count

    def __init__(self):
        self.last = time.monotonic()
        self.sum = 0.0

    def seconds(self):
        now = time.monotonic()
        self.sum += min(now - self.last, self.STEP_MAX_S)
        self.last = now
        return self.sum


class Job:
    """A job under a launcher, with a temporary folder and an environment variable that marks its processes."""

    def __init__(self, command, settings=None):
        self.folder = tempfile.mkdtemp(prefix="weft-storm.")
        self.mark = f"STORM_MARK={os.path.basename(self.folder)}"
        self.shared_before = shared_files()
        environment = dict(os.environ, TMPDIR=self.folder, **(settings or {}))
        name, value = self.mark.split("=")
        environment[name] = value
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True)
        self.output = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            self.output += chunk

    def marked(self):
        return [pid for pid in processes() if self.mark.encode() in environ_of(pid)]

    def rank(self, number):
        """Returns the process id of a rank; None if it does not run."""
        wanted = f"PMIX_RANK={number}".encode()
        for pid in self.marked():
            if wanted in environ_of(pid) and name_of(pid) != KEEPER:
                return pid
        return None

    def wait_for_rank(self, number, seconds=30):
        watch = Watch()
        while watch.seconds() < seconds and self.process.poll() is None:
            if (pid := self.rank(number)) is not None:
                return pid
            time.sleep(0.002)
        raise WeftError(f"rank {number} never started: {self.text()}")

    def wait_for_calls(self, ranks, seconds=30):
        """Waits until all ranks have joined and make calls."""
        watch = Watch()
        while watch.seconds() < seconds and self.process.poll() is None and self.output.count(b"running") < ranks:
            time.sleep(0.002)

    def text(self):
        self.reader.join(0 if self.process.poll() is None else 10)
        return self.output.decode(errors="replace")

    def wait(self, seconds, launcher="weft"):
        """Waits for the end of the launcher and of all processes of the job. Returns the waiting time in seconds, or
        None if only a foreign launcher is left, which is not an error of weft.
        """
        watch = Watch()
        while watch.seconds() < seconds:
            if self.process.poll() is not None and not self.marked():
                return watch.seconds()
            time.sleep(0.01)
        remaining = {pid: name for pid in self.marked() if (name := name_of(pid))}
        if launcher != "weft" and all(name == launcher for name in remaining.values()):
            return None
        states = {pid: (name, state_of(pid)) for pid, name in remaining.items()}
        raise WeftError(f"not over after {seconds} s, left: {states}, status {self.process.poll()}")

    def leftovers(self, launcher="weft"):
        """Returns the files that exist for 3 s: other jobs on the machine make and remove files meanwhile."""
        remaining = self.files(launcher)
        for _ in range(30):
            if not remaining:
                break
            time.sleep(0.1)
            remaining = [file for file in remaining if file in self.files(launcher)]
        return remaining

    def files(self, launcher):
        """Returns new files of weft. Files of a foreign launcher that was killed do not count."""
        files = [str(path) for path in pathlib.Path(self.folder).rglob("*")]
        files = [file for file in files if launcher == "weft" or "weft" in os.path.relpath(file, self.folder)]
        return files + sorted(name for name in shared_files() - self.shared_before if self.is_ours(name))

    @staticmethod
    def is_ours(name):
        """Returns true for files of weft and of its provider shm."""
        return "weft" in name or re.fullmatch(r"\d+:\d+:\d+.*", name) is not None

    def clean_up(self):
        for pid in self.marked():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        self.reader.join(1)
        shutil.rmtree(self.folder, ignore_errors=True)


def is_usable(launcher):
    """Returns true if the launcher is installed. srun also needs an allocation, or it would wait for a cluster."""
    return launcher == "weft" or (shutil.which(launcher) and (launcher != "srun" or "SLURM_JOB_ID" in os.environ))


def native_tcp(build):
    """Returns libfabric's name of its TCP provider without layers: "net", or "tcp" since 1.18."""
    info = subprocess.run([os.path.join(build, "bin", "weft"), "info", "--json"], stdout=subprocess.PIPE, check=True)
    offered = {row["provider"] for row in json.loads(info.stdout)["providers"] if row["offered"]}
    return "net" if "net" in offered else "tcp"


def command_of(launcher, build, ranks, nodes, program):
    weft = os.path.join(build, "bin", "weft")
    if launcher == "weft":
        return [weft, "run", "-n", str(ranks)] + (["--nodes", str(nodes)] if nodes > 1 else []) + ["--"] + program
    if launcher == "mpirun":
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] + program
    return ["srun", "--mpi=pmix", "--overlap", "--overcommit", "--cpu-bind=none", "--kill-on-bad-exit=1", "--wait=1",
            "-n", str(ranks)] + program


def is_named(launcher, rank, text):
    """Returns true if a launcher's output names the failed rank."""
    if launcher == "weft":
        return re.search(rf"^weft run: rank {rank} (was killed|exited)", text, re.M) is not None
    # Slurm's PMIx names a rank that left without finalizing: source = [slurm.pmix.STEP:RANK].
    return re.search(rf"rank {rank}\b|[,:]{rank}\]|task {rank}:", text) is not None


def cause_fault(job, launcher, fault, ranks, draw):
    """Causes the fault. Returns the rank that the launcher must name, or None."""
    victim = draw.randrange(ranks)
    pid = job.wait_for_rank(victim)
    if fault == "exit0" and launcher == "mpirun":
        job.wait_for_calls(ranks)
    if fault in SIGNALS:
        os.kill(pid, SIGNALS[fault])
        return victim
    if fault == "launcher":
        job.process.kill()
        return None
    if fault == "term":
        job.process.terminate()
        return None
    os.kill(pid, signal.SIGSTOP)
    time.sleep(draw.uniform(0.0, 0.4))
    if fault == "stop_kill":
        other = (victim + 1) % ranks
        os.kill(job.wait_for_rank(other), signal.SIGKILL)
        return other
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.1)
    if job.process.poll() is not None:
        raise WeftError("the job ended while a rank was stopped for a short time")
    os.kill(pid, signal.SIGKILL)
    return victim


def count_named(options, number, figures, job, ended):
    """Counts jobs whose failed rank is named. Foreign launchers that hang count separately: they may print it later."""
    launcher, fault, rank, seconds = ended
    named = is_named(launcher, rank, job.text())
    if not named and launcher == "weft":
        raise WeftError(f"rank {rank} is not named")
    figures[launcher, "named" if seconds is not None else "named by launchers that stayed"].append(named)
    if not named:
        print(f"not named: kill {number} (--seed {options.seed}): rank {rank} by {launcher}, {fault}"
              f"{' (stays)' if seconds is None else ''}\n{job.text()}")


def run_kill(options, number, figures):
    """Runs a job with a fault, both drawn from seed and number. Returns false if weft has an error."""
    draw = random.Random(options.seed * 1_000_003 + number)
    launcher = options.launchers[number % len(options.launchers)]
    fault = draw.choice([fault for fault in FAULTS if fault not in LEFT_OUT.get(launcher, [])])
    ranks = draw.choice([2, 3, 4])
    nodes = draw.choice([1, 1, 2])
    program = [os.path.join(options.build, "bin", "weft_storm_rank"), str(draw.randrange(1 << 30))]
    settings = {"WEFT_NODES": str(nodes)} if launcher != "weft" and nodes > 1 else {}
    if nodes > 1:
        settings["WEFT_PROVIDER"] = draw.choice(options.providers)
    job = Job(command_of(launcher, options.build, ranks, nodes, program), settings)
    try:
        time.sleep(draw.uniform(0.0, 2.5 if nodes > 1 else 1.0))
        named = cause_fault(job, launcher, fault, ranks, draw)
        seconds = job.wait(options.end, launcher)
        if named is not None:
            count_named(options, number, figures, job, (launcher, fault, named, seconds))
        remaining = job.leftovers(launcher)
        if launcher == "srun" and any(ENDPOINT.fullmatch(name) for name in remaining):
            figures[launcher, "files"].append(1)
            print(f"left files of endpoints: kill {number} (--seed {options.seed}): {fault}")
            remaining = [name for name in remaining if not ENDPOINT.fullmatch(name)]
        if remaining:
            raise WeftError(f"left: {remaining}")
        figures[launcher, fault if seconds is not None else "stayed"].append(seconds)
        return True
    except (WeftError, ProcessLookupError) as error:
        print(f"FAILED kill {number} (--seed {options.seed}): {launcher} {fault} -n {ranks} nodes {nodes} {settings}: "
              f"{error}\n{job.text()}", flush=True)
        return False
    finally:
        job.clean_up()


def print_figures(figures):
    for (launcher, fault), seconds in sorted(figures.items()):
        if fault.startswith("named"):
            print(f"{launcher:7} {fault}: the rank, in {sum(seconds)} of {len(seconds)} jobs")
            continue
        if fault == "files":
            print(f"{launcher:7} left files of endpoints in {len(seconds)} jobs, for the user's next job to remove")
            continue
        if fault == "stayed":
            print(f"{launcher:7} stayed for longer in {len(seconds)} jobs, after all its processes had ended")
            continue
        print(f"{launcher:7} {fault:10} {len(seconds):5} jobs ended after {sum(seconds) / len(seconds):.2f} s on average, "
              f"{max(seconds):.2f} s at most")


def storm(options):
    figures = collections.defaultdict(list)
    failed = 0
    for number in range(options.first, options.first + options.kills):
        failed += not run_kill(options, number, figures)
    print_figures(figures)
    print(f"{options.kills} kills (--seed {options.seed}), {failed} failed")
    return failed == 0


def shortages(build):
    """Yields name, shell commands before the job, options of weft run, and True if the job must still succeed."""
    small = "mount -t tmpfs -o size={} tmpfs {} && "
    yield from ((f"{n} open files", f"ulimit -n {n};", "-n 4", None) for n in (8, 12, 16, 24, 32, 64))
    yield from ((f"{kib} KiB of address space", f"ulimit -v {kib};", "-n 2", None) for kib in (50_000, 300_000, 2_000_000))
    yield "no locked memory", "ulimit -l 0;", "-n 2", True
    yield "files cannot grow", "ulimit -f 0;", "-n 2", None
    yield "no space in /dev/shm", small.format("64k", "/dev/shm"), "-n 2", True
    yield "no space in /dev/shm for the provider shm", small.format("64k", "/dev/shm"), \
        "-n 2 --nodes 2 -x WEFT_PROVIDER=shm", None
    yield "a full disk", "mkdir -p $TMPDIR/d && " + small.format("4k", "$TMPDIR/d") + \
        "dd if=/dev/zero of=$TMPDIR/d/full bs=4k count=2 2>/dev/null; TMPDIR=$TMPDIR/d", "-n 2", None
    yield "no /proc", small.format("4k", "/proc"), "-n 2", None
    yield "little space in /dev/shm for the provider shm", small.format("20m", "/dev/shm"), \
        "-n 2 --nodes 2 -x WEFT_PROVIDER=shm", None
    as_other_user = "chmod 777 $TMPDIR; setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc={}"
    yield from ((f"{n} processes", as_other_user.format(n), "-n 4", None) for n in (1, 2, 4, 8, 16))


def run_shortage(options, name, before, arguments, must_succeed):
    weft = os.path.join(options.build, "bin", "weft")
    rank = os.path.join(options.build, "bin", "weft_storm_rank")
    script = f"{before} {weft} run --timeout 20 {arguments} -- {rank} 1 200"
    job = Job(["unshare", "-m", "sh", "-c", script])
    try:
        seconds = job.wait(30)
        status, text = job.process.returncode, job.text()
        if status in (134, 139, -6, -11) or "terminate called" in text:
            raise WeftError(f"it crashed with status {status}")
        if status == 124:
            raise WeftError("it hung until its timeout")
        if status != 0 and (must_succeed or not text.strip()):
            raise WeftError(f"status {status}" + ("" if text.strip() else " and no message"))
        remaining = [file for file in job.leftovers() if not re.search(r"/d(/full)?$", file)]
        if remaining:
            raise WeftError(f"left: {remaining}")
        print(f"{name}: status {status} after {seconds:.1f} s: {text.strip().splitlines()[-1][:100] if text else ''}")
        return True
    except WeftError as error:
        print(f"FAILED {name}: {error}\n{job.text()}", flush=True)
        return False
    finally:
        job.clean_up()


def exhaustion(options):
    if os.geteuid() != 0:
        print("exhaustion: skipped, only root can limit /dev/shm, /proc and processes")
        return True
    return all([run_shortage(options, *shortage) for shortage in shortages(options.build)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build folder, which contains bin/")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first kill, to repeat one")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--launchers", default="weft,mpirun,srun", help="launchers that are not installed are left out")
    parser.add_argument("--end", type=float, default=END_S, help="maximum seconds from a fault to the end of the job")
    parser.add_argument("--exhaustion", action="store_true")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.launchers = [launcher for launcher in options.launchers.split(",") if is_usable(launcher)]
    options.providers = ["tcp;ofi_rxm", native_tcp(options.build), "shm"]
    succeeded = True
    if options.kills:
        succeeded = storm(options)
    if options.exhaustion:
        succeeded = exhaustion(options) and succeeded
    sys.exit(0 if succeeded else 1)


if __name__ == "__main__":
    main()
