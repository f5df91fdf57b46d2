// SPDX-License-Identifier: BSD-3-Clause
// fabric_job.hpp - ranks for tests of providers: forked processes with a port each.
//
// Idea     The parent forks the ranks. They exchange addresses and synchronize through one shared
//          mapping, so no launcher is needed. A rank throws if an expectation fails; run_job()
//          returns the texts. Each wait has a deadline, and the parent kills late ranks.
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
struct SharedState {
    std::atomic<std::uint32_t> arrived[kRanksMax];  ///< calls of synchronize() by each rank
    std::atomic<std::uint32_t> test_word;           ///< 0 at first; each test gives it a meaning
    std::atomic<std::uint64_t> puts[4];             ///< number of accepted puts, by link::PutKind
    std::uint32_t card_bytes[kRanksMax];
    std::byte card[kRanksMax][1024];  ///< addresses of the ports
    char report[kRanksMax][1024];     ///< failures
    bool succeeded[kRanksMax];        ///< the body returned, and the port is closed
};

using PortOpener = std::function<base::Result<std::unique_ptr<link::FabricPort>>(
    const link::FabricMemory&, const link::FabricOptions&)>;

/// Returns an opener that discovers an offer, applies `change` to it, and opens a port on it.
PortOpener open_with(const std::function<void(link::Found&)>& change);
/// Sets FI_MR_LOCAL in the grant, so the port copies unregistered sources to registered memory.
inline void require_local_registration(link::Found& found) {
    found.grant.local_registration = true;
}
/// Makes the port request no completion for most small puts.
inline void make_unsignaled(link::Found& found) {
    found.profile.unsignaled_small_puts = true;
}

/// A rank of the job.
class Member {
  public:
    Member(Rank member_rank, Rank ranks, std::string provider_name, SharedState& state)
        : rank(member_rank), size(ranks), provider(std::move(provider_name)), shared(state) {}

    const Rank rank;
    const Rank size;
    const std::string provider;
    SharedState& shared;
    std::span<std::byte> memory;
    std::unique_ptr<link::FabricPort> port;
    /// Called for each immediate. While on_arrival is empty, immediates are kept: a rank that has
    /// returned from synchronize() may put before its peers return.
    std::function<void(std::uint32_t)> on_arrival;

    /// Tries to put, and counts accepted puts.
    base::Post try_put(const base::Put& put);
    /// Opens a port over the provider and exchanges addresses.
    void open(const PortOpener& opener, link::FabricOptions options, std::size_t memory_bytes);
    /// Polls once, and calls on_arrival for the received immediates.
    void drive();
    /// Polls until the condition holds. Throws after kWaitLimit.
    void until(const std::function<bool()>& condition, std::string_view what);
    /// Waits, over shared memory, until all ranks have called synchronize(). Polls the port
    /// meanwhile.
    void synchronize();
    /// Tries until the put is accepted. The bytes must stay valid until `pending` is 0 again.
    void put(Rank peer, std::span<const std::byte> data, std::uint64_t target,
             std::uint32_t immediate, std::uint32_t& pending);
    /// Connects to all peers, then synchronizes. All ranks must call it.
    void warm_all();

  private:
    std::unique_ptr<std::byte[]> owned_;
    std::vector<std::uint32_t> early_;  ///< received while on_arrival was empty
    std::uint32_t synchronizations_ = 0;
};

/// Throws with the text if the condition does not hold.
template <class... Values>
void expect(bool condition, fmt::format_string<Values...> text, Values&&... values) {
    if (!condition) throw std::runtime_error(fmt::format(text, std::forward<Values>(values)...));
}

/// Runs `body` in `size` forked processes over a provider. Returns the failures, or an empty text.
/// Failures of rank `may_die` are ignored.
std::string run_job(const std::string& provider, Rank size,
                    const std::function<void(Member&)>& body, Rank may_die = -1);
/// Returns the number of puts of all jobs by kind, in a line for each provider.
std::string puts_made();

/// Runs a function in a forked process. Returns its text or its exception's, cut to 4095 bytes, and
/// how the process ended if it was killed. libfabric must not start in the process that forks.
std::string in_child(const std::function<std::string()>& body);

/// Returns the providers with a profile, or only WEFT_PROVIDER if that is set.
std::vector<std::string> known_providers();
/// Returns options for two ranks of this host.
link::FabricOptions local_options(const std::string& provider);
/// Returns the reason why this host cannot use a provider, or an empty text. Caches the answer.
std::string why_unavailable(const std::string& provider);
/// Returns a provider's name with underscores for characters that names of tests cannot have.
std::string provider_as_name(const std::string& provider);

/// Returns byte `index` of the data of put `which`.
inline std::byte pattern(std::uint64_t which, std::size_t index) {
    return static_cast<std::byte>((which * 0x9E3779B97F4A7C15ULL + index * 131 + (index >> 8)) >>
                                  3);
}
void fill(std::span<std::byte> bytes, std::uint64_t which);
/// Returns true if all bytes are those of put `which`.
bool filled(std::span<const std::byte> bytes, std::uint64_t which);

}  // namespace weft::test
