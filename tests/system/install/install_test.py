#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""install_test.py - the installed library works for other programs, and exports only its interface.

usage: install_test.py SOURCE_FOLDER BUILD_FOLDER CMAKE

Idea     The test installs to a temporary prefix, moves the prefix, and builds every example of the guide: in C with
         pkg-config, in C++ with pkg-config and with find_package. It runs each example under the installed launcher,
         and under mpirun if that is installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD, CMAKE = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
GUIDE = [SOURCE / "docs/guide" / page for page in ("programming.md", "moving.md")]
EXAMPLE = re.compile(r"<!-- example: (\S+) prints: ([^\n]*) -->\n```(c|cpp)\n(.*?)```", re.DOTALL)
DEADLINE_S = 60
EXPORTED_CLASSES = {"Runtime", "Team", "OwnedTeam", "Memory", "Request", "PersistentRequest", "UserOp", "Error",
                 "OneSidedCalls", "Stencil"}


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def environment(**more):
    """Returns this environment without variables by which programs could find the build folder."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("WEFT_", "PKG_CONFIG", "LD_LIBRARY", "CMAKE_"))}
    return kept | more


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="weft-install."))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        first = cls.scratch / "first"
        run([CMAKE, "--install", BUILD, "--prefix", first])
        cls.prefix = cls.scratch / "moved here"
        first.rename(cls.prefix)
        cls.lib = next(cls.prefix.rglob("libweft.so.0")).parent
        cls.pkg = environment(PKG_CONFIG_PATH=str(cls.lib / "pkgconfig"))

    def flags(self, *which, package="weft"):
        """Returns the words that pkg-config prints, with \\0 for each space within a word."""
        return run(["pkg-config", *which, package], env=self.pkg).replace("\\ ", "\0").split()

    def build(self, language, source, program, package="weft"):
        compiler = {"c": ["cc", "-std=c99", "-pedantic"], "cpp": ["c++", "-std=c++20"]}[language]
        flags = [flag.replace("\0", " ") for flag in self.flags("--cflags", "--libs", package=package)]
        run([*compiler, "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags,
             f"-Wl,-rpath,{self.lib}", "-lm"])

    def examples(self):
        """Yields source file, language and expected output of each example of the guide."""
        for name, printed, language, text in EXAMPLE.findall("".join(page.read_text(encoding="utf-8") for page in GUIDE)):
            source = self.scratch / name
            source.write_text(text, encoding="utf-8")
            yield source, language, printed

    def check_runs(self, program, printed):
        weft = self.prefix / "bin/weft"
        for ranks, nodes in ((2, 1), (2, 2), (3, 1), (3, 2)):
            with self.subTest(program=program.name, ranks=ranks, nodes=nodes):
                output = run([weft, "run", "-n", ranks, "--nodes", nodes, "--", program],
                           env=environment())
                self.assertIn(printed.replace("RANKS", str(ranks)), output)
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun:
            with self.subTest(program=program.name, launcher=mpirun):
                output = run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", 2, program],
                           env=environment())
                self.assertIn(printed.replace("RANKS", "2"), output)

    def test_all_files_are_installed(self):
        for file in ("bin/weft", "include/weft/weft.h", "include/weft/weft.hpp", "include/openshmem/shmem.h", "share/man/man1/weft.1",
                     "share/man/man1/weft-run.1", "share/bash-completion/completions/weft"):
            self.assertTrue((self.prefix / file).is_file(), file)
        for file in ("libweft.so", "libweft.so.0", "weft/weft_fabric.so", "pkgconfig/weft.pc",
                     "libweft-shmem.so.0", "pkgconfig/weft-shmem.pc", "weft/openshmem/bin/oshcc",
                     "cmake/weft/weftConfig.cmake"):
            self.assertTrue((self.lib / file).is_file(), file)
        dynamic = run(["readelf", "-d", self.lib / "libweft.so"])
        self.assertIn("soname: [libweft.so.0]", dynamic)
        for file in (self.lib / "libweft.so", self.prefix / "bin/weft", self.lib / "weft/weft_fabric.so"):
            self.assertNotIn(str(BUILD), run(["readelf", "-d", file]), "names the build folder")
        info = run(["pkg-config", "--modversion", "weft"], env=self.pkg).strip()
        self.assertIn(f"libweft.so.{info}", {path.name for path in self.lib.iterdir()})

    def test_the_library_exports_only_the_interface(self):
        exported = set()
        for line in run(["nm", "-DC", "--defined-only", self.lib / "libweft.so"]).splitlines():
            _, kind, name = line.split(" ", 2)
            name = name.split("@")[0]
            if kind == "A" and name == "WEFT_0":  # version of the exported symbols
                continue
            if name in ("madvise", "mremap"):  # replace the C library's functions: docs/direct-memory.md
                continue
            plain = re.sub(r"^(?:typeinfo name for|typeinfo for|vtable for) ", "", name)
            owner = re.match(r"weft::(\w+)", plain)
            if re.match(r"weft_\w+$", name):
                exported.add(name)
            else:
                self.assertTrue(owner and owner[1] in EXPORTED_CLASSES, f"exports {name}")
                exported.add(owner[1])
        self.assertEqual(exported & EXPORTED_CLASSES, EXPORTED_CLASSES)
        headers = "".join(path.read_text(encoding="utf-8") for path in (self.prefix / "include/weft").glob("*.h"))
        declared = set(re.findall(r"WEFT_API [\w *]*?\b(weft_\w+)\(", headers))
        self.assertGreater(len(declared), 30)
        self.assertEqual(declared, {name for name in exported if name.startswith("weft_")})

    def test_an_openshmem_program_builds_with_pkg_config(self):
        source, program = self.scratch / "shmem.c", self.scratch / "shmem"
        source.write_text("#include <mpp/shmem.h>\n#include <stdio.h>\nstatic long sum, one = 1;\nint main(void) {\n"
                          "    shmem_init();\n    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);\n"
                          "    if (shmem_my_pe() == 0) printf(\"%ld PEs\\n\", sum);\n    shmem_finalize();\n    return 0;\n}\n",
                          encoding="utf-8")
        for language in ("c", "cpp"):
            self.build(language, source, program, "weft-shmem")
            self.check_runs(program, "RANKS PEs")

    def test_the_compilers_of_openshmem_build_programs(self):
        names = self.lib / "weft/openshmem/bin"
        source, program = self.scratch / "by_name.c", self.scratch / "by_name"
        source.write_text("#include <mpp/shmem.h>\n#include <shmemx.h>\n#include <stdio.h>\nint main(void) {\n    shmem_init();\n"
                          "    if (shmem_my_pe() == 0) printf(\"%d PEs\\n\", shmem_n_pes());\n    shmem_finalize();\n"
                          "    return 0;\n}\n", encoding="utf-8")
        for name, compiler in (("oshcc", "cc"), ("oshc++", "c++"), ("oshcxx", "c++"), ("oshCC", "c++")):
            run([names / name, source, "-o", program, "-O1"], env=environment())
            self.check_runs(program, "RANKS PEs")
            line = run([names / name, source, "-showme"], env=environment())
            self.assertEqual(line, f"{compiler} '-I{self.prefix}/include/openshmem' {source} '-L{self.lib}' -lweft-shmem "
                                   f"'-Wl,-rpath,{self.lib}'\n")
            self.assertEqual(run([names / name, "--show", "-c", "a.c"], env=environment(SHMEM_CC="ccache gcc", SHMEM_CXX="g++")),
                             f"{'ccache gcc' if compiler == 'cc' else 'g++'} '-I{self.prefix}/include/openshmem' -c a.c\n")
        self.assertEqual(run([names / "oshrun", "-np", 3, program], env=environment()), "3 PEs\n")
        for words, status, text in (((names / "oshcc",), 2, "the source file is missing"),
                                    ((names / "oshcc", "missing.c"), 1, "missing.c")):
            done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment())
            self.assertEqual(done.returncode, status)
            self.assertIn(text, done.stderr)
        absent = subprocess.run([names / "oshcc", source], capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                                env=environment(SHMEM_CC="no-such-compiler"))
        self.assertEqual(absent.returncode, 3)
        self.assertIn("cannot start no-such-compiler: No such file or directory; SHMEM_CC names the compiler", absent.stderr)

    def test_examples_of_the_guide_build_with_pkg_config(self):
        examples = list(self.examples())
        self.assertEqual({language for _, language, _ in examples}, {"c", "cpp"})
        for source, language, printed in examples:
            program = source.with_suffix("")
            self.build(language, source, program)
            self.check_runs(program, printed)

    def test_an_example_builds_with_find_package(self):
        source, _, printed = next(one for one in self.examples() if one[1] == "cpp")
        folder = self.scratch / "consumer"
        run([CMAKE, "-G", "Ninja", "-S", SOURCE / "tests/system/install/consumer", "-B", folder,
             f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DPROGRAM={source}"], env=environment())
        run([CMAKE, "--build", folder], env=environment())
        self.check_runs(folder / "consumer", printed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
