#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python_test.py - the Python package: its calls agree with numpy, and its errors are clear.

usage: python_test.py SOURCE_FOLDER BUILD_FOLDER CMAKE

Idea     cases.py runs as the ranks of jobs: 1 to 4 ranks on one node, two virtual nodes, and under mpirun if it is
         installed.
"""
import ast
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True

SOURCE, BUILD, CMAKE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
BIN = BUILD / "bin"
PACKAGES = BIN / "python3/dist-packages"
CASES = SOURCE / "tests/faces/python/cases.py"
GUIDE = SOURCE / "docs/guide/python.md"
EXAMPLE = re.compile(r"<!-- example: (\S+) prints: ([^\n]*) -->\n```python\n(.*?)```", re.DOTALL)
STUB = SOURCE / "src/faces/python/weft/_native.pyi"
DEADLINE_S = 120
CALLS = ("reductions", "data_movement", "teams", "neighbors", "objects", "memory", "strided", "nonblocking_memory",
         "buffers", "buffer_lists", "user_operations", "requests")
sys.path.insert(0, str(PACKAGES))


def job(ranks, *cases, nodes=1, launcher=None, program=CASES, packages=PACKAGES, **settings):
    """Runs cases.py or another program. Returns its status and output."""
    launcher = launcher or [BIN / "weft", "run", "-n", ranks, "--nodes", nodes, "--"]
    command = [*launcher, sys.executable, "-B", program, *cases]
    ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=DEADLINE_S, check=False, env={**os.environ, "PYTHONPATH": str(packages), **settings})
    return ended.returncode, ended.stdout


class Jobs(unittest.TestCase):
    def expect_success(self, ranks, *cases, **more):
        with self.subTest(ranks=ranks, cases=cases, **more):
            status, out = job(ranks, *cases, **more)
            self.assertEqual(status, 0, out)
            self.assertIn(f"{len(cases)} cases, {ranks} ranks: right\n", out)

    def test_calls_agree_with_numpy(self):
        for ranks in (1, 2, 3, 4):
            self.expect_success(ranks, *CALLS)

    def test_calls_agree_with_numpy_on_two_nodes(self):
        self.expect_success(4, *CALLS, nodes=2)

    def test_operations_run_on_a_progress_thread(self):
        self.expect_success(2, "user_operations", "requests", nodes=2, WEFT_PROGRESS="thread")

    @unittest.skipUnless(shutil.which("mpirun.openmpi"), "mpirun.openmpi is not installed")
    def test_calls_agree_with_numpy_under_mpirun(self):
        launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", 2]
        self.expect_success(2, *CALLS, launcher=launcher)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_tensors_are_buffers(self):
        self.expect_success(2, "tensors")

    def test_mistakes_are_reported(self):
        self.expect_success(2, "forks", "disagreement", "interrupts", "second_thread", "unfitting_values")
        for case in ("wrong_exchange", "forks_beside_a_thread", "collected_team"):
            self.assertEqual(job(2, case), (0, ""), case)
        self.expect_success(3, "disagreement", "interrupts", nodes=3)

    def test_repeated_calls_do_not_use_more_memory(self):
        self.expect_success(2, "memory_is_flat", "many_contexts")

    def test_several_threads_share_a_runtime(self):
        status, out = job(2, "threads")
        self.assertEqual(status, 0, out)

    def test_survivors_continue_after_a_death(self):
        status, out = job(3, "survivors", launcher=[BIN / "weft", "run", "--keep-going", "-n", 3, "--"])
        self.assertEqual(status, 1, out)
        self.assertIn("the survivors are right\n", out)

    def test_an_exception_ends_the_job(self):
        for ranks in (1, 3):
            status, out = job(ranks, "fails_on_last_rank")
            self.assertEqual(status, 1, out)
            self.assertIn("ValueError: planted", out)
        status, out = job(2, "no_such_case")
        self.assertEqual(status, 1, out)

    def test_examples_of_the_guide_run(self):
        examples = EXAMPLE.findall(GUIDE.read_text(encoding="utf-8"))
        self.assertEqual(len(examples), 3)
        for name, printed, text in examples:
            if "import torch" in text and not importlib.util.find_spec("torch"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                program = Path(folder) / name
                program.write_text(text, encoding="utf-8")
                status, out = job(3, program=program)
                self.assertEqual(status, 0, out)
                self.assertIn(printed.replace("RANKS", "3"), out)

    def test_the_heat_example_is_right(self):
        for ranks, nodes in ((1, 1), (3, 1), (4, 2)):
            status, out = job(ranks, "--rows", 50, "--columns", 40, "--check", nodes=nodes,
                              program=SOURCE / "perf/apps/python/heat.py")
            self.assertEqual(status, 0, out)
            self.assertIn("right\n", out)

    def test_the_wheel_runs_without_the_tree(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for component in ("library", "tools", "python"):
                subprocess.run([CMAKE, "--install", str(BUILD), "--prefix", str(folder / "tree"), "--component", component],
                               stdout=subprocess.DEVNULL, check=True)
            subprocess.run([sys.executable, str(SOURCE / "packaging/wheel.py"), str(folder / "tree"), "0.1.0", str(folder)],
                           check=True)
            with zipfile.ZipFile(next(folder.glob("weft-0.1.0-*.whl"))) as wheel:
                wheel.extractall(folder / "packages")
                command = wheel.read("weft-0.1.0.data/scripts/weft").decode()
                self.assertEqual(len(wheel.read("weft-0.1.0.dist-info/RECORD").splitlines()), len(wheel.namelist()))
            shutil.rmtree(folder / "tree")
            program = folder / "where.py"
            program.write_text(
                "import weft\n"
                "with weft.Runtime() as job:\n"
                "    total = job.world.allreduce(1)\n"
                "    if job.world.rank == 0:\n"
                "        print(total, [line.split()[-1] for line in open('/proc/self/maps') if 'libweft.so' in line][0])\n",
                encoding="utf-8")
            status, out = job(2, program=program, nodes=2, packages=folder / "packages")
            self.assertEqual(status, 0, out)
            self.assertIn(f"2 {folder}/packages/weft/libweft.so.0\n", out)
            # The installer of a wheel keeps this permission.
            (folder / "packages/weft/weft").chmod(0o755)
            (folder / "command.py").write_text(command, encoding="utf-8")
            done = subprocess.run([sys.executable, str(folder / "command.py"), "run", "-n", "2", "--nodes", "2", "--",
                                   str(folder / "packages/weft/weft"), "bench", "barrier", "--seconds", "0.01"],
                                  env={**os.environ, "PYTHONPATH": str(folder / "packages")}, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Interface(unittest.TestCase):
    def test_each_name_has_a_text_and_a_type(self):
        import weft
        from weft import _native
        types = {node.name: node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}
        checked = 0
        for name in ("Runtime", "Request", "Op", "Calls", "Team", "Neighbors", "NeighborCalls", "Stencil"):
            kind = getattr(weft, name)
            typed = {node.name for node in types[name].body if isinstance(node, ast.FunctionDef)}
            public = {member for member in vars(kind) if not member.startswith("_")}
            self.assertEqual(public, {member for member in typed if not member.startswith("_")}, name)
            self.assertTrue(kind.__doc__)
            for member in public:
                self.assertGreater(len(inspect.getdoc(getattr(kind, member)) or ""), 15, f"{name}.{member}")
                checked += 1
        self.assertGreater(checked, 70)
        self.assertEqual(_native.version, weft.__version__)

    def test_operations_have_the_numbers_of_the_c_interface(self):
        import weft
        header = (SOURCE / "include/weft/core.h").read_text(encoding="utf-8")
        names = header.split("typedef enum weft_op")[1].split("WEFT_OP_NONE")[0]
        declared = re.findall(r"\bWEFT_([A-Z_]+)\b(?: = 0)?,", names)
        self.assertEqual([op.name for op in weft.BuiltinOp], declared)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
