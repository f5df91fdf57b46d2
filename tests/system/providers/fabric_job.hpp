// SPDX-License-Identifier: BSD-3-Clause
// fabric_job.hpp - a few forked processes with a port each, for conformance tests.
//
// Idea     The parent forks the ranks. They exchange addresses and meet through one shared mapping,
//          so no launcher is needed. A rank reports a failed expectation by throwing, and the
//          parent prints the text. Every wait has a deadline, and the parent kills late ranks.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "link/fabric/discover.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::test {

inline constexpr Rank kRanksMax = 4;
inline constexpr auto kWaitLimit = std::chrono::seconds(10);

/// Memory that the ranks share outside the fabric.
struct Meeting {
    std::atomic<std::uint32_t> arrived[kRanksMax];
    std::atomic<std::uint32_t> stage;    ///< free for the test
    std::atomic<std::uint64_t> puts[4];  ///< made, by link::PutKind
    std::uint32_t card_bytes[kRanksMax];
    std::byte card[kRanksMax][1024];
    char report[kRanksMax][1024];
    bool ended[kRanksMax];
};

using PortOpener = std::function<base::Result<std::unique_ptr<link::FabricPort>>(
    const link::FabricMemory&, const link::FabricOptions&)>;

/// Returns an opener of ports on a changed offer.
PortOpener open_with(const std::function<void(link::Found&)>& change);
/// Makes the port stage sources outside the registered memory, as FI_MR_LOCAL requires.
inline void staged(link::Found& found) {
    found.grant.local_registration = true;
}
/// Makes most small puts complete without their own completion.
inline void unsignaled(link::Found& found) {
    found.profile.unsignaled_small_puts = true;
}

/// One rank's view of the job.
class Member {
  public:
    Member(Rank own, Rank ranks, std::string named, Meeting& shared)
        : rank(own), size(ranks), provider(std::move(named)), meeting(shared) {}

    const Rank rank;
    const Rank size;
    const std::string provider;
    Meeting& meeting;
    std::span<std::byte> memory;
    std::unique_ptr<link::FabricPort> port;
    /// Called for each immediate. While it is empty, immediates are kept: a rank that has left
    /// meet() may put before the others leave it.
    std::function<void(std::uint32_t)> on_arrival;

    /// Tries to put, and counts the puts.
    base::Post try_put(const base::Put& put);
    /// Opens the port of the provider and exchanges addresses.
    void open(const PortOpener& opener, link::FabricOptions options, std::size_t memory_bytes);
    /// Polls once, and passes on the arrivals.
    void drive();
    /// Drives until the condition holds; throws when it takes too long.
    void until(const std::function<bool()>& condition, std::string_view what);
    /// Meets the other ranks outside the fabric, and polls while waiting.
    void meet();
    /// Puts without a time limit. The bytes must stay valid until `pending` is zero again.
    void put(Rank peer, std::span<const std::byte> data, std::uint64_t target,
             std::uint32_t immediate, std::uint32_t& pending);
    void warm_all();

  private:
    std::unique_ptr<std::byte[]> owned_;
    std::vector<std::uint32_t> early_;
    std::uint32_t meetings_ = 0;
};

/// Throws with the text if the condition does not hold.
template <class... Values>
void expect(bool condition, fmt::format_string<Values...> text, Values&&... values) {
    if (!condition) throw std::runtime_error(fmt::format(text, std::forward<Values>(values)...));
}

/// Runs `body` in `size` forked processes over a provider. Returns the problems, or an empty text.
/// Rank `may_die` need not end well.
std::string run_job(const std::string& provider, Rank size,
                    const std::function<void(Member&)>& body, Rank may_die = -1);
/// Returns the puts of all jobs so far, as "net: 100 plain, 20 with immediate", a
/// line for each provider.
std::string puts_made();

/// Runs a function in a forked process and returns its text, or the text of its exception.
/// libfabric must not start in the process that forks.
std::string in_child(const std::function<std::string()>& body);

/// Returns the providers with a profile, or only WEFT_PROVIDER if that is set.
std::vector<std::string> known_providers();
/// Returns options for two ranks of this host.
link::FabricOptions here(const std::string& provider);
/// Returns the reason why a provider cannot be used here, or an empty text. Caches the answer.
std::string why_not_here(const std::string& provider);
/// Returns a provider's name in letters, digits and underscores.
std::string provider_as_name(const std::string& provider);

/// Returns a byte that depends on the put and on the position in it.
inline std::byte pattern(std::uint64_t which, std::size_t index) {
    return static_cast<std::byte>((which * 0x9E3779B97F4A7C15ULL + index * 131 + (index >> 8)) >>
                                  3);
}
void fill(std::span<std::byte> bytes, std::uint64_t which);
bool filled(std::span<const std::byte> bytes, std::uint64_t which);

}  // namespace weft::test
