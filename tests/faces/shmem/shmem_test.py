#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""shmem_test.py - the OpenSHMEM layer: its interface is the standard's, and programs get right results.

usage: shmem_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS COMPILER

Idea     routines.py lists the standard's routines. The header must declare exactly these routines, the library must
         define each with the prefixes shmem_ and pshmem_, and docs/shmem.md must list them. The programs run on one node
         and on virtual nodes; WEFT_TESTS_FULL=1 adds more numbers of PEs, all available providers, and a progress thread.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import routines  # noqa: E402
import tested  # noqa: E402
import walk  # noqa: E402

SOURCE, BIN, COMPILER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
HEADERS = SOURCE / "include/openshmem"
PAGE = SOURCE / "docs/shmem.md"
BEGIN, END = "<!-- routines: from tests/faces/shmem/routines.py -->\n", "<!-- end of routines -->\n"
FULL = os.environ.get("WEFT_TESTS_FULL", "") not in ("", "0")
WRITE = os.environ.get("WEFT_TESTS_WRITE", "") not in ("", "0")
DEADLINE_S = 600 if FULL else 60


def job(pes, *arguments, nodes=1, program="weft_shmem_programs", errors=subprocess.STDOUT, **settings):
    """Runs a job. Standard error is appended to its output, or separate if `errors` is PIPE."""
    command = [BIN / "weft", "run", "-n", str(pes), "--nodes", str(nodes), "--", BIN / program, *arguments]
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors, text=True,
                          timeout=DEADLINE_S, check=False, env={**os.environ, **settings})


def run(pes, *arguments, **options):
    """Runs a job. Returns its status and output."""
    ended = job(pes, *arguments, **options)
    return ended.returncode, ended.stdout


def declared(header):
    """Returns the names of the routines that a header declares, and its preprocessed text."""
    command = [COMPILER, "-std=c99", "-E", "-P", f"-I{HEADERS}", HEADERS / header]
    text = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(p?shmem_\w+)\s*\(", text)), text


class Interface(unittest.TestCase):
    def test_the_header_declares_exactly_the_standard_routines(self):
        names, text = declared("shmem.h")
        self.assertEqual(sorted(routines.names() - names), [], "missing in shmem.h")
        self.assertEqual(sorted(names - routines.names()), [], "in shmem.h, but not in the standard")
        for name in routines.OLD_NAMES:
            self.assertRegex(text, rf"\b{name}\(")

    def test_each_routine_has_a_profiling_name(self):
        names, _ = declared("pshmem.h")
        self.assertEqual({name for name in names if name.startswith("p")}, {"p" + name for name in routines.names()})

    def test_the_library_defines_each_routine(self):
        all_names = sorted(routines.names()) + routines.OLD_NAMES + sorted("p" + name for name in routines.names())
        program = "#include <pshmem.h>\ntypedef void (*routine)(void);\nroutine const all[] = {\n"
        program += "".join(f"    (routine){name},\n" for name in all_names)
        program += "};\nint main(void) {\n    for (unsigned i = 0; i < sizeof all / sizeof all[0]; ++i)\n"
        program += "        if (all[i] == 0) return 1;\n    return 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder) / "all.c", Path(folder) / "all"
            source.write_text(program, encoding="utf-8")
            command = [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Wno-cast-function-type", "-Werror", f"-I{HEADERS}", source,
                       "-o", binary, f"-L{BIN}", "-lweft-shmem", f"-Wl,-rpath,{BIN}", f"-Wl,-rpath-link,{BIN}"]
            ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr[-2000:])
            self.assertEqual(subprocess.run([str(binary)], check=False).returncode, 0)

    def test_a_program_calls_each_routine(self):
        """Compares the calls of all programs with the header, and writes the table to the build folder."""
        called = tested.programs(SOURCE, COMPILER)
        everything = routines.names() | set(routines.OLD_NAMES)
        self.assertEqual(tested.declared(SOURCE, COMPILER), everything)
        self.assertEqual(sorted(everything - set(called)), [], "no program of tests/faces/shmem/programs calls these")
        (BIN.parent / "shmem-routines.md").write_text(tested.table(SOURCE, COMPILER), encoding="utf-8")

    def test_the_page_lists_all_routines(self):
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        table, after = rest.split(END)
        if WRITE:
            PAGE.write_text(before + BEGIN + routines.page() + END + after, encoding="utf-8")
        else:
            self.assertEqual(table, routines.page(), "WEFT_TESTS_WRITE=1 regenerates it")

    def test_unsupported_types_of_generic_routines_are_refused(self):
        for call, supported in (("shmem_atomic_add(&x, 1, 0)", "long"), ("shmem_atomic_xor(&x, 1, 0)", "unsigned")):
            for kind, right in ((supported, True), ("double", False)):
                text = f"#include <shmem.h>\nvoid f(void) {{ static {kind} x; {call}; }}\n"
                ended = subprocess.run([COMPILER, "-std=c11", "-fsyntax-only", f"-I{HEADERS}", "-x", "c", "-"], input=text,
                                       capture_output=True, text=True, check=False)
                self.assertEqual(ended.returncode == 0, right, f"{call} of {kind}: {ended.stderr}")

    def test_the_error_names_the_type_without_a_routine(self):
        for call in ("shmem_put(&x, &y, 1, 0)", "shmem_put(SHMEM_CTX_DEFAULT, &x, &y, 1, 0)", "shmem_p(&x, y, 0)",
                     "shmem_atomic_fetch(SHMEM_CTX_DEFAULT, &x, 0)", "shmem_sum_reduce(SHMEM_TEAM_WORLD, &x, &y, 1)",
                     "shmem_wait_until(&x, SHMEM_CMP_EQ, 1)", "shmem_swap(&x, 1, 0)"):
            text = f"#include <shmem.h>\nstruct point {{ long x, y; }};\nvoid f(void) {{ static struct point x, y; {call}; }}\n"
            ended = subprocess.run([COMPILER, "-std=c11", "-fsyntax-only", f"-I{HEADERS}", "-x", "c", "-"], input=text,
                                   capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("struct point", ended.stderr, call)
            self.assertIn("use_a_typed_or_a_mem_routine", ended.stderr, call)
            self.assertRegex(ended.stderr, "<stdin>:3:.*(error|note)|<stdin>:3", call)


class Programs(unittest.TestCase):
    def check_programs(self, pes, nodes=1, **settings):
        with self.subTest(pes=pes, nodes=nodes, **settings):
            status, out = run(pes, nodes=nodes, **settings)
            self.assertIn(f"programs, {pes} PEs: 0 checks failed\n", out)
            self.assertEqual(status, 0, out)

    def test_programs_are_right_on_one_node(self):
        for pes in (2, 3, 4, 7) if FULL else (3,):
            self.check_programs(pes)

    def test_programs_are_right_on_several_nodes(self):
        for pes, nodes in ((2, 2), (3, 3), (4, 2), (4, 4), (7, 3), (7, 7)) if FULL else ((3, 2),):
            self.check_programs(pes, nodes)

    @unittest.skipUnless(FULL, "needs WEFT_TESTS_FULL=1")
    def test_programs_are_right_over_every_provider_and_with_a_thread(self):
        info = subprocess.run([str(BIN / "weft"), "info", "--json"], capture_output=True, text=True, check=True).stdout
        offered = {row["provider"] for row in json.loads(info)["providers"] if row["offered"]}
        for provider in offered & {"tcp;ofi_rxm", "net", "tcp", "shm", "udp;ofi_rxd", "sockets"}:
            self.check_programs(4, 2, WEFT_PROVIDER=provider)
            self.check_programs(4, 2, WEFT_PROVIDER=provider, WEFT_PROGRESS="thread")
        self.check_programs(4, WEFT_PROGRESS="thread")

    def test_a_failing_check_is_reported(self):
        status, out = run(2, "fails_on_last_pe")
        self.assertEqual(status, 1, out)
        self.assertIn("fails_on_last_pe: PE 1 of 2:", out)
        self.assertIn("1 programs, 2 PEs: 1 checks failed\n", out)

    def test_invalid_calls_are_reported(self):
        for program, sentence in (("puts_outside", "shmem_long_put: PE 1: dest: 8 bytes from "),
                                  ("puts_to_unknown_pe", "shmem_long_p: PE 1: pe: 2 is not a PE here, expected 0..1"),
                                  ("overlapping_blocks", "shmem_long_ibput: PE 1: dst, sst: the strides are 2 and 3, bsize is 3"),
                                  ("clears_lock_twice", "shmem_clear_lock: PE 1: lock: this PE does not hold it"),
                                  ("clears_lock_of_another_pe", "shmem_clear_lock: PE 1: lock: this PE does not hold it"),
                                  ("frees_inner_pointer", "shmem_free: PE 1: ptr: not from shmem_malloc")):
            with self.subTest(program=program):
                status, out = run(2, program)
                self.assertNotEqual(status, 0)
                self.assertIn(sentence, out)

    def test_random_traffic_agrees_with_a_model(self):
        cases = ((3, 1, 30000), (3, 2, 4000)) if not FULL else (
            (2, 1, 10**6), (4, 1, 10**6), (7, 1, 10**6), (2, 2, 50000), (4, 2, 10**6), (7, 3, 50000))
        for number, (pes, nodes, operations) in enumerate(cases):
            seed = 1000 * number + pes
            with self.subTest(pes=pes, nodes=nodes, seed=seed):
                status, out = run(pes, seed, operations, nodes=nodes, program="weft_shmem_traffic")
                self.assertRegex(out, rf"^seed {seed}: \d+ operations, {pes} PEs: 0 differences$")
                self.assertEqual(status, 0, out)
        status, out = run(3, 5, 3000, "wrong", program="weft_shmem_traffic")
        self.assertEqual(status, 1, out)
        self.assertIn("not as expected", out)

    def test_four_threads_may_call_concurrently(self):
        for pes, nodes in ((2, 1), (3, 2)):
            status, out = run(pes, nodes=nodes, program="weft_shmem_threads")
            self.assertEqual((status, out), (0, f"4 threads of {pes} PEs: 0 failures\n"))

    @unittest.skipUnless((BIN / "intsort").exists(), "perf is not built")
    def test_the_sorting_application_is_right(self):
        for pes, nodes in ((1, 1), (3, 1), (3, 2)):
            status, out = run(pes, 20000, 2, nodes=nodes, program="intsort")
            self.assertRegex(out, rf"^{pes} PEs, 20000 keys each, 2 rounds: \S+ million keys/s, sorted\n$")
            self.assertEqual(status, 0)

    def test_a_global_exit_ends_all_pes(self):
        for nodes in (1, 2):
            for program, status in (("exits_with_7", 7), ("exits_with_0", 0), ("exits_with_255", 255)):
                self.assertEqual(run(3, program, nodes=nodes)[0], status, program)

    def test_remote_puts_reach_a_pe_that_makes_no_call(self):
        self.assertEqual(run(2, "polls_own_word", nodes=2)[0], 0)
        # With WEFT_PROGRESS=calls there is no progress thread, so the same program must fail.
        status, out = run(2, "polls_own_word", nodes=2, WEFT_PROGRESS="calls")
        self.assertIn("1 programs, 2 PEs: 1 checks failed\n", out)
        self.assertEqual(status, 1, out)

    def test_progress_settings_that_differ_between_pes_are_refused(self):
        command = 'if [ "$PMIX_RANK" = 1 ]; then export WEFT_PROGRESS=calls; fi; exec "$0" identity'
        ended = subprocess.run([str(BIN / "weft"), "run", "-n", "2", "--nodes", "2", "--", "sh", "-c", command,
                                str(BIN / "weft_shmem_programs")], capture_output=True, text=True, timeout=DEADLINE_S,
                               check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertRegex(ended.stderr, 'WEFT_PROGRESS is "(calls|remote)" here and "(calls|remote)" there')

    def test_the_heap_has_the_requested_size(self):
        for size, status in (("1M", 1), ("8M", 0)):
            ended, out = run(2, "allocates_six_mebibytes", SHMEM_SYMMETRIC_SIZE=size)
            self.assertEqual(ended, status, size)
            full = "shmem_malloc: PE 0: size: the symmetric heap has no room for 6291456 bytes; SHMEM_SYMMETRIC_SIZE is 1M"
            self.assertEqual(out.count(full), status, out)

    def test_small_alignments_are_accepted(self):
        status, out = run(2, "allocates_at_small_alignments")
        self.assertEqual((status, out), (0, "1 programs, 2 PEs: 0 checks failed\n"))


class Walks(unittest.TestCase):
    """Runs walk.c, which calls each routine with arguments that the library must refuse."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        here = Path(cls.folder.name)
        (here / "walk_calls.inc").write_text(walk.calls(declared("shmem.h")[1]), encoding="utf-8")
        cls.program = here / "walk"
        command = [COMPILER, "-std=gnu11", "-w", "-O0", f"-I{HEADERS}", f"-I{here}", SOURCE / "tests/faces/shmem/walk.c", "-o", cls.program,
                   f"-L{BIN}", "-lweft-shmem", f"-Wl,-rpath,{BIN}", f"-Wl,-rpath-link,{BIN}"]
        subprocess.run([str(word) for word in command], check=True)

    def walk(self, mode, nodes):
        """Runs walk.c. Returns the outcome of each routine by its name, the output, and standard error."""
        ended = job(2, mode, nodes=nodes, program=self.program, errors=subprocess.PIPE)
        self.assertEqual(ended.returncode, 0, (ended.stdout + ended.stderr)[-2000:])
        self.assertIn("the job continues, 0 bytes of the heap changed\n", ended.stdout)
        outcomes = re.findall(r"^(shmem_\w+): (refused|returned -1|done)$", ended.stdout, re.MULTILINE)
        return dict(outcomes), ended.stdout, ended.stderr

    def test_every_call_in_a_forked_child_is_refused_or_harmless(self):
        harmless = {f"shmem_{name}" for name in (
            "my_pe", "n_pes", "pe_accessible", "addr_accessible", "ptr", "info_get_version", "info_get_name", "query_thread",
            "query_initialized", "team_ptr", "pcontrol", "finalize", "team_my_pe", "team_n_pes", "team_get_config", "team_translate_pe", "ctx_get_team",
            "set_cache_inv", "set_cache_line_inv", "clear_cache_inv", "clear_cache_line_inv", "udcflush", "udcflush_line")}
        for nodes in (1, 2):
            outcomes, out, messages = self.walk("child", nodes)
            self.assertEqual(set(outcomes), routines.names())
            self.assertEqual({name for name, outcome in outcomes.items() if outcome == "done"}, harmless)
            self.assertIn("the child: 0\n", out)
            self.assertIn("shmem_long_put: PE 0: called in a forked child", messages)

    def check_all_refused(self, mode, routines_called):
        """Checks that the library refuses all calls of a mode, and that the mode calls this number of routines."""
        for nodes in (1, 2):
            outcomes, _, _ = self.walk(mode, nodes)
            self.assertEqual([name for name, outcome in outcomes.items() if outcome == "done"], [], "not refused")
            self.assertEqual(len(outcomes), routines_called)

    def test_counts_that_overflow_are_refused(self):
        self.check_all_refused("count", 1090)

    def test_ranges_past_the_variables_are_refused(self):
        self.check_all_refused("past", 1089)

    def test_elements_after_the_variables_are_refused(self):
        self.check_all_refused("end", 1388)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
