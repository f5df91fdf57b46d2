# SPDX-License-Identifier: BSD-3-Clause
"""rules.py - rules about one file: words, head comments, lengths, links.

Idea     A rule is a generator: it takes a Source and yields findings. RULES lists the rules that need no further
         argument. lint.py calls the other rules with the names of files, variables or collectives.
Next     rooms.py for the rule about #include; lint_test.py for files that each rule must report.
"""
import re
from pathlib import Path

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
CODE_COLUMNS = 100
PAGE_COLUMNS = 120

# Rooms whose files may not name a collective; rooms without clocks, threads and files; folders of the product.
WITHOUT_COLLECTIVES = ("src/base", "src/topology", "src/plan", "src/tools/lab", "src/tools/measure",
                       "src/tools/simulate", "src/tools/text", "src/tools/verify", "src/link",
                       "src/run/bind", "src/run/execute", "src/run/reduce")
PURE = ("src/plan", "src/tools/simulate", "src/tools/text", "src/tools/verify", "src/tools/lab/cost", "collectives")
PRODUCT = ("src", "include", "collectives", "providers")

# Names of collectives that are forbidden in code and comments. `reduce` is also a step and `scan` also a verb, so both
# are allowed. `scatter`, `gather` and `barrier` are also ordinary words, so comments may use them. Code of
# MAY_NAME_BARRIER may use `barrier`, because the engine inserts barriers.
COLLECTIVES = re.compile(r"(?:^|_)(i?(?:allreduce|broadcast|bcast|allgather|alltoall|exscan|reduce_scatter"
                         r"|all_reduce|all_gather|neighbor_allgather|neighbor_alltoall)v?)(?:_|$)")
MAY_NAME_BARRIER = "src/run/execute"
COLLECTIVES_IN_CODE = re.compile(r"(?:^|_)(?<!reduce_)((?:scatter|gather|barrier)v?)(?:_|$)")
PROVIDERS = {"tcp", "udp", "verbs", "efa", "cxi", "gni", "psm", "psm2", "psm3", "opx", "usnic",
             "rxm", "rxd", "ofi_rxm", "ofi_rxd"}
PROVIDER_LITERAL = re.compile(r'"(?:shm|net|sockets|ucx|lpp|sm2|bgq|mrail)"')
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IMPURE_CODE = re.compile(r"std::chrono|std::thread|std::j?thread|std::random_device|std::[io]?fstream"
                         r"|\b(?:clock_gettime|gettimeofday|getenv|fopen|rdtsc|__rdtsc)\b")
LEFTOVER = re.compile(r"\b(?:FIX" r"ME|TO" r"DO|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}~/])/(?:home|root|work|Users|workspace|scratch)/\w")
# Former words of the project, which are forbidden except in these folders.
WITH_OLD_WORDS = ("docs/decisions", "tests/lint")
OLD_WORDS = re.compile(
    r"(?<![`\"])\b(?:alike|(?:no|some|any|every)body|whoever|moods?|summons|vigil|last words|hears?|heard|for ever"
    r"|without a word|(?:is|are) none of|lets? go)\b|\bt(?:ell|ells|old|elling)\s(?:[^.]{0,40}\s)?apart\b", re.I)
DOCS_PATH = re.compile(r"(?<![\w./-])docs/[\w./-]*\w")
VARIABLE_TABLE = ("src/base/environment.hpp", "src/base/environment.cpp")
COLLECTIVE_TABLE = "collectives/collective_traits.hpp"
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
ROOT_ENTRIES = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "CHANGELOG.md",
                "CONTRIBUTING.md", "src", "include", "providers", "collectives", "tests", "perf", "docs", "packaging",
                "cmake"}


def snake(word):
    """Converts to snake case, so that ReduceScatter and reduce_scatter are one word."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


def _in_lines(source, rule, text, problem_of):
    for number, line in enumerate(text.split("\n"), start=1):
        problem = problem_of(line)
        if problem and not source.allows(number, rule):
            yield source.finding(number, rule, problem)


def _text_of(applies, text="text"):
    return lambda source: getattr(source, text) if applies(source) else ""


# Rules that are one pattern: the text to search, the forbidden pattern, the remedy.
PATTERNS = {
    "pure": (_text_of(lambda source: source.is_cpp and source.under(*PURE), "bare_code"), IMPURE_CODE,
             "plan/ and collectives/ may depend only on their arguments"),
    "leftover": (_text_of(lambda source: True), LEFTOVER, "do it now, or open an issue"),
    "machine-path": (_text_of(lambda source: True), MACHINE_PATH, "exists on one machine only"),
    "word": (_text_of(lambda source: not source.under(*WITH_OLD_WORDS)), OLD_WORDS,
             "use a plain technical term (docs/glossary.md)"),
}


def patterns(source):
    for rule, (text_of, pattern, advice) in PATTERNS.items():
        def problem_of(line, pattern=pattern, advice=advice):
            found = pattern.search(line)
            return found and f"{found[0]}: {advice}"

        yield from _in_lines(source, rule, text_of(source), problem_of)


def collective_names(source):
    if not (source.is_cpp and source.under(*WITHOUT_COLLECTIVES)):
        return

    def search(pattern):
        def problem_of(line):
            for word in WORD.findall(line):
                found = pattern.search(snake(word))
                if found and not (found[1] == "barrier" and source.under(MAY_NAME_BARRIER)):
                    return (f"names the collective {found[1]}; this room works on any program "
                            "(name the step or the property)")
            return None
        return problem_of

    yield from _in_lines(source, "collective-name", source.text, search(COLLECTIVES))
    yield from _in_lines(source, "collective-name", source.without_comments,
                         search(COLLECTIVES_IN_CODE))


def provider_names(source):
    if not (source.is_cpp and source.under(*PRODUCT)) or source.under("providers"):
        return

    def problem_of(line):
        names = [word for word in WORD.findall(line) if word in PROVIDERS]
        names += PROVIDER_LITERAL.findall(line)
        return names and f"names the provider {names[0]}; move code and text about one provider to providers/"

    yield from _in_lines(source, "provider-name", source.text, problem_of)


def head_comment(source, files=()):
    """Checks the head comment. A .cpp file needs none if a header has the same name."""
    if not (source.is_cpp or source.is_script or source.is_cmake):
        return
    lines = source.lines[1:] if source.text.startswith("#!") else source.lines
    if not lines or SPDX not in lines[0]:
        yield source.finding(1, "head-comment", f"the first line is not the comment `{SPDX}`")
        return
    if source.is_cmake:
        return
    second_line = lines[1] if len(lines) > 1 else ""
    name = source.path.name
    if source.is_cpp and source.under(*PRODUCT):
        if source.path.with_suffix(".hpp").as_posix() in files and not source.path.suffix == ".hpp":
            return
        if not second_line.startswith(f"// {name} - "):
            yield source.finding(2, "head-comment", f"the second line is not `// {name} - PURPOSE`")
    elif not re.match(r"//|/\*|#|\"\"\"", second_line):
        yield source.finding(2, "head-comment", "no comment about the purpose of this file")


def pragma_once(source):
    if source.path.suffix == ".hpp" and "#pragma once" not in source.without_comments:
        yield source.finding(1, "pragma-once", "a header without #pragma once")


def file_length(source):
    if (source.is_cpp or source.is_script or source.is_cmake) and len(source.lines) > FILE_LINES_MAX:
        yield source.finding(len(source.lines), "file-length",
                             f"{len(source.lines)} lines, more than {FILE_LINES_MAX}: split it")


def _opens_function(head):
    """Returns true if the text before a brace at namespace or class level is a function's head."""
    head = re.sub(r"alignas\s*\([^()]*\)|\[\[.*?\]\]", "", head).strip()
    if not head:  # the body after a constructor's list of members: A() : a_{1} {
        return True
    if re.search(r"\b(?:namespace|class|struct|union|enum|concept|extern)\b[^()]*$", head):
        return False
    if re.search(r"(?:^|[^=!<>])=\s*(?:\{?\s*)$", head) or re.search(r"[(,]\s*$", head):
        return False
    return ")" in head


def line_length(source):
    """Checks all lines of C and C++, and prose of pages. Tables, code and lists of names on pages may be longer."""
    if source.under("docs/decisions"):
        return
    limit = CODE_COLUMNS if source.is_cpp else PAGE_COLUMNS
    fenced = False
    for number, line in enumerate(source.lines, start=1):
        fenced ^= source.path.suffix == ".md" and line.lstrip().startswith("```")
        prose = source.path.suffix == ".md" and not fenced and not re.match(r"\||    |\s*`|- (?:JSON|`)", line)
        if (source.is_cpp or prose) and len(line) > limit and not source.allows(number, "line-length"):
            yield source.finding(number, "line-length", f"{len(line)} columns, more than {limit}")


def function_length(source):
    if not source.is_cpp:
        return
    code = source.bare_code
    stack = []  # (is function, line of its head)
    functions = 0
    head_start = 0
    for match in re.finditer(r"[{};]", code):
        mark, at = match[0], match.start()
        if mark == "{":
            head = code[head_start:at]
            is_function = functions == 0 and _opens_function(head)
            first = head_start + len(head) - len(head.lstrip())
            stack.append((is_function, source.line_of(first)))
            functions += is_function
        elif mark == "}" and stack:
            is_function, first = stack.pop()
            functions -= is_function
            lines = source.line_of(at) - first + 1
            if is_function and lines > FUNCTION_LINES_MAX and not source.allows(first, "function-length"):
                yield source.finding(first, "function-length",
                                     f"{lines} lines, more than {FUNCTION_LINES_MAX}: split it")
        head_start = at + 1


def root_entries(source):
    first = source.path.parts[0]
    if first not in ROOT_ENTRIES and not first.startswith("."):
        yield source.finding(1, "root", f"{first} does not belong at the top of the tree")


def broken_links(source, root):
    """Checks links of a page to files of the project."""
    if source.path.suffix != ".md":
        return
    for match in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", source.text):
        if re.match(r"[a-z]+:", match[1]):
            continue
        if not (Path(root) / source.path.parent / match[1]).exists():
            line = source.line_of(match.start())
            yield source.finding(line, "link", f"{match[1]} does not exist")


def missing_pages(source, root):
    """Checks that pages named by comments exist."""
    if not (source.is_cpp or source.is_script or source.is_cmake):
        return
    for match in DOCS_PATH.finditer(source.only_comments):
        line = source.line_of(match.start())
        if not (Path(root) / match[0]).exists() and not source.allows(line, "page"):
            yield source.finding(line, "page", f"{match[0]} does not exist")


def collectives_of(sources):
    """Returns the names in the table of traits."""
    return re.findall(r'CollectiveTraits\{\w+, "(\w+)"', "".join(
        source.without_comments for source in sources if source.path.as_posix() == COLLECTIVE_TABLE))


def forgotten_collectives(source, names):
    """Checks that the README names all collectives."""
    if source.path.as_posix() == "README.md":
        for name in names:
            if not re.search(rf"\b{name}\b", source.text):
                yield source.finding(1, "readme", f"does not name the collective {name}")


def table_of_variables(sources):
    """Returns the names in the table of the environment, with the variables that force an algorithm."""
    text = "".join(s.without_comments for s in sources if s.path.as_posix() in VARIABLE_TABLE)
    names = set(re.findall(r'"(WEFT_[A-Z_]*[A-Z])"', text))
    return names | {"WEFT_" + name.upper() for name in collectives_of(sources)}


def unknown_variables(source, names):
    """Finds strings that name unknown variables: users would set them without effect."""
    if not (source.is_cpp and source.under(*PRODUCT)):
        return
    for offset, text in source.strings:
        for match in re.finditer(r"\bWEFT_[A-Z][A-Z_]*", text):
            line = source.line_of(offset + match.start())
            if match[0] not in names and not source.allows(line, "variable"):
                yield source.finding(line, "variable",
                                     f"{match[0]} is not in the table of {VARIABLE_TABLE[1]}")


RULES = [collective_names, provider_names, patterns, pragma_once, file_length, line_length, function_length,
         root_entries]
