# SPDX-License-Identifier: BSD-3-Clause
"""significance - decides whether two sides of the same rounds differ, from the ratio of their times in each round.

Idea     If both sides are equally fast, each is the slower one in half of the rounds. The sign test returns the
         probability that a fair coin gives a count at least as uneven as the observed count. It makes no assumption
         about the distribution of times, and one extreme round counts like any other. The interval of the median
         ratio follows from the same binomial distribution.
Holds    For equally fast sides the probability of `told_apart` (a difference was detected) is at most the error level.
"""

import math
import statistics


def tail(count, heads_max):
    """Returns the probability of at most `heads_max` heads in `count` throws of a fair coin."""
    return sum(math.comb(count, heads) for heads in range(heads_max + 1)) / 2**count


def sign_test(ratios):
    """Returns the probability that equally fast sides give a count of ratios above 1 that is at least as uneven."""
    above, below = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    return min(1.0, 2 * tail(above + below, min(above, below)))


def median_interval(ratios, error):
    """Returns an interval that contains the true median ratio with a probability of at least 1 - error. Its ends are
    two of the ratios."""
    ordered = sorted(ratios)
    cut = 0
    while cut < (len(ordered) - 1) // 2 and 2 * tail(len(ordered), cut) <= error:
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[-1 - cut]


def verdict(name, ratios, error):
    """Returns the verdict about side `name`. ratios: its times divided by the other side's."""
    low, high = median_interval(ratios, error)
    chance = sign_test(ratios)
    return {"name": name, "told_apart": chance <= error, "chance": chance, "rounds": len(ratios),
            "slower_rounds": sum(ratio > 1 for ratio in ratios), "ratio": statistics.median(ratios),
            "ratio_low": low, "ratio_high": high}


def format_answer(answer, error):
    finding = "a difference is detected" if answer["told_apart"] else "no difference is detected"
    return (f"{answer['name']}: {finding}. Slower in {answer['slower_rounds']} of {answer['rounds']} rounds, by chance "
            f"{answer['chance']:.2g} (limit {error:g}); ratio {answer['ratio']:.3f}, with {100 * (1 - error):g} % between "
            f"{answer['ratio_low']:.3f} and {answer['ratio_high']:.3f}")
