// SPDX-License-Identifier: BSD-3-Clause
// records.cpp - fuzz target: the comparison of two inquiries, in which the watchdogs of waiting
// ranks exchange their calls. The input has the bytes of both.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "run/execute/inquiry.hpp"
#include "run/execute/watchdog.hpp"
#include "tests/hostile/fuzz/targets.hpp"

namespace weft::fuzz {

namespace {

/// Returns an inquiry with the first bytes of the input.
run::Inquiry inquiry_of(std::string_view input) {
    run::Inquiry inquiry;
    std::memcpy(&inquiry, input.data(), std::min(input.size(), sizeof inquiry));
    inquiry.text[sizeof inquiry.text - 1] = '\0';
    return inquiry;
}

}  // namespace

void records(std::string_view input) {
    const run::Inquiry own = inquiry_of(input);
    const run::Inquiry remote =
        inquiry_of(input.substr(std::min(input.size(), sizeof(run::Inquiry))));
    (void)run::checksum_of(remote);
    const std::string text = run::disagreement_text(remote, own, remote.epoch, own.epoch);
    WEFT_CHECK(text.size() < 2000, text.size());
    (void)run::pair_disagreement_text(remote, own, {});
    run::Inquiry verdict = remote;
    run::set_text(verdict, text, run::text_before(own));
    WEFT_CHECK(verdict.checksum == run::checksum_of(verdict), verdict.checksum);
    WEFT_CHECK(
        run::text_of(verdict).size() + run::text_before(verdict).size() + 2 <= sizeof verdict.text,
        text.size());
}

}  // namespace weft::fuzz
