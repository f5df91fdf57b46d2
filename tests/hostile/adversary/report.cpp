// SPDX-License-Identifier: BSD-3-Clause
#include "tests/hostile/adversary/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace adversary {
namespace {

constexpr std::size_t kTricks = static_cast<std::size_t>(Trick::count);
/// In the order of Trick.
constexpr std::array<const char*, kTricks> kNames{
    "write_delayed",
    "write_overtook",
    "pieces_out_of_order",
    "delivered_in_parts",
    "delivered_without_target",
    "completed_before_delivery",
    "completion_late",
    "completion_overtook",
    "immediate_late",
    "refused_again",
    "refused_unconnected",
    "source_read_late",
    "context_scribbled",
    "fence_waited",
    "held_for_more",
    "delivery_ignored",
    "slow_endpoint",
    "connection_lost",
    "queue_overrun",
};

/// Counts the tricks of this process; writes the counts when the process ends.
class Report {
  public:
    ~Report() { write_counts(); }
    void count(Trick trick) {
        counts_[static_cast<std::size_t>(trick)].fetch_add(1, std::memory_order_relaxed);
    }
    void set_profile(const std::string& profile) { profile_ = profile; }
    [[nodiscard]] const std::string& profile() const { return profile_; }

    /// Appends a line "PROFILE TAB TEXT" by one system call: several processes write to the file.
    void line(const std::string& text) const {
        const char* path = std::getenv("ADVERSARY_REPORT");
        if (path == nullptr || *path == 0) return;
        const int file = std::string_view(path) == "-"
                             ? ::dup(STDERR_FILENO)
                             : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (file < 0) return;
        const std::string entry = profile_ + "\t" + text + "\n";
        [[maybe_unused]] const ssize_t written = ::write(file, entry.data(), entry.size());
        ::close(file);
    }
    void write_counts() {
        for (std::size_t i = 0; i < kTricks; ++i) {
            const std::uint64_t times = counts_[i].exchange(0);
            if (times != 0) line(std::string(kNames[i]) + "\t" + std::to_string(times));
        }
    }

  private:
    std::array<std::atomic<std::uint64_t>, kTricks> counts_{};
    std::string profile_;
};

Report& report() {
    static Report instance;
    return instance;
}

}  // namespace

void count_trick(Trick trick) {
    report().count(trick);
}

void refused_access(const std::string& text) {
    report().line("refused: " + text + "\t1");
}

void violation(const std::string& text) {
    std::fprintf(stderr, "adversary (%s): %s\n", report().profile().c_str(), text.c_str());
    report().line("violation: " + text + "\t1");
    report().write_counts();
    std::_Exit(kViolationStatus);
}

std::uint64_t limit_for_this_rank(const char* variable) {
    constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
    const char* text = std::getenv(variable);
    const char* rank = std::getenv("PMIX_RANK");
    if (text == nullptr || rank == nullptr) return kUnlimited;
    char* end = nullptr;
    const auto limited_rank = std::strtoull(text, &end, 10);
    if (*end != ':' || limited_rank != std::strtoull(rank, nullptr, 10)) return kUnlimited;
    return std::strtoull(end + 1, nullptr, 10);
}

void report_for(const std::string& profile) {
    if (report().profile() == profile) return;
    report().write_counts();
    report().set_profile(profile);
}

}  // namespace adversary
