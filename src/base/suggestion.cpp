// SPDX-License-Identifier: BSD-3-Clause
#include "base/suggestion.hpp"

#include <algorithm>
#include <numeric>

namespace weft::base {
namespace {

/// Returns the optimal string alignment distance: the smallest number of letters to omit, add,
/// replace, or swap with the next letter.
std::size_t edit_distance(std::string_view one, std::string_view other) {
    // Row i: distances from the first i letters of `one` to each prefix of `other`.
    std::vector<std::size_t> before_last;
    std::vector<std::size_t> last(other.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t i = 1; i <= one.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t replacement_cost = one[i - 1] == other[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + replacement_cost});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        before_last = last;
        last = row;
    }
    return last.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t kLettersMax = 64;  // longer words are not names
    if (word.size() > kLettersMax) return {};
    std::string_view best;
    std::size_t limit = std::max<std::size_t>(1, word.size() / 4) + 1;  // exclusive
    for (const std::string_view candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance >= limit || distance >= candidate.size()) continue;
        best = candidate;
        limit = distance;
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view best = nearest(word, known);
    if (best.empty()) return {};
    return std::string("; did you mean '").append(best).append("'?");
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    return did_you_mean(word, std::vector<std::string_view>(known.begin(), known.end()));
}

}  // namespace weft::base
