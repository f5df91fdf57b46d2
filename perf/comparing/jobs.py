# SPDX-License-Identifier: BSD-3-Clause
"""jobs - the command of each side, and the other load of the machine.

Idea     A side is a library with a program that calls it. Its class returns the command that measures a cell; options,
         timing and checks are equal on all sides.
Holds    Settings that a library would choose itself are removed from the environment. MPICH has no setting that makes
         waiting ranks yield; if ranks outnumber processors, a preloaded library makes them yield.
Next     rounds.py for the order of the launches.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

BIN = str(pathlib.Path(__file__).resolve().parent.parent.parent / "build/release/bin")
GRACE_S = 5  # seconds in which a launcher must end its ranks after SIGTERM


class InvalidArguments(Exception):
    """Invalid arguments: exit status 2."""


class CannotRun(Exception):
    """A side could not run: exit status 3."""


def require(condition, message):
    """Raises InvalidArguments with the message unless the condition is true."""
    if not condition:
        raise InvalidArguments(message)


def report(text):
    print(text, file=sys.stderr, flush=True)


def run_script(name, work):
    """Returns the exit status that work() returns. Prints InvalidArguments and CannotRun, and returns 2 or 3 for them."""
    # SIGTERM becomes an exception, so that run_program() ends a running job.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return work()
    except (InvalidArguments, CannotRun) as error:
        report(f"{name}: {error}")
        return 2 if isinstance(error, InvalidArguments) else 3


def processors():
    return len(os.sched_getaffinity(0))


def clean_environment():
    """Returns the environment of all sides, without a setting that Open MPI chooses itself."""
    environment = dict(os.environ)
    environment.pop("OMPI_MCA_mpi_yield_when_idle", None)
    return environment


def end_group(process):
    """Ends a launcher and its ranks. SIGTERM first lets the launcher end ranks in other process groups."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_program(command, timeout, environment=(), **options):
    """Runs a command in its own process group. Returns stdout, stderr and exit status.

    SIGTERM is blocked while the process is created, so that an exception cannot leave an unknown process."""
    process = None
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                   env={**clean_environment(), **dict(environment)},
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, old_mask), **options)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        out, err = process.communicate(timeout=timeout)
        return out, err or "", process.returncode
    except OSError as error:
        raise CannotRun(f"cannot start {command[0]}: {error.strerror}") from error
    except BaseException as error:
        if process is not None:
            end_group(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise CannotRun(f"no end within {timeout:g} s: {' '.join(command)}") from None
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def run_json(command, timeout, environment=(), stderr=subprocess.PIPE):
    """Runs a command and returns the JSON object that it prints."""
    shown = " ".join(command)
    out, err, status = run_program(command, timeout, environment, stderr=stderr)
    # Status 1 means that a result was wrong; the object shows which result.
    if status not in (0, 1):
        raise CannotRun(f"status {status}: {shown}\n{err.strip() or out.strip()}")
    try:
        return json.loads(out)
    except json.JSONDecodeError as error:
        raise CannotRun(f"no JSON object ({error}): {shown}\n{(out + err).strip()}") from None


class Calibrator:
    """Measures the transfer time of a cache line between two processors, a measure of the machine's state."""

    def __init__(self, options):
        self.command = [f"{options.bin}/ping_pong", "--json"]
        self.timeout = options.timeout

    def measure_ns(self):
        return run_json(self.command, self.timeout)["half_round_trip_ns"]


def weft_run(weft, ranks, nodes, *words):
    """Returns the command of a job with `words` on a number of ranks and of virtual nodes (0: none)."""
    virtual = ["--nodes", str(nodes)] if nodes > 0 else []
    return [weft, "run", "-n", str(ranks), *virtual, "--", *words]


class Weft:
    """`weft bench` under `weft run`."""

    name = "weft"

    def __init__(self, options):
        self.files = [f"{options.bin}/weft", f"{options.bin}/weft_fabric.so"]
        self.options = options

    def missing(self):
        return missing_files(self.options.bin, ["weft"])

    def version(self):
        return first_line([self.files[0], "--version"])

    def command(self, cell):
        weft = self.files[0]
        return weft_run(weft, cell.ranks, cell.nodes, weft, "bench", cell.collective, *measuring(cell, self.options))


class WeftCopying(Weft):
    """`weft bench` with WEFT_DIRECT=copy: the kernel copies between ranks of a node, and no memory is remapped."""

    name = "copy"

    def command(self, cell):
        plain = super().command(cell)
        return [*plain[:2], "-x", "WEFT_DIRECT=copy", *plain[2:]]


class OpenMpi:
    """The peer program under Open MPI's launcher. Open MPI itself chooses whether waiting ranks yield."""

    name = "openmpi"
    TUNED = []  # settings that a user could add
    TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]

    def __init__(self, options):
        self.launcher = options.mpirun
        self.program = f"{options.bin}/peer_openmpi"
        self.files = [self.program]
        self.options = options
        self.root = ["--allow-run-as-root"] if os.geteuid() == 0 else []

    def missing(self):
        return missing_files(self.options.bin, ["peer_openmpi"]) or self.missing_launcher()

    def missing_launcher(self):
        return missing_program(self.launcher)

    def version(self):
        return self.version_in([])

    def version_in(self, prefix):
        """Returns the version that the launcher prints; `prefix`: words of the command before it."""
        return first_line([*prefix, self.launcher, "--version"])

    def preloaded(self, _cell):
        return []

    def command(self, cell):
        network = self.TCP if cell.nodes > 0 else []
        preload = [word for file in self.preloaded(cell) for word in ("-x", f"LD_PRELOAD={file}")]
        return [self.launcher, *self.root, "--oversubscribe", *self.TUNED, *network, *preload, "-np", str(cell.ranks), self.program,
                "--collective", cell.collective, *measuring(cell, self.options)]


class Mpich:
    """The peer program under MPICH's launcher; a preloaded library makes ranks that share processors yield."""

    name = "mpich"
    TUNED = []  # settings that a user could add
    TCP = ["-genv", "UCX_TLS", "tcp,self", "-genv", "MPIR_CVAR_NOLOCAL", "1"]

    def __init__(self, options):
        self.launcher = options.mpiexec
        self.program = f"{options.bin}/peer_mpich"
        self.preload = f"{options.bin}/peer_yield_ucx.so"
        self.files = [self.program, self.preload]
        self.options = options

    def missing(self):
        files = ["peer_mpich", "peer_yield_ucx.so"]
        return missing_files(self.options.bin, files) or self.missing_launcher()

    def missing_launcher(self):
        return missing_program(self.launcher)

    def version(self):
        return self.version_in([])

    def version_in(self, prefix):
        words = first_line([*prefix, self.launcher, "--version"], containing="Version")
        return "MPICH " + words.split()[-1]

    def preloaded(self, cell):
        return [self.preload] if cell.ranks > processors() else []

    def command(self, cell):
        network = self.TCP if cell.nodes > 0 else []
        files = self.preloaded(cell)
        preload = ["-genv", "LD_PRELOAD", ":".join(files)] if files else []
        return [self.launcher, *self.TUNED, *network, *preload, "-np", str(cell.ranks), self.program,
                "--collective", cell.collective, *measuring(cell, self.options)]


def under_layer(peer):
    """Returns a side with the same program and MPI, and weft's layer preloaded."""

    class Layered(peer):
        name = "weft"

        def __init__(self, options):
            super().__init__(options)
            self.layer = f"{options.bin}/libweft-mpi-{peer.name}.so"
            self.files = [*self.files, self.layer]

        def missing(self):
            return super().missing() or missing_files(self.options.bin, [pathlib.Path(self.layer).name])

        def preloaded(self, cell):
            return [self.layer, *super().preloaded(cell)]

    return Layered


PEERS = {side.name: side for side in (OpenMpi, Mpich)}
OTHERS = {WeftCopying.name: WeftCopying}  # sides that run only if --peers names them


def measuring(cell, options):
    """Returns the measuring options, equal on all sides."""
    buffers = [] if options.buffers == "reused" else ["--buffers", options.buffers]
    return ["--bytes", cell.bytes_text(), "--loop", options.loop, *buffers,
            "--seconds", f"{options.seconds:g}", "--json"]


def digest(path):
    """Returns a hash of a file's contents, or "none" if it cannot be read."""
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return "none"


def missing_files(folder, names):
    for name in names:
        if not os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name} is missing: build it with `cmake --preset release && cmake --build --preset release`"
    return None


def missing_program(name):
    return None if shutil.which(name) else f"{name} is not installed"


def first_line(command, containing=""):
    try:
        lines = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.splitlines()
        return next(line for line in lines if containing in line).strip()
    except (OSError, StopIteration, subprocess.TimeoutExpired):
        return "unknown"


class OtherLoad:
    """Measures the processor time that other programs have used since the object was created."""

    def __init__(self):
        self.begin = self.read()

    @staticmethod
    def read():
        times = os.times()
        try:
            fields = pathlib.Path("/proc/stat").read_text().split(None, 9)
        except OSError:
            return times.elapsed, 0.0
        # Fields user, nice, system and steal. Time in interrupts is left out.
        busy = sum(int(fields[index]) for index in (1, 2, 3, 8)) / os.sysconf("SC_CLK_TCK")
        own = times.user + times.system + times.children_user + times.children_system
        return times.elapsed, busy - own

    def processors(self):
        elapsed, foreign = self.read()
        begin_elapsed, begin_foreign = self.begin
        return max(0.0, (foreign - begin_foreign) / max(elapsed - begin_elapsed, 0.01))
