#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft cost and weft formula print the papers' values with all their digits, counted and by formula. Their
# fields, limits and statuses are as documented.
# Method: run weft and compare its output with values from the papers.
import json
import os
import tempfile
import unittest

from command import answer, check_refusals, weft

FIELDS = ("algorithm ranks bytes params time_us dynamic_energy_uj total_energy_uj descriptor_bytes messages "
          "formula difference")


def formula(name, **values):
    done = weft("formula", name, *(f"{key}={value}" for key, value in values.items()), "--json")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Formulas(unittest.TestCase):
    def check(self, value, printed):
        """Compares a value with `printed`, the digits in a paper or in a correction of the paper."""
        digits = len(printed.partition(".")[2])
        self.assertEqual(f"{value:.{digits}f}", printed)

    def test_optimal_numbers_of_messages_match_the_paper(self):
        for ratio, real, whole in ((1, "1.718282", 2), (2, "2.591121", 3), (3, "3.319137", 3),
                                   (1.34 / 0.34, "3.933857", 4), (1.51 / 0.38, "3.954198", 4),
                                   (4, "3.970626", 4), (5, "4.572393", 5), (8, "6.193219", 6)):
            found = formula("messages-optimal", ratio=ratio)
            self.check(found["messages"], real)
            self.assertEqual(found["messages_whole"], whole)
        four = formula("messages-optimal", ratio=4)
        self.check(four["messages_printed"], "6.767193")
        self.check(four["cost_per_log"], "4.97068")

    def test_formulas_of_rabenseifner_match_the_paper(self):
        for ranks, row in ((8, ("227.184", "125.880", "70.512", "78.512")),
                           (13, ("302.912", "201.608", "143.144", "92.057"))):
            for name, field, printed in zip(("tree", "doubling", "halving", "ring"),
                                            ("time", "time_printed", "time", "time"), row):
                self.check(formula(name, p=ranks)[field], printed)
        self.check(formula("halving", p=13)["time_reduce"], "109.376")
        self.assertEqual(formula("doubling", p=8)["time"], formula("doubling", p=8)["time_printed"])

    def test_formulas_of_kolmakov_match_the_paper(self):
        # ranks: (steps, vectors sent, vectors reduced) for r = 0, 1, ...
        table = {7: ((6, 12, 6), (5, 14, 10), (4, 18, 18), (3, 21, 28)),
                 8: ((6, 14, 7), (5, 16, 10), (4, 20, 16), (3, 24, 24)),
                 11: ((8, 20, 10), (7, 23, 15), (6, 26, 20), (5, 35, 35), (4, 44, 55)),
                 127: ((14, 252, 126), (13, 258, 138), (12, 270, 162), (11, 294, 210), (10, 342, 306),
                       (9, 438, 498), (8, 630, 882), (7, 889, 1524))}
        for ranks, rows in table.items():
            for r, row in enumerate(rows):
                found = formula("cyclic", p=ranks, r=r)
                self.assertEqual((found["steps"], found["vectors_sent"], found["vectors_reduced"]), row, (ranks, r))
        found = formula("cyclic", p=127, bytes=9216, a=10, b=0.001, g=0.0002, r=4)
        self.check(found["r_optimal"], "4.5648")
        self.assertEqual(found["r_best"], 5)
        self.check(found["time_best"], "129.01")
        self.check(found["time"], "129.26")
        self.check(found["time_bandwidth_optimal"], "160.12")
        self.check(found["time_latency_optimal"], "156.63")

    def test_the_best_number_of_omitted_steps_has_the_least_time_of_the_algorithm(self):
        # ranks, bytes: r_best, time with this r, and with one less
        for ranks, size, best, least, before in ((67, 17688, 4, "154.38", "156.36"), (113, 18080, 4, "156.90", "158.16"),
                                                 (97, 31040, 3, "192.18", "194.88"), (130, 31200, 4, "204.62", "206.37")):
            found = formula("cyclic", p=ranks, bytes=size, r=best - 1)
            self.assertEqual(found["r_best"], best)
            self.check(found["time_best"], least)
            self.check(found["time"], before)
            simulated = weft("simulate", "allreduce", "--algorithm", f"generalized:r={best}", "--ranks", str(ranks),
                             "--bytes", str(size), "--model", "postal", "--latency-ns", "10000", "--ns-per-byte", "1",
                             "--reduce-ns-per-byte", "0.2", "--json")
            self.check(json.loads(simulated.stdout)["makespan_ns"] / 1000, least)
        found = formula("cyclic", p=67, bytes=17688, r=6)
        self.check(found["time"], "184.54")
        self.check(found["time_bound"], "258.04")

    # ranks; us of a butterfly, of two k-ary trees by the table and exactly, and of two binomial trees; dynamic uJ of
    # the butterfly and the binomial trees; total uJ of all three; descriptor bytes of all three
    FIGURE_5 = ((8, "46.218", "92.470", "120.670", "92.435", "1.5556", "0.9074", "24.664", "61.242", "47.125",
                 (96, 128, 192)),
                (16, "61.623", "123.293", "160.893", "123.247", "4.1483", "1.9445", "34.960", "82.391", "63.568",
                 (128, 128, 256)),
                (256, "123.247", "246.587", "321.787", "246.493", "132.744", "33.056", "194.368", "193.950",
                 "156.303", (256, 128, 512)),
                (1024, "154.058", "308.234", "402.234", "308.117", "663.721", "132.615", "740.750", "333.731",
                 "286.673", (320, 128, 640)),
                (65536, "246.493", "493.174", "643.574", "492.987", "67965.0", "8495.5", "68088.3", "8817.3",
                 "8742.0", (512, 128, 1024)))

    def test_formulas_match_hoeflers_figure_5(self):
        for ranks, *row, memory in self.FIGURE_5:
            butterfly = formula("butterfly", p=ranks)
            regular = formula("kary-tree", p=ranks)
            binomial = formula("binomial-tree", p=ranks)
            for value, printed in zip((butterfly["time"], regular["time_table_twice"], regular["time_twice"],
                                       binomial["time_twice"], butterfly["dynamic"], binomial["dynamic_twice"],
                                       butterfly["total"], regular["total_twice"], binomial["total_twice"]), row):
                self.check(value, printed)
            self.assertEqual((butterfly["memory"], regular["memory_twice"], binomial["memory_twice"]), memory)

    def test_butterflies_need_more_energy_than_trees_from_256_ranks(self):
        for ranks, trees_win in ((64, False), (128, False), (256, True), (1024, True)):
            self.assertEqual(formula("binomial-tree", p=ranks)["total_twice"] < formula("butterfly", p=ranks)["total"],
                             trees_win, ranks)

    def test_formulas_match_other_values_of_hoefler(self):
        for name, printed in (("flat-tree", "3320.801"), ("kary-tree", "694.695"), ("binomial-tree", "379.448"),
                              ("pipelined-binary-tree", "387.183"), ("double-tree", "392.333"),
                              ("split-binary-tree", "446.968")):
            self.check(formula(name, p=64, bytes=65536)["time"], printed)
        self.check(formula("pipelined-binary-tree", p=1024, bytes=1 << 20)["segments_optimal"], "38.29")
        seven = formula("kary-tree", p=7)
        self.check(seven["time"], "60.335")
        self.check(seven["time_complete"], "40.223")
        self.assertEqual(formula("logp-tree")["time"], 24)

    def test_personalised_formulas_of_hoefler_match_the_paper(self):
        # 3 (L + 3 o) + 11 s G, and with the bytes of a complete tree 2 (L + 3 o) + 8 s G
        seven = formula("kary-tree-personalised", p=7)
        self.check(seven["time"], "60.364")
        self.check(seven["time_complete"], "40.247")
        self.assertEqual((seven["messages"], seven["memory"]), (6, 64))
        self.check(seven["dynamic"], "0.648")  # 6 e + 10 s E
        pipe = formula("pipelined-binary-tree-personalised", p=7, bytes=65536, segments=4)
        self.check(pipe["time"], "475.051")
        self.check(pipe["time_complete"], "379.368")
        self.assertEqual((pipe["messages"], pipe["memory"]), (24, 256))
        for name, printed in (("kary-tree-personalised", "5861.554"),
                              ("pipelined-binary-tree-personalised", "7013.201")):
            self.check(formula(name, p=64, bytes=65536)["time"], printed)

    def test_the_list_of_formulas_names_all_arguments(self):
        listed = json.loads(weft("formula", "--json").stdout)["formulas"]
        self.assertGreater(len(listed), 15)
        for entry in listed:
            formula(entry["formula"], **entry["arguments"])

    def test_invalid_arguments_of_formulas_are_refused(self):
        check_refusals(self, ((("none",), "unknown formula"), (("tree", "p"), "name=number"),
                              (("tree", "q=1"), "no argument 'q'"), (("tree", "p=0"), "p: 0")), "formula")


class Cost(unittest.TestCase):
    def cost(self, *arguments, status=0):
        done = weft("cost", *arguments, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout) if status == 0 else done.stderr

    # Ruefenacht et al., table 2: ranks, schedule; us of the schedule and of recursive doubling, each by the minimum
    # and by the median fit.
    TABLE_2 = ((4, "a4", 2.36, 2.65, 3.36, 3.78), (6, "a6", 3.04, 3.41, 6.72, 7.56),
               (8, "a2,a4", 4.04, 4.54, 5.04, 5.67), (12, "a3,a4", 4.38, 4.92, 8.40, 9.45),
               (16, "a4,a4", 4.72, 5.30, 6.72, 7.56), (24, "a4,a6", 5.40, 6.06, 10.08, 11.34),
               (32, "a8,a4", 6.08, 6.82, 8.40, 9.45), (48, "a8,a6", 6.76, 7.58, 11.76, 13.23),
               (64, "a8,a8", 7.44, 8.34, 10.08, 11.34), (96, "a8,a3,a4", 8.10, 9.09, 13.44, 15.12),
               (128, "a8,a4,a4", 8.44, 9.47, 11.76, 13.23))

    def test_costs_match_the_model_column_of_ruefenachts_table(self):
        gains = ("29.8", "54.8", "19.8", "47.9", "29.8", "46.4", "27.6", "42.5", "26.2", "39.7", "28.2")  # in percent
        for (ranks, schedule, least, median, doubling_least, doubling_median), gain in zip(self.TABLE_2, gains):
            times = [self.cost("allreduce", "--algorithm", spec, "--ranks", str(ranks), "--params",
                               "archer-xc30-min")["formula"]["time_us"] for spec in (schedule, "recursive-doubling")]
            self.assertEqual(f"{100 * (1 - times[0] / times[1]):.1f}", gain)
            for params, multiplied, doubled in (("archer-xc30-min", least, doubling_least),
                                                ("archer-xc30-median", median, doubling_median)):
                found = self.cost("allreduce", "--algorithm", schedule, "--ranks", str(ranks), "--params", params)
                self.assertEqual(list(found), FIELDS.split())
                self.assertAlmostEqual(found["formula"]["time_us"], multiplied, 9)
                self.assertAlmostEqual(found["time_us"], multiplied, 9)
                found = self.cost("allreduce", "--algorithm", "recursive-doubling", "--ranks", str(ranks),
                                  "--params", params)
                self.assertAlmostEqual(found["formula"]["time_us"], doubled, 9)

    def test_counts_agree_with_exact_formulas(self):
        for ranks, schedule in ((8, "a2,a2,a2"), (16, "a2,a2,a2,a2"), (256, ",".join(["a2"] * 8))):
            found = self.cost("allreduce", "--algorithm", schedule, "--ranks", str(ranks))
            self.assertEqual(found["formula"]["messages"], found["messages"])
            for field, value in found["difference"].items():
                self.assertAlmostEqual(value, 0, 9, field)
        row = self.cost("allreduce", "--algorithm", "a2,a2,a2", "--ranks", "8")
        self.assertEqual((round(row["time_us"], 3), round(row["dynamic_energy_uj"], 4),
                          round(row["total_energy_uj"], 3), row["descriptor_bytes"], row["messages"]),
                         (46.218, 1.5556, 24.664, 96, 24))
        merge = self.cost("allreduce", "--algorithm", "m1g2a3,n1g3a2", "--ranks", "7")
        self.assertLess(merge["difference"]["time_us"], 0)  # the formula is an upper bound
        self.assertEqual(merge["difference"]["messages"], 0)

    def test_trees_take_the_times_and_energies_of_their_formulas(self):
        # Complete trees, and pipelines of one segment.
        for collective, spec, ranks in (("broadcast", "kary", 7), ("broadcast", "kary:k=3", 40), ("scatter", "kary", 63),
                                        ("scatter", "kary:k=3", 13), ("scatter", "flat", 9), ("scatter", "binomial", 32),
                                        ("scatter", "pipelined-binary:segments=1", 15), ("allgather", "bruck", 64),
                                        ("broadcast", "chain:segments=1", 6)):
            for size in (8, 65536):
                found = self.cost(collective, "--algorithm", spec, "--ranks", str(ranks), "--bytes", str(size))
                for field in ("time_us", "dynamic_energy_uj", "messages", "descriptor_bytes"):
                    self.assertAlmostEqual(found["difference"][field], 0, 6, (collective, spec, ranks, size, field))

    def test_pipelines_take_the_times_of_their_formulas_with_parallel_ends(self):
        for collective, spec, name, ranks in (("broadcast", "pipelined-binary", "pipelined-binary-tree", 7),
                                              ("broadcast", "pipelined-binary", "pipelined-binary-tree", 31),
                                              ("scatter", "pipelined-binary", "pipelined-binary-tree-personalised", 7),
                                              ("broadcast", "chain", "pipeline", 5)):
            for segments in (2, 4):
                expected = formula(name, p=ranks, bytes=1 << 20, segments=segments)
                found = answer(self, "simulate", collective, "--algorithm", f"{spec}:segments={segments}", "--ranks",
                               str(ranks), "--bytes", "1M", "--model", "loggp", "--latency-ns", "6000",
                               "--overhead-ns", "4700", "--ns-per-byte", "0.73", "--parallel-ends", "1")
                self.assertAlmostEqual(found["makespan_ns"] / 1000, expected.get("time_complete", expected["time"]), 3,
                                       (collective, spec, ranks, segments))

    def test_programs_match_hoeflers_figure_5(self):
        # ranks; us of a butterfly, two k=2 trees (exact, table), two binomial trees; descriptor bytes by formula
        for ranks, butterfly, regular, table, binomial, memory in (
                (8, "46.218", "120.670", "92.470", "92.435", (96, 128, 192)),
                (16, "61.623", "160.893", "123.293", "123.247", (128, 128, 256)),
                (1024, "154.058", "402.234", "308.234", "308.117", (320, 128, 640))):
            rows = [self.cost("allreduce", "--algorithm", spec, "--ranks", str(ranks))
                    for spec in ("butterfly", "reduce-broadcast:tree=(kary:k=2)",
                                 "reduce-broadcast:tree=(binomial)")]
            self.assertEqual([f"{row['formula']['time_us']:.3f}" for row in rows],
                             [butterfly, regular, binomial])
            self.assertEqual(f"{rows[1]['formula']['time_table_us']:.3f}", table)
            self.assertEqual(tuple(row["formula"]["descriptor_bytes"] for row in rows), memory)
            for row in rows:
                self.assertAlmostEqual(row["difference"]["dynamic_energy_uj"], 0, 9)
                self.assertEqual(row["difference"]["messages"], 0)
            for row in (rows[0], rows[2]):
                self.assertAlmostEqual(row["difference"]["time_us"], 0, 9)
            # The busiest rank of the reducing tree is not the busiest of the broadcasting tree, so two trees cost
            # less than twice one tree.
            self.assertLess(rows[1]["difference"]["time_us"], 0)
            self.assertEqual(rows[1]["descriptor_bytes"], 96)
            self.assertEqual(rows[2]["descriptor_bytes"], 32 * (ranks.bit_length() - 1))

    def test_each_objective_has_its_winner_for_1024_ranks(self):
        found = {spec: self.cost("allreduce", "--algorithm", spec, "--ranks", "1024")
                 for spec in ("butterfly", "reduce-broadcast:tree=(kary:k=2)", "reduce-broadcast")}
        for field, best in (("time_us", "butterfly"), ("total_energy_uj", "reduce-broadcast"),
                              ("descriptor_bytes", "reduce-broadcast:tree=(kary:k=2)")):
            self.assertEqual(min(found, key=lambda spec: found[spec][field]), best)

    def test_a_missing_formula_is_null(self):
        found = self.cost("barrier", "--algorithm", "dissemination", "--ranks", "8")
        self.assertIsNone(found["formula"])
        self.assertEqual(found["messages"], 24)

    def test_neighborhood_collectives_need_no_algorithm(self):
        call = ("neighbor_alltoall", "--grid", "3x3", "--bytes", "8")
        found = {name: self.cost(*call, "--algorithm", name) for name in ("direct", "combined")}
        # A rank has 3 neighbors in corners of the grid, 5 on its edges, 8 inside. Combined messages go along dimensions.
        self.assertEqual({name: one["messages"] for name, one in found.items()}, {"direct": 40, "combined": 24})
        for objective, field in (("time", "time_us"), ("energy", "total_energy_uj"), ("memory", "descriptor_bytes")):
            best = self.cost(*call, "--objective", objective)
            self.assertEqual(best[field], min(one[field] for one in found.values()), objective)
        front = self.cost(*call, "--pareto")["front"]
        self.assertLessEqual({one["algorithm"] for one in front}, set(found))

    def test_objectives_limits_and_fronts_choose_schedules(self):
        call = ("allreduce", "--ranks", "16")
        fastest = self.cost(*call, "--objective", "time")
        least_energy = self.cost(*call, "--objective", "energy")
        least_memory = self.cost(*call, "--objective", "memory")
        self.assertLess(fastest["time_us"], least_memory["time_us"])
        self.assertLessEqual(least_energy["total_energy_uj"], fastest["total_energy_uj"])
        self.assertLess(least_memory["descriptor_bytes"], fastest["descriptor_bytes"])
        limited = self.cost(*call, "--max-descriptor-bytes", str(fastest["descriptor_bytes"] - 1))
        self.assertLess(limited["descriptor_bytes"], fastest["descriptor_bytes"])
        self.assertGreaterEqual(limited["time_us"], fastest["time_us"])
        self.cost(*call, "--max-energy-uj", "0.001", status=1)
        front = self.cost(*call, "--pareto")["front"]
        self.assertGreater(len(front), 1)
        for row in front:
            self.assertEqual(list(row), FIELDS.split())
        for before, after in zip(front, front[1:]):
            self.assertLess(before["time_us"], after["time_us"])
            self.assertTrue(after["total_energy_uj"] < before["total_energy_uj"] or
                            after["descriptor_bytes"] < before["descriptor_bytes"])
        self.assertEqual(front[0]["time_us"], fastest["time_us"])
        # Pipelines are loops, so a chain needs the least memory.
        least_memory = self.cost("allreduce", "--ranks", "64", "--objective", "memory")
        self.assertEqual((least_memory["algorithm"], least_memory["descriptor_bytes"]),
                         ("chain", 64))

    def test_parameters_can_come_from_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.txt")
            with open(path, "w") as file:
                file.write("model pipelined-postal\nlatency_ns 1340\nissue_ns 340\nstatic_w 2\n")
            found = self.cost("allreduce", "--algorithm", "a4", "--ranks", "4", "--params", path)
            self.assertAlmostEqual(found["time_us"], 2.36, 9)
            self.assertAlmostEqual(found["total_energy_uj"], 4.72, 9)
            self.assertEqual(found["params"], path)
            with open(path, "w") as file:
                file.write("latency_ns 1\nlatency 2\n")
            self.assertIn("line 2: latency", self.cost("allreduce", "--algorithm", "a4", "--ranks", "4",
                                                       "--params", path, status=2))
        self.assertIn("--params", self.cost("allreduce", "--algorithm", "a4", "--ranks", "4", "--params",
                                            "nowhere", status=2))

    def test_counts_of_schedules_match_the_paper(self):
        def count(ranks, kind, *more):
            done = weft("enumerate", "--ranks", str(ranks), "--kind", kind, "--count", *more, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        # ranks: ordered and unordered factorisations, splits, merges
        for ranks, *row in ((6, 3, 2, 9, 1), (7, 1, 1, 12, 3), (8, 4, 3, 18, 3), (10, 3, 2, 32, 7),
                            (12, 8, 4, 48, 9), (16, 8, 5, 92, 20), (24, 20, 7, 232, 45), (32, 16, 7, 417, 89),
                            (48, 48, 12, 1081, 186), (64, 32, 11, 1803, 346), (96, 112, 19, 4835, 699),
                            (97, 1, 1, 2290, 810), (127, 1, 1, 3771, 1251), (128, 64, 15, 7503, 1251)):
            found = [count(ranks, *options)["count"]
                     for options in (("factored",), ("factored", "--unordered"), ("split",), ("merged",))]
            self.assertEqual(found, row, ranks)
        sums = [count(128, kind, "--up-to")["count"] for kind in ("factored", "split", "merged")]
        self.assertEqual((sums, sum(sums)), ([1441, 253458, 57456], 312355))
        self.assertEqual(count(1000000, "factored")["count"], 287648)
        many = count(100000, "factored", "--up-to")
        self.assertEqual((many["count"], many["count_max"]), (139804053, 1822784))
        sets = [count(ranks, "factored", "--unordered")["count"] for ranks in range(2, 129)]
        found = count(128, "factored", "--unordered", "--up-to")
        self.assertEqual((found["count"], found["count_max"]), (sum(sets), max(sets)))
        self.assertEqual(count(524288, "factored")["count"], 262144)
        improved = json.loads(weft("enumerate", "--ranks", "5000", "--best", "--up-to", "--json").stdout)
        self.assertEqual((improved["improved"], improved["sizes"]), (4762, 4999))
        for refused in (("--kind", "split", "--unordered", "--count"), ("--kind", "factored", "--up-to"), ()):
            self.assertEqual(weft("enumerate", "--ranks", "8", *refused).returncode, 2, refused)

    def test_the_best_schedule_is_found_for_any_size(self):
        for ranks, kind, least, factored, cover in (
                (11, "merged", 4720, 4740, 4380), (13, "merged", 5060, 5420, 4720), (17, "merged", 5400, 6780, 5060),
                (31, "merged", 6420, 11540, 6080), (97, "merged", 8100, 33980, 7760),
                (127, "merged", 8780, 44180, 8440), (65537, "merged", 19240, None, 18900)):
            done = weft("enumerate", "--ranks", str(ranks), "--best", "--json")
            best = json.loads(done.stdout)
            self.assertEqual((best["kind"], best["model_ns"], best["cover_ns"]), (kind, least, cover))
            if factored:
                self.assertEqual(best["factored_ns"], factored)
        prime = json.loads(weft("enumerate", "--ranks", "999983", "--best", "--latency-ns", "1000", "--issue-ns",
                                "250", "--json").stdout)
        self.assertEqual((prime["model_ns"], prime["cover_ns"]), (17500, 17250))


if __name__ == "__main__":
    unittest.main()
