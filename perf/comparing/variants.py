# SPDX-License-Identifier: BSD-3-Clause
"""variants - MPI libraries with tuned settings, and MPI libraries in another Debian root folder.

Idea     A tuned side sets what a user could set to make collectives on one node faster. A side of another root runs the
         same program file there: both releases have the same binary interface of MPI. Its launch gets a mount namespace
         of its own, with /proc, /sys and /dev, and on /mnt the program with the libraries that the root lacks. The
         mounts end with the launch.
Next     jobs.py for the sides that this file changes.
"""

import functools
import os
import pathlib
import subprocess

from comparing.jobs import Mpich, OpenMpi, first_line

ENTER = """root=$1; files=$2; shift 2
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
mount -t tmpfs peers "$root/mnt"
while [ "$files" -gt 0 ]; do cp -L "$1" "$root/mnt/"; shift; files=$((files - 1)); done
exec chroot "$root" env LD_LIBRARY_PATH=/mnt TMPDIR=/tmp "$@"
"""


class OpenMpiSm(OpenMpi):
    """Open MPI with the component coll/sm, which uses shared memory."""

    name = "openmpi-sm"
    TUNED = ["--mca", "coll_sm_priority", "90"]


class OpenMpiHan(OpenMpi):
    """Open MPI with the component coll/han, which combines collectives of a node and between nodes."""

    name = "openmpi-han"
    TUNED = ["--mca", "coll_han_priority", "90"]


class MpichRelease(Mpich):
    """MPICH with its release-and-gather algorithms for shared memory."""

    name = "mpich-release"
    TUNED = [word for collective in ("BCAST", "REDUCE", "ALLREDUCE", "BARRIER")
             for word in ("-genv", f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM", "release_gather")]


@functools.cache
def libraries_without(root, program):
    """Returns the libraries that a program names and that `root` does not have."""
    def lines(*command):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()

    needed = {line.split()[1] for line in lines("objdump", "-p", program) if line.split()[:1] == ["NEEDED"]}
    paths = [line.split()[2] for line in lines("ldd", program) if " => /" in line and line.split()[0] in needed]
    return [path for path in paths if not os.path.exists(root + path)]


def in_root(side):
    """Returns a side that runs in the folder `options.root`."""

    class InRoot(side):
        name = f"root-{side.name}"

        def __init__(self, options):
            super().__init__(options)
            self.root_folder = options.root
            self.launcher = pathlib.Path(self.launcher).name
            self.host_files = self.files
            self.program = self.moved(self.program)
            if hasattr(self, "preload"):
                self.preload = self.moved(self.preload)

        @staticmethod
        def moved(path):
            return f"/mnt/{pathlib.Path(path).name}"

        def enter(self):
            files = [*self.host_files, *libraries_without(self.root_folder, self.host_files[0])]
            return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "compare", self.root_folder,
                    str(len(files)), *files]

        def missing_launcher(self):
            if os.geteuid() != 0:
                return f"only the superuser can enter {self.root_folder}"
            if not any(os.path.exists(f"{self.root_folder}/{folder}/{self.launcher}") for folder in ("usr/bin", "bin")):
                return f"{self.launcher} is not installed in {self.root_folder}"
            return None

        def version(self):
            return self.version_in(self.enter())

        def command(self, cell):
            return [*self.enter(), *super().command(cell)]

    return InRoot


TUNED = {side.name: side for side in (OpenMpiSm, OpenMpiHan, MpichRelease)}
IN_ROOT = {side.name: side for side in map(in_root, (OpenMpi, Mpich, OpenMpiSm, OpenMpiHan, MpichRelease))}
