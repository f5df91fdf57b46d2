#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft run accepts the options of mpirun and runs one rank under a tool; weft doctor names missing parts.
# Method: jobs of shell commands; fake tools, first in PATH, that print their arguments; a pseudo-terminal.
import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

from command import WEFT, answer, check_refusals, weft

PRINT_RANK = ("sh", "-c", "echo rank $PMIX_RANK")


def ranks(text):
    """Returns the ranks that have printed a line, in order."""
    return sorted(int(number) for number in re.findall(r"^rank (\d+)$", text, re.MULTILINE))


class LauncherArguments(unittest.TestCase):
    def test_the_program_needs_no_dashes_before_it(self):
        for options in (("-n", "3"), ("-n3",), ("-np", "3"), ("-np3",), ("--np=3",), ("--np", "3"), ("--ranks=3",),
                        ("--layout", "2,1"), ("-x", "A=1", "-n", "3"), ("-n", "3", "--")):
            done = weft("run", *options, *PRINT_RANK)
            self.assertEqual((done.returncode, ranks(done.stdout)), (0, [0, 1, 2]), (options, done.stderr))

    def test_words_after_the_program_are_its_arguments(self):
        done = weft("run", "-n", "1", "--label", "echo", "-n", "7", "--label", "--", "x")
        self.assertEqual(done.stdout.strip(), "[0] 7 --label -- x")

    def test_options_of_other_launchers_get_a_hint(self):
        check_refusals(self, ((("run", "-n", "2", *options, "true"), words) for options, words in (
            (("--bind-to", "core"), "--bind-to of weft run: --bind core binds ranks"), (("--oversubscribe",), "outnumber"),
            (("-hostfile", "hosts"), "mpirun and srun start them on others"), (("-N", "2"), "-N of weft run: --nodes 2"),
            (("--genv=A=1",), "-x NAME=VALUE"))))

    def test_run_without_a_program_is_an_error(self):
        for words in (("-n", "2"), ("-n", "2", "--"), ("--label", "-np", "2")):
            done = weft("run", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("the program to run is missing: weft run -n 4 PROGRAM ARGUMENTS...", done.stderr)


class Signals(unittest.TestCase):
    def test_commands_work_where_the_end_of_children_is_ignored(self):
        done = weft("doctor", "--json", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.stdout.count('"bad"'), weft("doctor", "--json").stdout.count('"bad"'))

    def test_a_stopped_tune_stops_its_job(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [WEFT, "tune", "barrier", "--ranks", "2", "--seconds", "60", "--output", folder + "/tuning.json"]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tune:
                children = Path(f"/proc/{tune.pid}/task/{tune.pid}/children")
                while not children.read_text(encoding="utf-8"):
                    time.sleep(0.01)
                job = int(children.read_text(encoding="utf-8"))
                tune.send_signal(signal.SIGTERM)
                self.assertEqual(tune.wait(timeout=30), 128 + signal.SIGTERM)
            self.assertFalse(Path(f"/proc/{job}").exists())


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="weft-tools."))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name in ("gdb", "valgrind"):
            # The fake tool prints its name, its options and one typed line, and then executes the program.
            (cls.folder / name).write_text(
                '#!/bin/sh\nwords=\nwhile case $1 in -*|run|bt) true;; *) false;; esac; do words="$words $1"; shift; done\n'
                f'echo "{name}$words"\n[ -t 0 ] && read line && echo "typed $line"\nexec "$@"\n', encoding="utf-8")
            (cls.folder / name).chmod(0o755)
        cls.path = {"PATH": f"{cls.folder}:{os.environ['PATH']}"}

    def test_one_rank_runs_under_the_tool(self):
        for tool, words in (("gdb", "gdb -q --batch -return-child-result -ex run -ex bt --args"),
                            ("valgrind", "valgrind --error-exitcode=9 --trace-children=yes")):
            done = weft("run", "-n", "3", f"--{tool}", "1", *PRINT_RANK, settings=self.path, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, ranks(done.stdout)), (0, [0, 1, 2]), done.stderr)
            self.assertEqual(done.stdout.count(words + "\n"), 1, done.stdout)

    def test_the_job_gets_the_status_of_the_rank_under_a_tool(self):
        done = weft("run", "-n", "2", "--valgrind", "1", "sh", "-c", "exit $PMIX_RANK", settings=self.path)
        self.assertEqual(done.returncode, 1)

    def test_the_debugger_gets_the_keyboard(self):
        master, slave = pty.openpty()
        job = subprocess.Popen([WEFT, "run", "-n", "2", "--gdb", "1", *PRINT_RANK], stdin=slave, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True, env=os.environ | self.path,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.write(master, b"backtrace\n")
        output = job.communicate(timeout=60)[0]
        os.close(slave)
        os.close(master)
        self.assertEqual(job.returncode, 0, output)
        self.assertIn("gdb -q --args\n", output)
        self.assertIn("typed backtrace\n", output)

    def test_invalid_options_for_tools_are_refused(self):
        check_refusals(self, (((*"run -n 2 --gdb 2 true".split(),), "--gdb 2: expected a rank, 0 to 1"),
                              ((*"run -n 2 --gdb 0 --valgrind 1 true".split(),), "--gdb and --valgrind exclude")))

    def test_a_missing_tool_is_named(self):
        done = weft("run", "-n", "2", "--gdb", "0", "/bin/true", settings={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot run gdb: no such program in PATH", done.stderr)


class Doctor(unittest.TestCase):
    def test_doctor_reports_that_jobs_run(self):
        found = answer(self, "doctor")
        self.assertEqual(list(found), ["jobs_run", "checks"])
        self.assertTrue(found["jobs_run"], found)
        states = {check["what"]: check["state"] for check in found["checks"]}
        for what in ("/proc", "a job of 2 ranks", "a job of 2 nodes"):
            self.assertEqual(states[what], "ok", found)
        for check in found["checks"]:
            self.assertIn(check["state"], ("ok", "note", "bad"))
            self.assertTrue(check["found"], check)
        text = weft("doctor").stdout
        self.assertTrue(text.endswith("jobs run here\n"))
        for check in found["checks"]:
            if not check["what"].startswith("load"):
                self.assertIn(check["what"], text)

    def test_missing_providers_come_with_their_requirements(self):
        notes = [check for check in answer(self, "doctor")["checks"] if check["what"].startswith("provider ")]
        self.assertGreater(len(notes), 8)
        for note in notes:
            self.assertTrue(note["state"] == "ok" or "it needs" in note["found"] or "not" in note["found"], note)

    def test_low_limits_and_unknown_settings_are_noted(self):
        done = weft("doctor", "--json", settings={"WEFT_TMEOUT": "3"},
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
        checks = {check["what"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertEqual((checks["open files"]["state"], checks["open files"]["mend"]), ("note", "ulimit -n 4096"))
        self.assertIn("did you mean WEFT_TIMEOUT?", checks["settings"]["found"])

    def test_a_machine_that_cannot_run_jobs_gives_status_1(self):
        done = weft("doctor", settings={"WEFT_FABRIC_MODULE": "/nowhere/weft_fabric.so"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^bad +a job of 2 nodes +.*/nowhere/weft_fabric.so")
        self.assertTrue(done.stdout.endswith("jobs do not run here\n"))


if __name__ == "__main__":
    unittest.main()
