# SPDX-License-Identifier: BSD-3-Clause
"""cell_store - stores finished cells in files, so that an interrupted run continues where it stopped.

Holds    A cell is read from its file only if it was measured with the same options and the same builds of all programs.
         Files are written completely or not at all.
"""

import json
import os
import pathlib

from comparing.jobs import digest


def identity_of(options, sides):
    """Returns all inputs of a cell's results except the machine: options and builds."""
    return {"rounds": options.rounds, "seconds": options.seconds, "loop": options.loop, "buffers": options.buffers,
            "bytes": options.bytes,
            "self_test": options.self_test,
            "mpi": [options.mpi, os.environ.get("WEFT_MPI")],
            "sides": {side.name: [side.version(), *map(digest, side.files)] for side in sides}}


class CellStore:
    """The finished cells of one run in a folder. Without a folder it stores nothing."""

    def __init__(self, folder, run, identity):
        self.folder = None if folder is None else pathlib.Path(folder, "cells", str(run))
        self.identity = identity

    def load(self, cell):
        """Returns the stored rows of a cell, or None if it must be measured."""
        if self.folder is None:
            return None
        try:
            found = json.loads((self.folder / cell.file_name()).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return None
        return found["rows"] if found["identity"] == self.identity else None

    def save(self, cell, rows):
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / cell.file_name()
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({"identity": self.identity, "rows": rows}) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
