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
constexpr std::array<const char*, kTricks> kNames{
    "write_delayed",     "write_overtook",        "pieces_out_of_order",
    "landed_in_pieces",  "landed_without_target", "completed_before_landing",
    "completion_late",   "completion_overtook",   "immediate_late",
    "refused_again",     "refused_unconnected",   "source_read_late",
    "context_scribbled", "fence_waited",          "delivery_ignored",
    "slow_endpoint",     "connection_lost",       "queue_overrun",
};

/// Counts of this process, printed when it ends.
class Report {
  public:
    ~Report() { tell(); }
    void count(Trick trick) {
        counts_[static_cast<std::size_t>(trick)].fetch_add(1, std::memory_order_relaxed);
    }
    void set_profile(const std::string& profile) { profile_ = profile; }
    [[nodiscard]] const std::string& profile() const { return profile_; }

    /// Writes a line in one system call, because several processes append to the file.
    void line(const std::string& text) const {
        const char* path = std::getenv("ADVERSARY_REPORT");
        if (path == nullptr || *path == 0) return;
        const int file = std::string_view(path) == "-"
                             ? ::dup(STDERR_FILENO)
                             : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (file < 0) return;
        const std::string whole = profile_ + "\t" + text + "\n";
        [[maybe_unused]] const ssize_t written = ::write(file, whole.data(), whole.size());
        ::close(file);
    }
    void tell() {
        for (std::size_t i = 0; i < kTricks; ++i) {
            const std::uint64_t often = counts_[i].exchange(0);
            if (often != 0) line(std::string(kNames[i]) + "\t" + std::to_string(often));
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

void played(Trick trick) {
    report().count(trick);
}

void refused_access(const std::string& text) {
    report().line("refused: " + text + "\t1");
}

void violation(const std::string& text) {
    std::fprintf(stderr, "adversary (%s): %s\n", report().profile().c_str(), text.c_str());
    report().line("violation: " + text + "\t1");
    report().tell();
    std::_Exit(kViolationStatus);
}

std::uint64_t end_for_this_rank(const char* variable) {
    constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};
    const char* text = std::getenv(variable);
    const char* rank = std::getenv("PMIX_RANK");
    if (text == nullptr || rank == nullptr) return kNoEnd;
    char* end = nullptr;
    const auto whose = std::strtoull(text, &end, 10);
    if (*end != ':' || whose != std::strtoull(rank, nullptr, 10)) return kNoEnd;
    return std::strtoull(end + 1, nullptr, 10);
}

void report_for(const std::string& profile) {
    if (report().profile() == profile) return;
    report().tell();
    report().set_profile(profile);
}

}  // namespace adversary
