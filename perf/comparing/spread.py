# SPDX-License-Identifier: BSD-3-Clause
"""spread - compares the ratios of two runs of the same cells.

Idea     A ratio that is a property of the two libraries does not change in a second run. The quality of a run is |first
         / second - 1| over its rows: the median, and the rows with the largest values.
"""

import statistics

LIMIT = 0.15  # for the median over the rows
WORST = 5
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
