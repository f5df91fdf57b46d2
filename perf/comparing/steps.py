# SPDX-License-Identifier: BSD-3-Clause
"""steps - the measurements of docs/performance.md: commands that each print one JSON object."""

import os
import shlex
import sys

PRELUDE = "cmake --preset release && cmake --build --preset release"
NODES = "build/release/bin/weft run -n 2 --nodes 2"
OVERLAP = "build/release/bin/weft bench overlap --bytes 8,64K,1M --json"


class Step:
    """A command, relative to the repository. `quick` and `short` are options for shorter runs; `needs` are the targets
    to build; `minutes` is the time limit."""

    def __init__(self, name, command, needs=(), quick="", short="", minutes=10):
        self.name = name
        self.command = command
        self.needs = needs
        self.extra_options = {"full": "", "quick": quick, "short": short}
        self.minutes = minutes

    def words(self, folder, extent):
        """Returns the words of the command, to run in the repository's root. `extent` is full, short or quick."""
        words = shlex.split(self.command) + shlex.split(self.extra_options[extent])
        if words[0].startswith("perf/"):
            words.insert(0, sys.executable)  # the interpreter that has the required modules
        return words + (["--results", os.path.join(folder, self.name)] if self.name.startswith("compare") else [])

    def shown(self, extent):
        """Returns the command as a reader would type it."""
        return " ".join(filter(None, (self.command, self.extra_options[extent])))

    def build(self):
        """Returns the command that builds the programs of this step."""
        targets = "".join(f" --target {name}" for name in self.needs)
        return PRELUDE + targets


STEPS = (
    Step("compare", "perf/compare --full --repeat 2 --json", minutes=60, short="--ranks 2,8,8/4 --minutes 5",
         quick="--seconds 0.01 --collectives barrier,allreduce --bytes 8,4K --ranks 2 --minutes 0.5"),
    Step("compare_others", "perf/compare --collectives reduce,gather,scatter,allgather,alltoall,reduce_scatter,scan,exscan "
         "--ranks 2,8,8/4 --bytes 8,4K,64K,1M --timeout 30 --minutes 15 --json", minutes=40,
         short="--ranks 8,8/4 --peers openmpi --minutes 5",
         quick="--seconds 0.01 --collectives reduce,scan --bytes 8,4K --ranks 2 --minutes 0.5"),
    Step("tell_apart", "perf/tell-apart --json", quick="--rounds 20"),
    Step("puts_node", "build/release/bin/weft run -n 2 -- build/release/bin/perf_put_compare --json",
         needs=("weft", "perf_put_compare"), quick="--rounds 3"),
    Step("puts_network", f"{NODES} -- build/release/bin/perf_put_compare --json",
         needs=("weft", "weft_fabric", "perf_put_compare"), quick="--rounds 3"),
    Step("startup", "perf/startup --json", needs=("weft", "perf_start_up"), quick="--ranks 2,4 --rounds 1"),
    Step("startup_nodes", "perf/startup --ranks 2,4,8,16 --nodes 2 --json",
         needs=("weft", "weft_fabric", "perf_start_up"), quick="--ranks 2,4 --rounds 1"),
    Step("overlap_calls", f"{NODES} -x WEFT_PROGRESS=calls -- {OVERLAP}",
         needs=("weft", "weft_fabric"), quick="--iterations 5"),
    Step("overlap_thread", f"{NODES} -x WEFT_PROGRESS=thread -- {OVERLAP}",
         needs=("weft", "weft_fabric"), quick="--iterations 5"),
    Step("simulate", "build/release/bin/perf_simulate --json", needs=("perf_simulate",),
         quick="--repeats 1 --case structured"),
)
