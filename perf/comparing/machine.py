# SPDX-License-Identifier: BSD-3-Clause
"""machine - facts about the machine, printed with the results."""

import os
import pathlib
import platform

from comparing.jobs import clean_environment, processors


def processor_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def describe_machine(sides):
    """Returns facts about the machine and the environment, and the version of each side (jobs.py)."""
    return {
        "processor": processor_name(),
        "processors_usable": processors(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": platform.release(),
        **{side.name: side.version() for side in sides},
        "load_average": os.getloadavg()[0],
        "environment": {name: value for name, value in sorted(clean_environment().items())
                        if name.startswith(("WEFT_", "OMPI_MCA_", "MPIR_CVAR_", "UCX_"))},
    }
