# SPDX-License-Identifier: BSD-3-Clause
"""budgets.py - compares sizes of the tree with the budgets of tests/lint/budgets.md.

Idea     Each row of the table has a measure, its subjects (folders or classes), and a limit. A measured value above the
         limit is a finding.
Holds    Each measure is a function of all sources and the row's subjects. It returns a value, or a value and a detail
         for the message. The lines of a class are the lines of all files that define parts of it.
"""
import re
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from rooms import INCLUDE, resolve
from source import Finding

TABLE = Path("tests/lint/budgets.md")
PRODUCT = ("src", "include", "collectives", "providers")
CODE = (*PRODUCT, "perf", "tests")
SENTENCE_WORDS = 32
REPEATED_LINES = 8

# Phrases at which readers often stop. They are counted, not forbidden, because some uses are right.
STOP_PHRASES = [re.compile(pattern) for pattern in (
    r"^(?:Of|By|At|To) (?:a|an|the|each|all|one|such|these|those|what|which|two|many)\b",
    r"\b[Ww]ho(?:ever)? (?:is|has|had|does|did|waits?|calls?|reads?|writes?|needs?|sends?|gets?|asks?|may|must|can)\b",
    r"\b[Ww]hat (?:is|are|was|has|have|a|an|the|it|they|one|each|all|others?|comes?|arrives?|remains?|must|may|can)\b",
    r"\b(?:so|as) (?:many|few|much|often|long) (?:as|bytes|of|ranks|calls|times)\b",
    r"\b(?:anew|thereby|thereof|hence|whence|whereby|lest|naught|mend(?:s|ed)|alike|by itself|for good)\b",
    r"\b(?:lies|lay|stands|stood)\b", r"\b(?:node-)?mates?\b",
    r"\b(?:none|nothing) (?:of|is|are|else|that)\b|\bthere (?:is|are) (?:none|no)\b",
    r"\b(?:than|as|of|by|to|with|from|like) (?:that|those|these)(?:[.,;:)]| of| is| are| which)",
    r"\b(?:the )?ones? (?:of|with|to|by|from) which\b", r"\b[Tt]he same[.,;:]|\blikewise\b",
)]


def rows(text):
    """Yields (line, measure, subjects, limit) for each row of the table."""
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and re.fullmatch(r"[\d,.]+", cells[2]):
            yield number, cells[0], cells[1].split(), float(cells[2].replace(",", ""))


def _under(sources, folders, left_out=()):
    return [source for source in sources if source.under(*folders) and not (left_out and source.under(*left_out))]


def _with_exceptions(subjects):
    """Splits `a b without c d` into [a, b] and [c, d]."""
    cut = subjects.index("without") if "without" in subjects else len(subjects)
    return subjects[:cut], subjects[cut + 1:]


def lines(sources, subjects):
    inside, left_out = _with_exceptions(subjects)
    return sum(len(source.lines) for source in _under(sources, inside, left_out) if source.is_cpp)


def _pages(sources, subjects):
    inside, left_out = _with_exceptions(subjects)
    pages = [source for source in sources if source.path.suffix == ".md"]
    return [page for page in pages if ("pages" in inside or page.under(*inside)) and not page.under(*left_out)]


def words(sources, subjects):
    return sum(len(page.text.split()) for page in _pages(sources, subjects))


def pages(sources, subjects):
    return len(_pages(sources, subjects))


# --- language ---


def _prose(source):
    """Yields the texts of a file: prose of pages, comments and messages of code."""
    if source.path.suffix == ".md":
        fenced = False
        for line in source.lines:
            fenced ^= line.startswith("```")
            if not fenced and not line.startswith(("|--", "<!--", "```")):
                yield re.sub(r"`[^`]*`", "X", line).strip(" |#>-*")
    else:
        for line in source.only_comments.splitlines():
            if text := line.strip().lstrip("/*#!< ").rstrip("*/ "):
                yield text
        for _, text in source.strings if source.is_cpp else ():
            if text.count(" ") > 1:
                yield text.strip('"')


def _language(sources, subjects):
    """Returns the numbers of words (at least 1), of STOP_PHRASES, and of sentences of more than SENTENCE_WORDS words."""
    total = found = long = 0
    inside, left_out = _with_exceptions(subjects)
    for source in _under(sources, inside, left_out):
        if not (source.is_cpp or source.is_script or source.is_cmake or source.path.suffix == ".md"):
            continue
        sentence = 0
        for text in _prose(source):
            total += len(text.split())
            found += sum(bool(phrase.search(text)) for phrase in STOP_PHRASES)
            for part in re.split(r"(?<=[.;:!?])\s", text):
                sentence += len(part.split())
                if part.endswith((".", ";", ":", "!", "?")) or "|" in part:
                    long += sentence > SENTENCE_WORDS
                    sentence = 0
    return max(total, 1), found, long


def phrases(sources, subjects):
    total, found, _ = _language(sources, subjects)
    return 1000 * found / total


def long_sentences(sources, subjects):
    total, _, long = _language(sources, subjects)
    return 1000 * long / total


# --- classes ---

OPENS_TYPE = re.compile(
    r"\b(class|struct|union|enum(?:\s+class)?)\s+(?:alignas\s*\([^()]*\)\s*)?(?:\[\[\w+\]\]\s*)?([\w:]+)"
    r"(?:\s*<[^{};]*>)?(?:\s+final)?(?:\s*:(?!:)[^;{}()]*)?\s*$")
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
MEMBER_OF = re.compile(r"([A-Z]\w*)(?:<[\w:, ]*>)?::[~\w]+[^;{}=]*\(")
NO_FUNCTION = re.compile(r"\s*(?:using|friend|static_assert|typedef|template\s*<[^;{]*>\s*(?:class|struct)\b|enum|struct)\b")


class Types:
    """The types of all sources: where each name is defined, and the extent of each class."""

    def __init__(self, sources):
        self.scopes = defaultdict(set)       # name: scopes that define it
        self.files = defaultdict(dict)       # name of a class: lines of each file that defines parts of it
        self.functions = Counter()           # name of a class: declarations of public functions
        for source in sources:
            self._read(source)

    def _read(self, source):
        code, stack, start = source.bare_code, [], 0
        for match in re.finditer(r"[{};]|\b(public|private|protected)\s*:(?!:)", code):
            mark, at, head = match[0], match.start(), code[start:match.start()]
            start = match.end()
            if match[1]:
                if stack and stack[-1][0] == "type":
                    stack[-1][3] = match[1]
            elif mark == "}":
                if stack:
                    self._close(source, stack, at)
            elif mark == ";":
                self._member(stack, head)
            else:
                self._open(source, stack, head, start - len(head) - 1)

    def _open(self, source, stack, head, begin):
        begin += len(head) - len(head.lstrip())
        space, opened = NAMESPACE.search(head), OPENS_TYPE.search(head)
        if space:
            stack.append(["space", space[1] or source.path.as_posix(), begin, ""])
        elif opened and "(" not in head[opened.end(2):]:
            scope = "::".join(level[1] for level in stack if level[1])
            self.scopes[opened[2]].add(scope)
            stack.append(["type", opened[2], begin, "private" if opened[1] == "class" else "public"])
        else:
            owner = MEMBER_OF.search(head)
            outside = all(level[0] == "space" for level in stack)
            self._member(stack, head)
            stack.append(["body", "", begin, owner[1] if owner and outside else ""])

    def _close(self, source, stack, at):
        kind, name, _, owner = stack.pop()
        inside_type = any(level[0] == "type" for level in stack)
        class_name = owner if kind == "body" else name if kind == "type" and not inside_type else ""
        if class_name:
            space = "::".join(level[1] for level in stack if level[0] == "space")
            self.files[f"{space}::{class_name}"][source.path.as_posix()] = len(source.lines)

    def _member(self, stack, head):
        if not stack or stack[-1][0] != "type" or stack[-1][3] != "public" or NO_FUNCTION.match(head):
            return
        name = stack[-1][1]
        scope = "::".join(level[1] for level in stack if level[1])
        head = re.sub(r"\[\[.*?\]\]|alignas\s*\([^()]*\)|decltype\s*\([^()]*\)", "", head, flags=re.S)
        while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
            head = shorter
        found = re.match(r"[^=(]*?\b(operator\s*\S+?|\w+)\s*\(", head)
        if not found or found[1] == name or "~" in head.split("(")[0] or re.search(r"=\s*delete", head):
            return
        self.functions[scope] += 1


def _code_types(sources):
    return Types([source for source in sources if source.is_cpp and source.under(*PRODUCT)])


def class_lines(sources, subjects):
    files = _code_types(sources).files
    return _of_classes({name: sum(files[name].values()) for name in files}, subjects)


def public_functions(sources, subjects):
    return _of_classes(_code_types(sources).functions, subjects)


def _of_classes(counts, subjects):
    inside, left_out = _with_exceptions(subjects)
    short_name = {name: name.rpartition("::")[2] for name in counts}
    names = [name for name in counts
             if (inside == ["classes"] and short_name[name] not in left_out) or short_name[name] in inside]
    largest = max(names, key=lambda name: counts[name], default=None)
    return (counts[largest], largest) if largest else 0


def names_in_many_scopes(sources, subjects):
    inside, _ = _with_exceptions(subjects)
    scopes = Types([source for source in sources if source.is_cpp and source.under(*inside)]).scopes
    names = sorted(name for name in scopes if len(scopes[name]) > 2)
    return len(names), ", ".join(names[:8])


def headers_in_cycles(sources, subjects):
    """Returns 1 and the cycle if a header includes itself through others, else 0."""
    inside, _ = _with_exceptions(subjects)
    files = {source.path.as_posix() for source in sources}
    edges = {}
    for source in _under(sources, inside):
        if source.is_cpp:
            targets = [resolve(match[2], source.path, files) for match in INCLUDE.finditer(source.without_comments)]
            edges[source.path.as_posix()] = [target.as_posix() for target in targets if target]
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return 1, " -> ".join(error.args[1])
    return 0


# --- repetition ---


def repeated(sources, subjects):
    """Returns the number of pairs of places that share REPEATED_LINES or more equal lines of code."""
    inside, left_out = _with_exceptions(subjects)
    places = defaultdict(list)
    for index, source in enumerate(_under(sources, inside, left_out)):
        if not source.is_cpp:
            continue
        code_lines = []
        for number, line in enumerate(source.bare_code.splitlines()):
            line = line.strip()
            if len(line) > 3 and not line.startswith("namespace") and line not in ("};", "public:", "private:"):
                code_lines.append((number, re.sub(r"\s+", "", line)))
        for at in range(len(code_lines) - REPEATED_LINES + 1):
            key = tuple(text for _, text in code_lines[at:at + REPEATED_LINES])
            places[key].append((index, at))
    pairs = set()
    for found in places.values():
        if 1 < len(found) <= 8:
            first = found[0]
            pairs |= {(first[0], other[0], other[1] - first[1]) for other in found[1:] if other != first}
    return len(pairs)


MEASURES = {"lines": lines, "words": words, "pages": pages, "phrases per 1,000 words": phrases,
            "long sentences per 1,000 words": long_sentences, "lines of a class": class_lines,
            "public functions of a class": public_functions, "names in more than two scopes": names_in_many_scopes,
            "cycles of headers": headers_in_cycles, "repeated pairs": repeated}


def check_budgets(sources):
    table = next((source for source in sources if source.path == TABLE), None)
    if table is None:
        yield Finding(TABLE.as_posix(), 1, "budget", "is missing")
        return
    found = False
    for line, measure, subjects, limit in rows(table.text):
        found = True
        if measure not in MEASURES:
            yield table.finding(line, "budget", f"no measure is called {measure}; there are {', '.join(MEASURES)}")
            continue
        value = MEASURES[measure](sources, subjects)
        value, detail = value if isinstance(value, tuple) else (value, "")
        if value > limit:
            yield table.finding(line, "budget", f"{measure} of {' '.join(subjects)}: {value:,.5g} {detail}, more than "
                                f"{limit:,.5g}: make it smaller, or raise the budget and give the reason")
    if not found:
        yield table.finding(1, "budget", "has no row")
