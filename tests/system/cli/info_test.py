#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: `weft info` describes this machine and a job correctly, as text and as JSON.
# Method: run it with different settings. Compare its output with the system, with docs/guide/environment.md, with the
# job's options, and with other parts of the output.
import json
import os
import re
import unittest
from pathlib import Path

from command import WEFT, weft

PAGE = Path(__file__).parents[3] / "docs/guide/environment.md"
FIELDS = ("versions job provider provider_reason providers cards granted notify completion banks mapping topology "
          "reduction environment unknown").split()


class InfoTest(unittest.TestCase):
    def answer(self, *arguments, warning="", **more):
        """Runs a command with --json. Returns its object; `warning`: part of the expected standard error."""
        done = weft(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stderr == warning or warning and warning in done.stderr, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def info(self, before=None, warning="", **settings):
        return self.answer("info", "--json", settings=settings, preexec_fn=before, warning=warning)

    def without_network(self, **more):
        """Runs weft info without libfabric, which is faster. Returns the object."""
        return self.info(WEFT_FABRIC_MODULE="/nowhere/weft_fabric.so", **more)


class KnownProviders(InfoTest):
    """Tests with providers that this machine does not have."""

    def test_each_provider_has_a_decision_without_being_installed(self):
        for name, ways in {"cxi": ["cells", "delivery", "fence"], "psm2": ["immediate", "delivery"],
                           "verbs;ofi_rxm": ["immediate"], "gni": ["immediate"]}.items():
            info = self.answer("info", "--provider", name, "--json")
            promised = [way["way"] for way in info["notify"]["ways"] if way["promised"]]
            self.assertEqual(sorted(promised), sorted(ways))
            self.assertTrue(all(way["reason"] for way in info["notify"]["ways"]))
            self.assertEqual(info["provider"], name)

    def test_the_text_of_a_provider_agrees_with_its_json(self):
        info = self.answer("info", "--provider", "psm2", "--json")
        text = weft("info", "--provider", "psm2").stdout
        self.assertRegex(text, r"FI_PSM2_LAZY_CONN +1 +a connection is made at the first put to a peer")
        self.assertRegex(text, r"FI_PSM2_UUID +one for each job +two jobs with the same identifier")
        for setting in info["settings"]:
            self.assertRegex(text, " +".join(map(re.escape, setting.values())))
        for part in (info["declared_by"], info["cost"]["source"], *(way["reason"] for way in info["notify"]["ways"])):
            self.assertIn(part, text)
        self.assertIn("libfabric#12542", weft("info", "--provider", "efa").stdout)

    def test_an_unpromised_notification_is_refused(self):
        info = self.answer("info", "--provider", "efa", "--json", settings={"WEFT_NOTIFY": "fence"})
        self.assertIn("does not promise that, because it has no fence", info["notify"]["problem"])

    def test_an_unknown_provider_is_refused_with_the_known_names(self):
        done = weft("info", "--provider", "cxl")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"cxl" has no profile; these have one: "cxi"', done.stderr)


class OutsideAJob(InfoTest):
    @classmethod
    def setUpClass(cls):
        cls.plain = json.loads(weft("info", "--json").stdout)

    def test_one_object_has_all_parts(self):
        info = self.plain
        self.assertEqual(list(info), FIELDS)
        self.assertEqual(list(info["versions"]), ["weft", "commit", "compiler", "build", "libfabric", "pmix", "hwloc"])
        for name in ("weft", "libfabric", "pmix", "hwloc"):
            self.assertRegex(info["versions"][name], r"^\d+\.\d+", name)
        versions = info["versions"]
        self.assertEqual(weft("--version").stdout, f"weft {versions['weft']} (commit {versions['commit']}, "
                         f"{versions['compiler']}, {versions['build']})\n")
        self.assertRegex(versions["compiler"], r"^\w+ \d+\.\d+")
        self.assertRegex(versions["commit"], r"^([0-9a-f]{7,}(-dirty)?|unknown)$")
        self.assertEqual((info["job"]["ranks"], info["job"]["launched"], info["job"]["provider"]), (1, False, "none"))

    def test_the_text_agrees_with_the_json(self):
        info, text = self.plain, weft("info").stdout
        for part in (info["provider_reason"], info["completion"]["reason"], info["topology"]["host"],
                     *(version for version in info["versions"].values()),
                     *(line["reason"] for line in info["notify"]["sizes"]),
                     *(line["provider"] for line in info["providers"])):
            self.assertIn(part, text)

    def test_only_usable_processors_are_counted(self):
        usable = os.sched_getaffinity(0)
        self.assertEqual(self.plain["topology"]["usable_processors"], len(usable))
        narrowed = self.without_network(before=lambda: os.sched_setaffinity(0, {min(usable)}))
        self.assertEqual((narrowed["topology"]["usable_processors"], narrowed["job"]["host_processors"]), (1, 1))

    def test_one_provider_is_chosen_and_each_has_a_reason(self):
        info = self.plain
        chosen = [line["provider"] for line in info["providers"] if line["chosen"]]
        self.assertEqual(chosen, [info["provider"]])
        for line in info["providers"]:
            self.assertTrue(line["reason"], line)
            self.assertLessEqual(line["chosen"], line["offered"])

    def test_cards_are_listed_and_can_be_named(self):
        used = [card for card in self.plain["cards"] if card["chosen"]]
        self.assertEqual([(card["name"], card["ranks"]) for card in used], [(self.plain["granted"]["domain"], [0])])
        again = self.info(WEFT_CARDS=used[0]["name"])
        self.assertEqual([card["name"] for card in again["cards"]], [used[0]["name"]])
        none = self.info(WEFT_CARDS="nonesuch")
        self.assertIn('WEFT_CARDS: no network card "nonesuch"', none["provider_reason"])

    def test_a_requested_provider_is_chosen(self):
        other = next(line["provider"] for line in self.plain["providers"]
                     if line["reason"].startswith("usable") and line["provider"] != "net;ofi_rxm")
        info = self.info(WEFT_PROVIDER=other)
        self.assertEqual((info["provider"], info["provider_reason"]), (other, "WEFT_PROVIDER asks for it"))
        self.assertTrue(any(line["reason"] == f'WEFT_PROVIDER asks for "{other}"' for line in info["providers"]))

    def test_reasons_against_providers_are_true(self):
        """A provider is chosen on request if and only if its reason says that it is usable."""
        for line in self.plain["providers"]:
            if line["offered"] and not line["chosen"]:
                info = self.info(WEFT_PROVIDER=line["provider"])
                self.assertEqual(info["provider"] == line["provider"], line["reason"].startswith("usable"), line)

    def test_a_missing_provider_is_reported(self):
        info = self.info(WEFT_PROVIDER="semaphore")
        self.assertEqual(info["provider"], "none")
        self.assertIn('offers no provider "semaphore"', info["provider_reason"])
        self.assertNotIn("granted", info)

    def test_a_missing_module_is_reported(self):
        info = self.without_network()
        self.assertEqual((info["provider"], info["versions"]["libfabric"]), ("none", ""))
        self.assertIn("/nowhere/weft_fabric.so", info["provider_reason"])
        text = weft("info", settings={"WEFT_FABRIC_MODULE": "/nowhere/weft_fabric.so"}).stdout
        self.assertIn("cannot load the network module", text)

    def test_the_notification_follows_the_setting(self):
        promised = {way["way"]: way["promised"] for way in self.plain["notify"]["ways"]}
        self.assertEqual(set(promised), {"cells", "immediate", "delivery", "fence", "ordered", "counter"})
        examples = [next((way for way in promised if promised[way] == holds), None) for holds in (True, False)]
        for way in filter(None, examples):
            holds = promised[way]
            notify = self.info(WEFT_NOTIFY=way)["notify"]
            if not holds:
                self.assertIn(f"WEFT_NOTIFY={way}", notify["problem"])
                self.assertEqual(notify["sizes"], [])
                continue
            small, large = notify["sizes"]
            self.assertEqual((small["above_bytes"], small["up_to_bytes"]), (0, 48))
            self.assertEqual((large["above_bytes"], large["up_to_bytes"]), (48, None))
            self.assertEqual(small["way"], way)
            self.assertTrue(small["reason"].startswith("WEFT_NOTIFY asks for it, and "))
            self.assertNotEqual(large["way"], "cells")

    def test_sizes_follow_the_settings(self):
        banks = self.without_network(WEFT_BANKS="8", WEFT_BANK_BYTES="64K", WEFT_HEAP_SIZE="16M")["banks"]
        self.assertEqual((banks["banks"], banks["bulk_bank_bytes"], banks["heap_bytes"]), (8, 64 << 10, 16 << 20))
        self.assertGreaterEqual(banks["segment_bytes"],
                                banks["teams_max"] * banks["team_bytes"] + banks["heap_bytes"])

    def test_the_instruction_set_follows_the_setting(self):
        isa = self.plain["reduction"]["runnable"][0]
        self.assertEqual(self.without_network(WEFT_REDUCE_ISA=isa)["reduction"]["instruction_set"], isa)

    def test_invalid_settings_are_refused(self):
        for arguments in (["info"], ["info", "--environment"]):
            done = weft(*arguments, settings={"WEFT_BANKS": "3"})
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("WEFT_BANKS=3: expected", done.stderr)


class Environment(InfoTest):
    def table(self, **settings):
        return self.answer("info", "--environment", "--json", settings=settings)

    def test_the_table_equals_the_guides_table(self):
        page = PAGE.read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(WEFT_\w+)` \| (?:`(.*?)`)? ?\| (yes|no) \|", page, re.MULTILINE)
        mentioned = set(re.findall(r"`(WEFT_[A-Z_]+)(?:=[^`]*)?`", page)) - {"WEFT_"}
        table = self.table()["environment"]
        self.assertEqual({line["name"] for line in table}, mentioned)
        info = {line["name"]: (line["default"], "yes" if line["alike"] else "no") for line in table}
        self.assertGreater(len(rows), 10)
        for name, default, same in rows:
            self.assertEqual(info[name], (default, same), name)

    def test_settings_are_in_effect_and_unknown_names_are_reported(self):
        settings = {"WEFT_TIMEOUT": "2.50", "WEFT_ALLREDUCE": "a2,a2", "WEFT_SPEED": "high"}
        for info in (self.table(**settings), self.without_network(warning="WEFT_SPEED in the environment", **settings)):
            values = {line["name"]: line["value"] for line in info["environment"]}
            self.assertEqual((values["WEFT_TIMEOUT"], values["WEFT_ALLREDUCE"]), ("2.5", "a2,a2"))
            given = {line["name"] for line in info["environment"] if line["given"]}
            self.assertEqual(given - {"WEFT_FABRIC_MODULE"}, {"WEFT_TIMEOUT", "WEFT_ALLREDUCE"})
            self.assertEqual(info["unknown"], ["WEFT_SPEED"])

    def test_the_text_has_every_variable(self):
        text = weft("info", "--environment").stdout
        for line in self.table()["environment"]:
            self.assertIn(line["name"], text)
            self.assertIn(line["form"], text)
            self.assertIn(line["meaning"], text)


class InAJob(InfoTest):
    """Tests of weft info as the program of a job; only rank 0 prints."""

    def job(self, *options, **settings):
        return self.answer("run", *options, "--", WEFT, "info", "--json", settings=settings)

    def test_ranks_that_share_memory_use_no_network(self):
        info = self.job("-n", "3")
        job = info["job"]
        self.assertEqual((job["launched"], job["ranks"], job["nodes"], job["host_ranks"]), (True, 3, 1, 3))
        self.assertEqual((job["provider"], job["notify"]), ("none", "none"))
        self.assertEqual(job["waiting"], "spin" if job["host_processors"] >= 3 else "yield")

    def test_ranks_on_several_nodes_use_the_reported_provider(self):
        info = self.job("--layout", "2,1")
        job = info["job"]
        self.assertEqual((job["ranks"], job["nodes"], job["ranks_per_node"]), (3, 2, [2, 1]))
        self.assertEqual(job["provider"], info["provider"])
        small, large = (line["way"] for line in info["notify"]["sizes"])
        self.assertEqual(job["notify"], large if small == large else f"{small} up to 48 bytes, {large} above")

    def test_a_job_uses_the_forced_notification(self):
        info = self.job("-n", "2", "--nodes", "2", WEFT_NOTIFY="delivery")
        self.assertEqual(info["job"]["notify"], "delivery")
        self.assertEqual([line["way"] for line in info["notify"]["sizes"]], ["delivery"] * 2)

    def test_a_failing_network_is_reported(self):
        done = weft("run", "-n", "2", "--nodes", "2", "--", WEFT, "info", settings={"WEFT_PROVIDER": "semaphore"})
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn('offers no provider "semaphore"', done.stderr)

    def test_the_table_of_settings_is_printed_once(self):
        done = weft("run", "-n", "2", "--", WEFT, "info", "--environment")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("WEFT_PROVIDER"), 1)


if __name__ == "__main__":
    unittest.main()
