# SPDX-License-Identifier: BSD-3-Clause
"""kept - finished cells as files, so that a run that was interrupted goes on where it stopped.

Holds    A cell is taken from its file only if it was measured in the same way with the same builds of all
         programs; files are written whole or not at all.
"""

import json
import os
import pathlib

from comparing.jobs import digest


def identity_of(options, sides):
    """All that a cell's figures depend on, but for the machine."""
    return {"rounds": options.rounds, "seconds": options.seconds, "loop": options.loop, "buffers": options.buffers,
            "bytes": options.bytes,
            "self_test": options.self_test,
            "mpi": [options.mpi, os.environ.get("WEFT_MPI")],
            "sides": {side.name: [side.version(), *map(digest, side.files)] for side in sides}}


class Kept:
    """The cells of one run in a folder; without a folder, none are kept."""

    def __init__(self, folder, run, identity):
        self.folder = None if folder is None else pathlib.Path(folder, "cells", str(run))
        self.identity = identity

    def load(self, cell):
        """The rows of a cell, or None."""
        if self.folder is None:
            return None
        try:
            found = json.loads((self.folder / cell.file_name()).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return None
        return found["rows"] if found["identity"] == self.identity else None

    def store(self, cell, rows):
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / cell.file_name()
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({"identity": self.identity, "rows": rows}) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
