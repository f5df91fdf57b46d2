// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/defaults.hpp"

#include "base/region.hpp"

namespace weft::collectives {

namespace {

/// Stages of small factors: a4 while it divides, then what is left; a prime stays whole.
std::string small_factors(Rank size) {
    std::string spec;
    const auto add = [&](Rank factor) {
        spec += fmt::format("{}a{}", spec.empty() ? "" : ",", factor);
        size /= factor;
    };
    while (size % 4 == 0) add(4);
    for (Rank factor = 2; size > 1; ++factor) {
        while (size % factor == 0) add(factor);
    }
    return spec;
}

/// Largest factor of size's factorisation.
Rank largest_prime(Rank size) {
    Rank largest = 1;
    for (Rank factor = 2; size > 1; ++factor) {
        while (size % factor == 0) {
            largest = factor;
            size /= factor;
        }
    }
    return largest;
}

std::string allreduce_spec(const DefaultRequest& request) {
    const Rank n = request.size;
    const bool small = request.bytes <= base::kCellPayload;
    if (n == 1) return "recursive-doubling";
    // On one node a short vector is published once and read by all: no round saves anything.
    if (request.nodes == 1 && small) return fmt::format("a{}", n);
    // Where ranks outnumber processors, puts and wake-ups cost more than rounds: all go to one rank,
    // which releases the result. Measured best from 64 B to 2 MiB on 4 and 8 ranks over 2 processors.
    if (request.crowded) return fmt::format("c{0}m{0},e{0}m{0}", n);
    if (!small || largest_prime(n) > 7) return "recursive-doubling";
    return small_factors(n);
}

std::string barrier_spec(const DefaultRequest& request) {
    if (request.nodes == 1)
        return fmt::format("dissemination:k={}", request.size > 1 ? request.size - 1 : 1);
    return request.crowded ? "central" : "dissemination:k=1";
}

}  // namespace

base::Result<std::string> default_spec(std::string_view collective, const DefaultRequest& request) {
    if (collective == "allreduce") return allreduce_spec(request);
    if (collective == "barrier") return barrier_spec(request);
    if (collective == "broadcast") return std::string("binomial");
    return base::fail(Status::argument, "no algorithm for {}", collective);
}

}  // namespace weft::collectives
