# SPDX-License-Identifier: BSD-3-Clause
"""source.py - the class of a file that rules check, and the class of a finding.

Idea     A rule reads the text, the code without comments, or the code without comments and strings. All three have the
         same line numbers.
"""
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CPP = {".hpp", ".cpp", ".h", ".c"}
SCRIPTS = {".py", ".sh"}
SKIPPED = {"build", ".git", ".cache", "__pycache__"}

COMMENT_OR_LITERAL = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<!\w)'(?:\\.|[^'\\\n])*')",
    re.DOTALL,
)
SCRIPT_COMMENT = re.compile(r"(?<!\S)(?P<comment>#[^\n]*)")


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    def __init__(self, path, text):
        self.path = Path(path)
        self.text = text
        self.lines = text.splitlines()

    @cached_property
    def is_cpp(self):
        return self.path.suffix in CPP

    @cached_property
    def is_script(self):
        return self.path.suffix in SCRIPTS or self.text.startswith("#!")

    @cached_property
    def is_cmake(self):
        return self.path.name == "CMakeLists.txt" or self.path.suffix == ".cmake"

    @cached_property
    def only_comments(self):
        """The text with everything except comments blanked. In scripts and CMake, a # that starts a word starts a
        comment."""
        kept = list(_blank(self.text))
        comments = COMMENT_OR_LITERAL if self.is_cpp else SCRIPT_COMMENT
        for match in comments.finditer(self.text):
            if match["comment"]:
                kept[match.start():match.end()] = match[0]
        return "".join(kept)

    @cached_property
    def strings(self):
        """Pairs (offset, text) of the string literals."""
        return [(m.start(), m[0]) for m in COMMENT_OR_LITERAL.finditer(self.text)
                if m["string"] or m["raw"]]

    @cached_property
    def without_comments(self):
        return COMMENT_OR_LITERAL.sub(
            lambda m: _blank(m[0]) if m["comment"] else m[0], self.text)

    @cached_property
    def bare_code(self):
        """The code without comments, strings and preprocessor lines (with their continuations)."""
        text = COMMENT_OR_LITERAL.sub(lambda m: _blank(m[0]), self.text)
        return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: _blank(m[0]), text, flags=re.M)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def under(self, *folders):
        path = self.path.as_posix()
        return any(path == folder or path.startswith(folder + "/") for folder in folders)

    def allows(self, line, rule):
        """Returns true if the line or the line above it contains `lint: allow(rule): reason`."""
        pattern = re.compile(r"lint: allow\(" + re.escape(rule) + r"\): \S")
        return any(pattern.search(text) for text in self.lines[max(0, line - 2):line])

    def finding(self, line, rule, message):
        return Finding(self.path.as_posix(), line, rule, message)


def read_tree(root):
    """Returns all text files of the project, sorted by path."""
    sources = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(set(files) - SKIPPED):
            path = Path(folder) / name
            try:
                sources.append(Source(path.relative_to(root), path.read_text(encoding="utf-8")))
            except (UnicodeDecodeError, FileNotFoundError):
                continue
    return sources


def tests_of(root):
    """Returns the Suite.Name of each C++ test, and the names of Python's test methods."""
    names = set()
    for path in (root / "tests").rglob("*.cpp"):
        names |= {".".join(found)
                  for found in re.findall(r"^\w*TEST\w*\((\w+), (\w+)\)", path.read_text(encoding="utf-8"), re.M)}
    for path in (root / "tests").rglob("*_test.py"):
        names |= set(re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8")))
    return names
