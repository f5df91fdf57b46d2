#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lint_test.py - goal: each rule reports its faults and nothing else. Method: each rule must report texts with the
fault, and must not report similar texts without it.

usage: lint_test.py [C++ COMPILER]
"""
import re
import sys
import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

sys.dont_write_bytecode = True

import budgets  # noqa: E402
import compile_headers  # noqa: E402
import fields  # noqa: E402
import rooms  # noqa: E402
import rules  # noqa: E402
from source import Source, tests_of  # noqa: E402

COMPILER = "c++"
ROOT = Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"


def lines_of(rule, path, text, *more):
    """Returns the lines that a rule reports in a file with this text. more: further arguments of the rule."""
    return [finding.line for finding in rule(Source(path, text), *more)]


class Rules(unittest.TestCase):
    def test_collective_names_are_banned_in_generic_code(self):
        rule = rules.collective_names
        for word in ("allreduce", "AllreduceStep", "kReduceScatter", "is_broadcast", "alltoallv",
                     "scatter_step", "iallgather", "neighbor_alltoall"):
            self.assertEqual(lines_of(rule, "src/run/execute/a.cpp", f"\nint {word};\n"), [2], word)
        self.assertEqual(lines_of(rule, "src/plan/a.hpp", "// as allreduce does\n"), [1])
        self.assertEqual(lines_of(rule, "src/plan/a.hpp", "int barrier_epoch;\n"), [1])
        self.assertEqual(lines_of(rule, "src/run/execute/a.hpp", "int barrier_epoch;\n"), [])
        self.assertEqual(lines_of(rule, "src/base/a.hpp", 'auto a = "exscan";\n'), [1])
        for accepted in ("// scatter and gather are words\n", "int reduce, scanned;\n", "int gathered;\n",
                     "int allreduce;  // lint: allow(collective-name): the name is data here\n"):
            self.assertEqual(lines_of(rule, "src/link/wire/a.cpp", accepted), [], accepted)
        self.assertEqual(lines_of(rule, "src/run/job/a.cpp", "int allreduce;\n"), [])
        self.assertEqual(lines_of(rule, "collectives/allreduce/a.cpp", "int allreduce;\n"), [])

    def test_provider_names_are_banned_outside_providers(self):
        rule = rules.provider_names
        for text in ('open("tcp;ofi_rxm");', "// verbs needs this", 'if (name == "shm") {', "int efa;"):
            self.assertEqual(lines_of(rule, "src/link/fabric/a.cpp", text), [1], text)
        for accepted in ("int shm_bytes;", "// a socket, a verb and the net\n"):
            self.assertEqual(lines_of(rule, "src/link/fabric/a.cpp", accepted), [], accepted)
        self.assertEqual(lines_of(rule, "providers/tcp.cpp", '"tcp"'), [])

    def test_missing_head_comments_are_reported(self):
        rule = rules.head_comment
        good = SPDX + "// a.hpp - what it is.\n"
        self.assertEqual(lines_of(rule, "src/base/a.hpp", good), [])
        self.assertEqual(lines_of(rule, "src/base/b.hpp", good), [2])
        self.assertEqual(lines_of(rule, "src/base/a.hpp", "// a.hpp - what it is.\n"), [1])
        self.assertEqual(lines_of(rule, "src/base/a.cpp", SPDX + "int x;\n"), [2])
        self.assertEqual(lines_of(rule, "src/base/a.cpp", SPDX + "int x;\n", {"src/base/a.hpp"}), [])
        self.assertEqual(lines_of(rule, "tests/unit/x/a_test.cpp", SPDX + "#include <a>\n"), [])
        self.assertEqual(lines_of(rule, "tests/unit/x/a_test.cpp", SPDX + "int x;\n"), [2])
        self.assertEqual(lines_of(rule, "tests/run", "#!/bin/sh\necho\n"), [1])
        self.assertEqual(lines_of(rule, "tests/run", "#!/bin/sh\n" + SPDX.replace("//", "#") + "x\n"), [2])

    def test_headers_without_pragma_once_are_reported(self):
        self.assertEqual(lines_of(rules.pragma_once, "src/base/a.hpp", "// #pragma once\n"), [1])
        self.assertEqual(lines_of(rules.pragma_once, "src/base/a.hpp", "#pragma once\n"), [])

    def test_long_lines_are_reported(self):
        for path, text, lines in (("perf/a.cpp", "// " + "a" * 98, [1]), ("perf/a.cpp", "// " + "a" * 97, []),
                                  ("docs/a.md", "a" * 121, [1]), ("docs/a.md", "| " + "a" * 121, []),
                                  ("docs/a.md", "```\n" + "a" * 121 + "\n```\n" + "b" * 121, [4]), ("perf/a.py", "a" * 121, [])):
            self.assertEqual(lines_of(rules.line_length, path, text), lines, path)

    def test_long_files_are_reported(self):
        self.assertEqual(lines_of(rules.file_length, "src/a.cpp", "int x;\n" * 500), [])
        self.assertEqual(lines_of(rules.file_length, "src/a.cpp", "int x;\n" * 501), [501])

    def test_banned_patterns_are_reported(self):
        for path, text, lines in (
                ("src/plan/select/a.cpp", "auto t = std::chrono::steady_clock::now();", [1]),
                ("src/plan/select/a.cpp", "getenv(name);", [1]), ("src/plan/select/a.cpp", "std::thread t;", [1]),
                ("src/run/job/a.cpp", "std::thread t;", []), ("collectives/a.cpp", "// like getenv()\n", []),
                ("src/a.cpp", "// TO" "DO: later\n", [1]), ("docs/a.md", "\nFIX" "ME\n", [2]), ("docs/a.md", "to do, fixed\n", []),
                ("docs/a.md", "see /ho" "me/me/notes\n", [1]), ("docs/a.md", "a/work/b ${X}/home/y\n", []),
                ("cmake/a.sh", "# all ranks alike\n", [1]), ("docs/a.md", "Nobody waits; one tells them apart.\n", [1]),
                ("perf/a.cpp", 'f("{} is none of the types");\nf("is told well apart");\n', [1, 2]),
                ("docs/a.md", "perf/tell-apart, told_apart, none of these; go, shared, hearing\n", []),
                ("docs/decisions/1.md", "alike\n", []),
                ("src/a.cpp", "int a;  // lint: allow(word): a name of others: mood\n", [])):
            self.assertEqual(lines_of(rules.patterns, path, text), lines, text)

    def test_collectives_missing_in_the_readme_are_reported(self):
        table = Source(rules.COLLECTIVE_TABLE, 'CollectiveTraits{dance, "dance", 1}, CollectiveTraits{reel, "reel"}')
        names = rules.collectives_of([table])
        self.assertEqual(names, ["dance", "reel"])
        self.assertEqual(lines_of(rules.forgotten_collectives, "README.md", "dance, reel_by_reel\n", names), [1])
        self.assertEqual(lines_of(rules.forgotten_collectives, "README.md", "dance, `reel`\n", names), [])
        self.assertEqual(lines_of(rules.forgotten_collectives, "docs/a.md", "\n", names), [])

    def test_new_entries_at_the_top_of_the_tree_are_reported(self):
        self.assertEqual(lines_of(rules.root_entries, "notes.txt", ""), [1])
        self.assertEqual(lines_of(rules.root_entries, "src/notes.txt", ""), [])

    def test_broken_links_are_reported(self):
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "there.md").touch()
            text = "[a](there.md) [b](https://example.org) [c](there.md#part)\n[d](gone.md)\n"
            self.assertEqual(lines_of(rules.broken_links, "a.md", text, root), [2])

    def test_comments_that_name_missing_pages_are_reported(self):
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "docs").mkdir()
            (Path(root) / "docs/there.md").touch()
            text = '// See docs/there.md, in docs/.\n/* and\n docs/go' 'ne.md. */\nf("docs/any");\n'
            self.assertEqual(lines_of(rules.missing_pages, "src/a.hpp", text, root), [3])
            self.assertEqual(lines_of(rules.missing_pages, "tests/run", "#!/bin/sh\n# docs/go" "ne.md\n", root), [2])
            self.assertEqual(lines_of(rules.missing_pages, "src/a.hpp", "// share/docs/x.md\n", root), [])

    def test_unknown_variables_in_strings_are_reported(self):
        table = Source(rules.VARIABLE_TABLE[1], 'line("WEFT_BANKS", "4");  // "WEFT_COMMENT"\n')
        collectives = Source(rules.COLLECTIVE_TABLE,
                             'CollectiveTraits{dance, "dance", none}, CollectiveTraits{long_dance, "long_dance"}')
        names = rules.table_of_variables([table, collectives, Source("src/a.cpp", '"WEFT_OTHER"')])
        self.assertEqual(names, {"WEFT_BANKS", "WEFT_DANCE", "WEFT_LONG_DANCE"})
        rule = rules.unknown_variables
        for text in ('f("(WEFT_CELLS sets it)");', 'f(R"(WEFT_BANK)");'):
            self.assertEqual(lines_of(rule, "src/run/a.cpp", "\n" + text + "\n", names), [2], text)
        for accepted in ('f("WEFT_BANKS=4", "WEFT_LONG_DANCE", "WEFT_");', "// WEFT_CELLS\n", "WEFT_CHECK(a);"):
            self.assertEqual(lines_of(rule, "src/run/a.cpp", accepted, names), [], accepted)
        self.assertEqual(lines_of(rule, "tests/a.cpp", 'f("WEFT_CELLS");', names), [])


class FunctionLength(unittest.TestCase):
    BODY = "    x();\n"

    def lines(self, head, body_lines, tail="}\n"):
        return lines_of(rules.function_length, "src/a.cpp", head + self.BODY * body_lines + tail)

    def test_the_limit_is_seventy_lines_including_head_and_brace(self):
        self.assertEqual(self.lines("void f() {\n", 68), [])
        self.assertEqual(self.lines("void f() {\n", 69), [1])

    def test_all_kinds_of_functions_are_measured(self):
        for head in ("namespace a {\ntemplate <class T>\nauto f(T t) const noexcept -> int {\n",
                     "namespace a {\nclass C : public B {\n    C() : a_{1}, b_(2) {\n",
                     "namespace a {\nTEST(Suite, Name) {\n",
                     "namespace a {\nbool operator==(const A& a, const A& b) {\n"):
            self.assertEqual(len(self.lines(head, 80)), 1, head)

    def test_other_blocks_are_not_measured(self):
        for head in ("namespace a {\n", "struct alignas(64) S {\n", "enum class E : int {\n",
                     "constexpr std::array<int, size(3)> kTable = {\n"):
            self.assertEqual(self.lines(head, 80, "};\n"), [], head)

    def test_braces_in_comments_strings_and_macros_are_ignored(self):
        tricky = 'void f() {\n    // }\n    s = "}"; c = \'}\';\n    n = 1\'000;\n    r = R"(})";\n'
        self.assertEqual(self.lines(tricky, 80), [1])
        self.assertEqual(self.lines("#define M(x) \\\n    do { x\nvoid f() {\n", 80), [3])


class Includes(unittest.TestCase):
    TABLE = f"""text\n{rooms.MARK}\n| Room | May include | Foreign headers |\n|---|---|---|
| `include/weft` | none | none |
| `base` | `include/weft` | `posix` |
| `plan/schedule` | `base` | `pure` |
| `link/fabric` | `base` | `rdma/*`, `pmix*.h` in `pmix_*` |
| `link/wire` | `base`, `link/fabric/fabric.hpp` | none |
| `run/job` | `base`, `plan/*`, `link/*` | none |
"""
    FILES = {"include/weft/types.hpp", "include/weft/team.hpp", "src/base/put.hpp",
             "src/plan/schedule/step.hpp", "src/link/fabric/fabric.hpp", "src/link/fabric/port.hpp"}

    def lines(self, path, text, table=TABLE):
        return lines_of(rooms.check_includes, path, text, self.FILES, rooms.read_table(table))

    def test_includes_between_rooms_follow_the_table(self):
        for path, name, lines in (
                ("src/plan/schedule/a.cpp", "link/fabric/fabric.hpp", [1]), ("src/link/fabric/a.cpp", "plan/schedule/step.hpp", [1]),
                ("src/base/a.cpp", "plan/schedule/step.hpp", [1]), ("src/link/wire/a.cpp", "link/fabric/port.hpp", [1]),
                ("src/plan/schedule/a.cpp", "../../link/fabric/port.hpp", [1]), ("src/link/wire/a.cpp", "weft/team.hpp", [1]),
                ("src/link/wire/a.cpp", "link/fabric/fabric.hpp", []), ("src/link/wire/a.cpp", "weft/types.hpp", []),
                ("src/run/job/a.cpp", "link/fabric/port.hpp", []), ("src/run/job/a.cpp", "plan/schedule/step.hpp", []),
                ("src/base/a.cpp", "weft/team.hpp", []), ("src/base/a.cpp", "base/put.hpp", [])):
            self.assertEqual(self.lines(path, f'#include "{name}"\n'), lines, (path, name))

    def test_foreign_headers_follow_the_table(self):
        for path, names, lines in (
                ("src/link/fabric/a.cpp", ["rdma/fabric.h"], []), ("src/link/wire/a.cpp", ["rdma/fabric.h", "sys/mman.h"], [1]),
                ("src/link/fabric/pmix_a.cpp", ["pmix.h"], []), ("src/link/fabric/a.cpp", ["pmix.h"], [1]),
                ("src/base/a.cpp", ["sys/mman.h", "vector", "string.h"], []), ("src/plan/schedule/a.cpp", ["vector"], []),
                ("src/plan/schedule/a.cpp", ["chrono", "thread", "mutex", "sys/mman.h", "fstream"], [1])):
            for name in names:
                self.assertEqual(self.lines(path, f"#include <{name}>\n"), lines, (path, name))

    def test_unknown_rooms_and_files_are_reported(self):
        self.assertEqual(self.lines("src/attic/a.cpp", ""), [1])
        self.assertEqual(self.lines("src/base/a.cpp", '#include "base/gone.hpp"\n'), [1])
        self.assertEqual(self.lines("src/base/a.cpp", '// #include "base/gone.hpp"\n'), [])

    def test_cycles_and_unknown_rooms_in_the_table_are_reported(self):
        table = Source(rooms.TABLE, self.TABLE)
        self.assertEqual(list(rooms.check_table(table, rooms.read_table(self.TABLE))), [])
        cycle = self.TABLE + "| `x` | `y` | none |\n| `y` | `x`, `nowhere` | none |\n"
        found = [f.message for f in rooms.check_table(table, rooms.read_table(cycle))]
        self.assertTrue(any("cycle: x -> y -> x" in text for text in found), found)
        self.assertTrue(any("unknown room nowhere" in text for text in found), found)
        with self.assertRaises(ValueError):
            rooms.read_table("no table")

    def test_unused_rows_and_allowances_are_reported(self):
        used = {"src/base/put.hpp": '#include "weft/team.hpp"\n#include <unistd.h>\n', "include/weft/team.hpp": "",
                "src/plan/schedule/step.hpp": '#include "base/put.hpp"\n', "src/link/fabric/fabric.hpp":
                '#include "base/put.hpp"\n#include <rdma/fabric.h>\n', "src/link/fabric/pmix_a.cpp": "#include <pmix.h>\n",
                "src/link/wire/wire.cpp": '#include "base/put.hpp"\n#include "link/fabric/fabric.hpp"\n',
                "src/run/job/a.cpp": '#include "plan/schedule/step.hpp"\n#include "link/fabric/fabric.hpp"\n'
                                         '#include "base/put.hpp"\n'}

        def found(files, before=""):
            sources = [Source(path, text) for path, text in files.items()]
            return [finding.message for finding in rooms.check_use(
                Source(rooms.TABLE, before + self.TABLE), sources, set(files), rooms.read_table(self.TABLE))]

        self.assertEqual(found(used, "| `src/base` | words |\n"), [])
        self.assertEqual(found(used, "| `src/bas` | words |\n"), ["describes src/bas, which does not exist"])
        for path, item in (("src/link/fabric/pmix_a.cpp", "pmix*.h in pmix_*"), ("src/base/put.hpp", "posix"),
                           ("src/link/wire/wire.cpp", "link/fabric/fabric.hpp"), ("src/run/job/a.cpp", "plan/*")):
            self.assertTrue(any(item in text for text in found({**used, path: ""})), item)
        del used["src/run/job/a.cpp"]
        self.assertEqual(found(used), ["row run/job has no code: delete it"])

    def test_the_two_halves_of_the_project_are_separate(self):
        """Rows of plan and collectives do not allow link, and rows of link do not allow plan."""
        table = rooms.read_table((ROOT / rooms.TABLE).read_text(encoding="utf-8"))
        for room in table:
            for half, other in (("plan/", "link/"), ("link/", "plan/"), ("collectives", "link/")):
                if room.name.startswith(half):
                    self.assertFalse([item for item in room.rooms if item.startswith(other)], room.name)


class Fields(unittest.TestCase):
    HEADER = ("struct Line : Base {\n    std::map<int, int> table = {{1, 2}};\n    int first, second = 0;\n"
              "    bool flag : 1;\n    void f(int argument);\n    static int shared;\n"
              "    int g() const { int local = 0; return local; }\n};\nstruct LineOptions {\n    int width = 7;\n};\n")
    USES = "auto f(Line& a, LineOptions b) { a.flag = 1; b.width = 2; return a.flag, a.table, a.first + a.second, b.width; }"

    def found(self, uses, header=HEADER):
        sources = [Source("src/base/a.hpp", header), Source("tests/a.cpp", uses)]
        return [(finding.line, finding.message.split(":: ")[0]) for finding in fields.check_fields(sources)]

    def test_exactly_the_data_members_are_found(self):
        names = [name for _, name, _, _ in fields.members(Source("src/base/a.hpp", self.HEADER))]
        self.assertEqual(names, ["table", "first", "second", "flag", "width"])

    def test_members_that_nothing_reads_or_sets_are_reported(self):
        self.assertEqual(self.found(self.USES), [])
        self.assertEqual(self.found(self.USES.replace("a.table, ", "")), [(2, "nothing reads Line::table: delete it")])
        self.assertEqual(self.found(self.USES.replace("return a.flag, ", "return ")),
                         [(4, "nothing reads Line::flag: delete it")])
        self.assertEqual(self.found(self.USES.replace("b.width = 2; ", "")),
                         [(10, "nothing sets LineOptions::width: make it a constant")])
        self.assertEqual(self.found("", "struct A {\n    // lint: allow(dead-field): read elsewhere\n    int a;\n};"), [])


class Budgets(unittest.TestCase):
    """Each measure reports a value above its limit, and accepts the same sources with that value as the limit."""

    def found(self, row, **files):
        table = Source(budgets.TABLE, f"| Measure | Subjects | Limit | Reason |\n|---|---|---|---|\n| {row} | test |\n")
        sources = [table] + [Source(path.replace("__", "/") + ".hpp", text) for path, text in files.items()]
        return [finding.message for finding in budgets.check_budgets(sources)]

    def check(self, measure, subjects, value, **files):
        self.assertEqual(self.found(f"{measure} | {subjects} | {value}", **files), [], measure)
        problems = self.found(f"{measure} | {subjects} | {value - 1}", **files)
        self.assertEqual(len(problems), 1, measure)
        self.assertIn(f"{measure} of {subjects.replace('`', '')}: {value}", problems[0])

    def test_lines_of_rooms_are_limited(self):
        self.check("lines", "`src/base` `src/plan`", 5, src__base__a="a\n" * 3, src__plan__b="b\n" * 2, src__run__c="c\n")
        self.check("lines", "`src` without `src/plan`", 3, src__base__a="a\n" * 3, src__plan__b="b\n" * 2)

    def test_lines_of_a_class_are_summed_over_its_files(self):
        head = "namespace a {\nclass Big {\n  public:\n    void f();\n    void g();\n};\n}\n"
        body = "namespace a {\nvoid Big::f() {\n    x();\n}\n}\n"
        other = "namespace b {\nvoid Big::f() {\n}\n}\n"
        self.check("lines of a class", "`classes`", 12, src__a=head, src__b=body, src__c=other)
        self.assertEqual(self.found("lines of a class | `classes` without `Big` | 1", src__a=head, src__b=body), [])

    def test_public_functions_are_counted(self):
        text = ("class A {\n  public:\n    A() = default;\n    ~A();\n    A(const A&) = delete;\n    int f() const { return g(1); }\n"
                "    void f(int a);\n    std::function<void(int)> member;\n  private:\n    void h();\n};\n")
        self.check("public functions of a class", "`classes`", 2, src__a=text)

    def test_a_type_name_in_three_scopes_counts_and_in_two_does_not(self):
        def file(*scopes):
            return "".join(f"namespace {scope} {{\nstruct Place {{}};\n}}\n" for scope in scopes)

        self.check("names in more than two scopes", "`src`", 1, src__a=file("a", "b", "c"))
        self.assertEqual(self.found("names in more than two scopes | `src` | 0", src__a=file("a", "b"), src__b=file("a")), [])

    def test_headers_that_include_each_other_are_reported(self):
        self.check("cycles of headers", "`src`", 1, src__a='#include "b.hpp"\n', src__b='#include "a.hpp"\n')
        self.assertEqual(self.found("cycles of headers | `src` | 0", src__a='#include "b.hpp"\n', src__b="\n"), [])

    def test_repeated_code_is_counted(self):
        code = "".join(f"    call{number}(first, second);\n" for number in range(budgets.REPEATED_LINES))
        self.check("repeated pairs", "`src`", 1, src__a="void f() {\n" + code + "}\n", src__b="void g() {\n" + code + "}\n")

    def test_phrases_and_long_sentences_are_counted(self):
        text = "// It does what is needed.\n" + "// word word\n" * 20 + "// end.\n"
        row = "{} per 1,000 words | `src` | {}"
        self.assertEqual(self.found(row.format("phrases", 30), src__a=text), [])
        self.assertEqual(len(self.found(row.format("phrases", 1), src__a=text)), 1)
        self.assertEqual(len(self.found(row.format("long sentences", 1), src__a=text)), 1)
        self.assertEqual(self.found(row.format("long sentences", 1), src__a=text.replace("word\n", "word.\n")), [])

    def test_unknown_measures_and_empty_tables_are_findings(self):
        self.assertEqual(len(self.found("smiles | `src` | 1")), 1)
        self.assertEqual(len(list(budgets.check_budgets([Source(budgets.TABLE, "no row\n")]))), 1)
        self.assertEqual(len(list(budgets.check_budgets([]))), 1)


class FastRun(unittest.TestCase):
    def test_filters_of_the_fast_run_match_existing_tests(self):
        names = tests_of(ROOT)
        filters = re.findall(r"^fast_(?:left_out|ranks)\+?=':?([^']*)'", (ROOT / "tests/run").read_text(), re.M)
        patterns = [pattern.split("/")[0] for text in filters for pattern in text.split(":")]
        self.assertGreater(len(patterns), 10)
        self.assertEqual([pattern for pattern in patterns
                          if not any(fnmatchcase(name, pattern) for name in names)], [])


class Headers(unittest.TestCase):
    def test_a_header_that_does_not_compile_alone_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "include/weft").mkdir(parents=True)
            (root / "include/weft/good.hpp").write_text("#pragma once\n#include <vector>\nstd::vector<int> f();\n")
            (root / "include/weft/bad.hpp").write_text("#pragma once\nstd::vector<int> f();\n")
            (root / "include/weft/bad.h").write_text("namespace not_c {}\n")
            jobs = compile_headers.headers_to_check(root, ["include"])
            errors = [compile_headers.compile_alone(root, COMPILER, [], *job) for job in jobs]
            reported = " ".join(text.split(":")[0] for text in errors if text)
            self.assertEqual(reported, "weft/bad.h as c99 weft/bad.hpp as c++20")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop(1)
    unittest.main()
