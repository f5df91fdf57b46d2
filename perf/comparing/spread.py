# SPDX-License-Identifier: BSD-3-Clause
"""spread - differences between the ratios of two runs of the same cells.

Idea     If a ratio depends only on the two libraries, it does not change in a second run. The difference of a row is
         |first / second - 1|. The result has the median over the rows, and the rows with the largest differences.
"""

import statistics

LIMIT = 0.15  # accepted median difference
WORST = 5  # number of rows that are listed
KEY = ("collective", "ranks", "nodes", "bytes", "loop")


def key_of(row):
    return tuple(row[name] for name in KEY)


def describe_spread(first, second):
    """Returns the differences between two lists of rows; None if they have no row in common."""
    others = {key_of(row): row["ratio"] for row in second}
    changes = [{**dict(zip(KEY, key_of(row))), "first": row["ratio"], "second": others[key_of(row)],
                "difference": abs(row["ratio"] / others[key_of(row)] - 1)}
               for row in first if row["ratio"] and others.get(key_of(row))]
    if not changes:
        return None
    changes.sort(key=lambda change: change["difference"], reverse=True)
    differences = [change["difference"] for change in changes]
    return {"rows": len(changes), "median": statistics.median(differences), "largest": differences[0], "limit": LIMIT,
            "worst": changes[:WORST]}


def format_spread(spread):
    lines = [f"two runs: the ratios of {spread['rows']} rows differ by {100 * spread['median']:.1f} % in the median "
             f"(limit {100 * spread['limit']:g} %), by {100 * spread['largest']:.0f} % at most"]
    lines += [f"    {row['collective']}, {row['ranks']} ranks, nodes {row['nodes']}, {row['bytes']} bytes: "
              f"{row['first']:.3f} and {row['second']:.3f}" for row in spread["worst"]]
    return "\n".join(lines)
