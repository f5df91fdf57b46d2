# SPDX-License-Identifier: BSD-3-Clause
"""telling - whether two sides that ran in the same rounds differ, from the rounds' ratios alone.

Idea     If both sides are equally fast, each is the slower one in half of the rounds. The sign test asks how
         likely so uneven a count is then; it needs nothing about how times are distributed, and one extreme round
         counts like any other. The interval of the median ratio comes from the same binomial distribution.
Holds    With equally fast sides the chance of `told_apart` is at most the error level.
"""

import math
import statistics


def tail(count, most):
    """The chance of at most so many heads in so many throws."""
    return sum(math.comb(count, heads) for heads in range(most + 1)) / 2**count


def sign_test(ratios):
    """How likely a count of rounds above 1 as uneven as this one, or more, is between equally fast sides."""
    above, below = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    return min(1.0, 2 * tail(above + below, min(above, below)))


def median_interval(ratios, error):
    """An interval of the median ratio, wrong at most as often as `error`: two of the ratios themselves."""
    ordered = sorted(ratios)
    cut = 0
    while cut < (len(ordered) - 1) // 2 and 2 * tail(len(ordered), cut) <= error:
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[-1 - cut]


def tell(name, ratios, error):
    """What the rounds say about one side over the other."""
    low, high = median_interval(ratios, error)
    chance = sign_test(ratios)
    return {"name": name, "told_apart": chance <= error, "chance": chance, "rounds": len(ratios),
            "slower_rounds": sum(ratio > 1 for ratio in ratios), "ratio": statistics.median(ratios),
            "ratio_low": low, "ratio_high": high}


def format_answer(answer, error):
    verdict = "a difference is detected" if answer["told_apart"] else "no difference is detected"
    return (f"{answer['name']}: {verdict}. Slower in {answer['slower_rounds']} of {answer['rounds']} rounds, by chance "
            f"{answer['chance']:.2g} (limit {error:g}); ratio {answer['ratio']:.3f}, with {100 * (1 - error):g} % between "
            f"{answer['ratio_low']:.3f} and {answer['ratio_high']:.3f}")
