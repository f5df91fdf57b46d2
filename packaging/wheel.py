#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wheel.py - writes a wheel of the Python package with the library, the network module and the command.

usage: wheel.py INSTALLED_TREE VERSION OUTPUT_FOLDER

Holds    All libraries of weft are in the folder of the package, so their search path becomes that folder. The command
         is there, too, because it loads the network module from its own folder; a script executes it.
"""
import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

# pip replaces "#!python" by the path of the interpreter.
COMMAND = b"""#!python
import importlib.util
import os
import sys

program = os.path.join(os.path.dirname(importlib.util.find_spec("weft").origin), "weft")
os.execv(program, [program, *sys.argv[1:]])
"""
OLD_PATH, NEW_PATH = b"$ORIGIN/../../..\0", b"$ORIGIN\0"


def contents(tree, info, version, tag):
    """Yields the name, bytes and mode of each file of the wheel."""
    package = tree / "lib/python3/dist-packages/weft"
    for path in sorted(package.iterdir()):
        data = path.read_bytes()
        if path.suffix == ".so":
            if data.count(OLD_PATH) != 1:
                sys.exit(f"wheel.py: {path.name} has no search path {OLD_PATH[:-1].decode()}")
            data = data.replace(OLD_PATH, NEW_PATH.ljust(len(OLD_PATH), b"\0"))
        yield f"weft/{path.name}", data, 0o644
    for name in ("libweft.so.0", "weft_fabric.so"):
        yield f"weft/{name}", next(tree.rglob(name)).read_bytes(), 0o644
    yield "weft/weft", (tree / "bin/weft").read_bytes(), 0o755
    yield f"weft-{version}.data/scripts/weft", COMMAND, 0o755
    yield f"{info}/METADATA", (f"Metadata-Version: 2.1\nName: weft\nVersion: {version}\nRequires-Dist: numpy\n"
                               "Summary: collectives and one-sided communication for numpy and torch\n"
                               "License: BSD-3-Clause\nRequires-Python: >=3.9\n").encode(), 0o644
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: wheel.py INSTALLED_TREE VERSION OUTPUT_FOLDER")
    tree, version, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    module = next(tree.rglob("_native.*.so")).name
    python, machine = re.fullmatch(r"_native\.cpython-(\d+)-(\w+)-linux-gnu\.so", module).groups()
    tag, info = f"cp{python}-cp{python}-linux_{machine}", f"weft-{version}.dist-info"
    record = ""
    with zipfile.ZipFile(folder / f"weft-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        def write(name, data, mode):
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for name, data, mode in contents(tree, info, version, tag):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
            write(name, data, mode)
        write(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644)


if __name__ == "__main__":
    main()
