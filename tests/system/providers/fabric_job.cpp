// SPDX-License-Identifier: BSD-3-Clause
#include "tests/system/providers/fabric_job.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "link/fabric/port.hpp"
#include "tests/support/shared_object.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Number of accepted puts in this program's jobs, by provider and kind.
std::map<std::string, std::array<std::uint64_t, 4>> accepted_puts;

void write_report(SharedState& shared, Rank rank, std::string_view text) {
    char(&report)[1024] = shared.report[rank];
    const std::size_t bytes = std::min(text.size(), sizeof report - 1);
    std::memcpy(report, text.data(), bytes);
    report[bytes] = 0;
}

[[noreturn]] void run_rank(Rank rank, Rank size, const std::string& provider, SharedState& shared,
                           const std::function<void(Member&)>& body) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Outside of `try`: the port must stay open until the report of a failure is written.
    Member member(rank, size, provider, shared);
    try {
        body(member);
        member.port.reset();
        shared.succeeded[rank] = true;
    } catch (const std::exception& problem) {
        write_report(shared, rank, problem.what());
    }
    ::_exit(0);
}

/// Throws if fork() fails: reap(-1) would wait for, and kill, other processes.
pid_t fork_child() {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    return child;
}

/// Waits for a child until the deadline, then kills it. Returns how it ended; empty if by exit.
std::string reap(pid_t child, Clock::time_point deadline) {
    int status = 0;
    pid_t done = 0;
    while ((done = ::waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < deadline) {
        ::usleep(1000);
    }
    const bool late = done == 0;
    if (late) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    // Removes files in shared memory that a killed process has left; their names start with its ID.
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
        if (entry.path().filename().string().rfind(fmt::format("{}:", child), 0) == 0)
            std::filesystem::remove(entry.path(), ignored);
    }
    if (late) return "was late and was killed";
    return WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                               : std::string{};
}

}  // namespace

PortOpener open_with(const std::function<void(link::Found&)>& change) {
    return [change](const link::FabricMemory& memory, const link::FabricOptions& options)
               -> base::Result<std::unique_ptr<link::FabricPort>> {
        auto found = link::discover(options);
        if (!found) return found.failure();
        change(*found);
        auto port = link::open_port(memory, options, *found);
        if (!port) return port.failure();
        return std::unique_ptr<link::FabricPort>(std::move(port).value());
    };
}

void fill(std::span<std::byte> bytes, std::uint64_t which) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(which, i);
}

bool filled(std::span<const std::byte> bytes, std::uint64_t which) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != pattern(which, i)) return false;
    }
    return true;
}

void Member::open(const PortOpener& opener, link::FabricOptions options, std::size_t memory_bytes) {
    owned_ = std::make_unique<std::byte[]>(memory_bytes);
    memory = {owned_.get(), memory_bytes};
    options.rank = rank;
    options.size = size;
    options.one_host = true;
    options.provider = provider;
    auto opened = opener({memory.data(), memory.size()}, options);
    if (!opened) throw std::runtime_error(opened.failure().text);
    port = std::move(opened).value();
    const auto card = port->address();
    expect(card.size() <= sizeof shared.card[0], "card {}", card.size());
    std::memcpy(shared.card[rank], card.data(), card.size());
    shared.card_bytes[rank] = static_cast<std::uint32_t>(card.size());
    synchronize();
    for (Rank peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        port->set_peer(peer, {shared.card[peer], shared.card_bytes[peer]});
    }
}

base::Post Member::try_put(const base::Put& put) {
    const base::Post posted = port->try_put(put);
    if (posted == base::Post::posted)
        shared.puts[static_cast<int>(put.kind)].fetch_add(1, std::memory_order_relaxed);
    return posted;
}

void Member::drive() {
    std::array<std::uint64_t, 16> immediates{};
    const std::size_t arrived = port->poll(immediates);
    for (std::size_t i = 0; i < arrived; ++i)
        early_.push_back(static_cast<std::uint32_t>(immediates[i]));
    if (on_arrival != nullptr) {
        for (const std::uint32_t immediate : std::exchange(early_, {})) on_arrival(immediate);
    }
    if (arrived == 0) ::sched_yield();
}

void Member::until(const std::function<bool()>& condition, std::string_view what) {
    const auto deadline = Clock::now() + kWaitLimit;
    while (!condition()) {
        drive();
        if (const auto* failure = port->failure()) throw std::runtime_error(failure->text);
        expect(Clock::now() < deadline, "waited too long for {}", what);
    }
}

void Member::synchronize() {
    ++synchronizations_;
    shared.arrived[rank].store(synchronizations_, std::memory_order_release);
    until(
        [&] {
            return std::all_of(shared.arrived, shared.arrived + size, [&](const auto& arrived) {
                return arrived.load(std::memory_order_acquire) >= synchronizations_;
            });
        },
        "the other ranks");
}

void Member::put(Rank peer, std::span<const std::byte> data, std::uint64_t target,
                 std::uint32_t immediate, std::uint32_t& pending) {
    const base::PutPart source{data.data(), data.size()};
    until(
        [&] {
            return try_put({.peer = peer,
                            .kind = base::PutKind::with_immediate,
                            .parts = {&source, 1},
                            .bytes = source.bytes,
                            .target = target,
                            .immediate = immediate,
                            .pending = &pending}) == base::Post::posted;
        },
        fmt::format("a put of {} bytes to be accepted", data.size()));
}

void Member::warm_all() {
    for (Rank peer = 0; peer < size; ++peer) {
        if (peer != rank) until([&] { return port->warm(peer); }, "a warm connection");
    }
    synchronize();
}

std::string run_job(const std::string& provider, Rank size,
                    const std::function<void(Member&)>& body, Rank may_die) {
    if (size > kRanksMax) throw std::invalid_argument(fmt::format("{} ranks, at most 4", size));
    const SharedObject<SharedState> mapping;
    SharedState& shared = *mapping;
    std::vector<pid_t> children;
    for (Rank rank = 0; rank < size; ++rank) {
        const pid_t child = fork_child();
        if (child == 0) run_rank(rank, size, provider, shared, body);
        children.push_back(child);
    }
    std::string problems;
    const auto deadline = Clock::now() + 2 * kWaitLimit;
    for (Rank rank = 0; rank < size; ++rank) {
        const std::string how_ended = reap(children[static_cast<std::size_t>(rank)], deadline);
        if (rank == may_die) continue;
        if (how_ended.empty() && shared.succeeded[rank]) continue;
        problems += fmt::format("rank {}: {}{}\n", rank, shared.report[rank], how_ended);
    }
    for (int kind = 0; kind < 4; ++kind) accepted_puts[provider][kind] += shared.puts[kind].load();
    return problems;
}

std::string in_child(const std::function<std::string()>& body) {
    const SharedObject<std::array<char, 4096>> outcome;
    const pid_t child = fork_child();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::string text;
        try {
            text = body();
        } catch (const std::exception& problem) {
            text = problem.what();
        }
        text.copy(outcome->data(), outcome->size() - 1);
        ::_exit(0);
    }
    return outcome->data() + reap(child, Clock::now() + kWaitLimit);
}

std::vector<std::string> known_providers() {
    if (const char* named = std::getenv("WEFT_PROVIDER"); named != nullptr && *named != 0)
        return {named};
    std::vector<std::string> names;
    for (const link::Profile* profile : link::preferred_profiles()) {
        names.emplace_back(profile->provider);
    }
    return names;
}

std::string puts_made() {
    std::string text;
    for (const auto& [provider, counts] : accepted_puts) {
        text += fmt::format("{}: {} plain, {} with immediate, {} delivered, {} fenced\n", provider,
                            counts[0], counts[1], counts[2], counts[3]);
    }
    return text;
}

link::FabricOptions local_options(const std::string& provider) {
    link::FabricOptions options;
    options.provider = provider;
    options.size = 2;
    options.one_host = true;
    return options;
}

std::string why_unavailable(const std::string& provider) {
    static std::map<std::string, std::string> known;  // by provider
    const auto found = known.find(provider);
    if (found != known.end()) return found->second;
    return known[provider] = in_child([&]() -> std::string {
               const auto offer =
                   link::discover(local_options(provider), link::profile_of(provider));
               if (!offer) return offer.failure().text;
               const std::string answer = offer->info->fabric_attr->prov_name;
               return answer == provider ? std::string{}
                                         : fmt::format("libfabric answers \"{}\"", answer);
           });
}

std::string provider_as_name(const std::string& provider) {
    std::string name;
    for (const char c : provider)
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
}

}  // namespace weft::test
