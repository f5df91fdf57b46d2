#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""neg_test.py - goal: programs that must not compile are refused for the intended reason. Method: compile each .cpp file
of this folder twice. With VALID defined the compiler must accept it. Without VALID the compiler must refuse it with a
message that matches the regular expression of its `Refused:` line.

usage: neg_test.py ROOT COMPILER
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-x", "c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror=unused-result",
         "-Wno-missing-field-initializers"]


def problem(path, command):
    """Returns a description of what is wrong with a file, or None."""
    refused = re.search(r"^// Refused: (.*)$", path.read_text(encoding="utf-8"), re.M)
    if refused is None:
        return "has no line `// Refused: REGEX`"

    def compile_with(*more):
        return subprocess.run([*command, *more, str(path)], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "LC_ALL": "C"})

    valid, invalid = compile_with("-DVALID"), compile_with()
    if valid.returncode != 0:
        return f"must compile with VALID:\n{valid.stderr}"
    if invalid.returncode == 0:
        return "compiles without VALID, and must not"
    return None if re.search(refused[1], invalid.stderr) else f"is refused for another reason:\n{invalid.stderr}"


def main():
    root, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    command = [compiler, *FLAGS, *[f"-I{root / folder}" for folder in ("include", "src", "")]]
    files = sorted(Path(__file__).resolve().parent.glob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda path: problem(path, command), files))
    for path, text in zip(files, problems):
        if text:
            print(f"{path.name}: {text}")
    print(f"{len(files)} files, {sum(map(bool, problems))} wrong")
    return 1 if any(problems) or not files else 0


if __name__ == "__main__":
    sys.exit(main())
