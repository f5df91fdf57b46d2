#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: man pages and completion agree with --help, and groff and bash can read them.
# Method: compare the texts of each command; format pages with groff without warnings; complete words with bash.
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
DEADLINE_S = 30


def weft(*arguments, status=0):
    """Runs a command, which must end with this status."""
    done = subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if done.returncode != status:
        raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr}")
    return done


def without_markup(page):
    """Returns the text of a man page without its markup."""
    return re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = json.loads(weft("help", "--json").stdout)
        cls.commands = {command["name"]: command for command in cls.reference["commands"]}
        cls.folder = Path(tempfile.mkdtemp(prefix="weft-help."))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        weft("help", "--write", str(cls.folder))
        cls.pages = {path.stem: path.read_text(encoding="utf-8") for path in cls.folder.glob("man/man1/*.1")}
        cls.completion = cls.folder / "bash-completion/completions/weft"

    def test_the_reference_lists_all_commands(self):
        listed = re.findall(r"^  ([\w-]+) {2,}", weft("--help").stdout.split("Subcommands:")[1], re.MULTILINE)
        self.assertEqual(list(self.commands), listed)
        self.assertGreaterEqual(len(listed), 11)
        printed = weft(status=2).stderr
        self.assertIn(f"a command ({', '.join(listed)}) is missing", printed)

    def test_options_equal_those_of_help(self):
        for name, command in self.commands.items():
            printed = weft(name, "--help").stdout
            self.assertEqual(printed, weft("help", name).stdout)
            shown = re.findall(r"^  (-[-\w,]+)", printed, re.MULTILINE)
            printed = [",".join(option["names"]) for option in command["options"]]
            self.assertEqual(printed, shown, name)

    def test_all_texts_start_in_lower_case(self):
        """Texts start in lower case, unless the first word is a name or a placeholder for a value."""
        texts = [option["help"] for option in self.reference["options"]]
        for command in self.commands.values():
            texts += [command["summary"], *(option["help"] for option in command["arguments"] + command["options"])]
        self.assertGreater(len(texts), 100)
        for text in texts:
            self.assertRegex(text, r"^([a-z]|[A-Z][A-Z]+[^a-z])")
            self.assertNotRegex(text, r"[^.]\.$", "no sentence: no full stop")

    @unittest.skipUnless(shutil.which("help2man"), "no help2man here")
    def test_pages_agree_with_the_parser(self):
        self.assertEqual(set(self.pages), {"weft", *(f"weft-{name}" for name in self.commands)})
        for name, command in self.commands.items():
            page, printed = without_markup(self.pages[f"weft-{name}"]), weft(name, "--help").stdout
            self.assertEqual(page, without_markup(weft("help", "--man", name).stdout))
            self.assertIn(command["summary"], page)
            self.assertIn(command["footer"], page)
            for option in command["arguments"] + command["options"]:
                self.assertIn(option["help"], page, option)
                self.assertIn(option["default"], page, option)
                for choice in option["choices"]:  # --help does not list the collectives of some commands
                    self.assertEqual(choice in printed, choice in page, option)

    @unittest.skipUnless(shutil.which("help2man"), "no help2man here")
    def test_the_main_page_has_all_commands_and_variables(self):
        page = without_markup(self.pages["weft"])
        for name in self.commands:
            self.assertIn(f".BR weft-{name} (1)", page)
        table = json.loads(weft("info", "--environment", "--json").stdout)["environment"]
        for setting in table:
            self.assertIn(setting["name"], page)

    @unittest.skipUnless(shutil.which("groff") and shutil.which("help2man"), "no groff or no help2man here")
    def test_groff_reads_the_pages(self):
        """-Wbreak disables warnings about lists of values without blanks, which are longer than a line."""
        for name, page in self.pages.items():
            done = subprocess.run(["groff", "-man", "-ww", "-Wbreak", "-Tascii", "-P-cbou"], input=page, capture_output=True,
                                  text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn(f"{name} - ", " ".join(done.stdout.split()))

    def test_without_help2man_only_the_completion_is_written(self):
        with tempfile.TemporaryDirectory(prefix="weft-help.") as folder:
            done = subprocess.run([WEFT, "help", "--write", folder], capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False, env={"PATH": folder})
            self.assertEqual(done.returncode, 0)
            self.assertIn("man pages are made by help2man", done.stderr)
            self.assertEqual([path.name for path in Path(folder).rglob("*") if path.is_file()], ["weft"])

    def complete(self, *words):
        script = (f"source '{self.completion}'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _weft; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [word for word in done.stdout.split("\n") if word]

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.completion.read_text(encoding="utf-8"), weft("help", "--completion").stdout)
        self.assertEqual(self.complete("weft", "ver"), ["verify"])
        self.assertEqual(set(self.complete("weft", "")) & set(self.commands), set(self.commands))
        self.assertEqual(self.complete("weft", "bench", "--lo"), ["--loop"])
        self.assertEqual(self.complete("weft", "bench", "--loop", ""), ["back-to-back", "separated"])
        self.assertIn("put-latency", self.complete("weft", "bench", "put"))
        self.assertIn("allreduce", self.complete("weft", "verify", "all"))
        for name, command in self.commands.items():
            printed = {one for option in command["options"] for one in option["names"]}
            self.assertEqual(set(self.complete("weft", name, "-")), printed, name)

    def test_completion_after_two_dashes_is_for_the_program(self):
        self.assertIn("bash", self.complete("weft", "run", "-n", "2", "--", "bas"))
        self.assertEqual(self.complete("weft", "run", "--", "bash", "--lo"), [])
        self.assertEqual(self.complete("weft", "run", "--", "bash", "ma"), ["man"])

    def test_an_unknown_command_is_named(self):
        self.assertIn("command: weft has no command weave; weft --help lists the commands",
                      weft("help", "weave", status=2).stderr)

    def test_an_unwritable_folder_is_an_error(self):
        self.assertIn("--write: cannot write /dev/null/", weft("help", "--write", "/dev/null", status=3).stderr)


if __name__ == "__main__":
    unittest.main()
