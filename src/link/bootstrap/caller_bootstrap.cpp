// SPDX-License-Identifier: BSD-3-Clause
// caller_bootstrap.cpp - a job whose ranks the caller has already connected, for example by MPI.
//
// Idea     The caller provides a function that gathers bytes of all ranks on all ranks, and a fence
//          that can be polled. A first exchange sends the lengths of the cards, a second the cards.
// Why      Inside another library, such as an MPI library, weft must not need its own launcher. If
//          weft cannot start, the other library continues without weft.
// Holds    A rank that cannot start gives up: it takes part in one more exchange, in which all
//          other ranks receive the reason and stop. So no rank waits for a missing rank. If a rank
//          leaves before finish_startup(), the destructor gives up.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {
namespace {

using Bytes = std::vector<std::byte>;

/// Data that a rank sends before its card.
struct Announcement {
    std::uint64_t bytes = 0;    ///< size of the card
    std::uint64_t gave_up = 0;  ///< 1: the rank gives up, and its card is the text of the reason
};
constexpr std::uint64_t kCardMax = std::uint64_t{64} << 20;  ///< largest card in bytes

class CallerBootstrap final : public Bootstrap {
  public:
    explicit CallerBootstrap(const CallersJob& job) : job_(job) {}
    CallerBootstrap(const CallerBootstrap&) = delete;
    CallerBootstrap& operator=(const CallerBootstrap&) = delete;
    ~CallerBootstrap() override {
        if (starting_) give_up("it left before it had joined");
    }

    [[nodiscard]] Rank rank() const override { return job_.rank; }
    [[nodiscard]] Rank size() const override { return job_.size; }

    base::Result<void> publish(std::string_view key, std::span<const std::byte> card) override {
        cards_.insert_or_assign(std::string(key), WEFT_TRY(exchange(card, /*gives_up=*/false)));
        return {};
    }

    base::Result<Bytes> card(std::string_view key, Rank rank) override {
        WEFT_CHECK(rank >= 0 && rank < job_.size, rank, job_.size);
        const auto found = cards_.find(key);
        if (found == cards_.end())
            return base::fail(Status::environment, "no card was published under the key {}", key);
        return found->second[rank];
    }

    void give_up(std::string_view why) override {
        if (!starting_) return;
        const auto* const text = reinterpret_cast<const std::byte*>(why.data());
        (void)exchange({text, why.size()}, /*gives_up=*/true);
        starting_ = false;
    }

    base::Result<void> finish_startup() override {
        WEFT_TRY(exchange({}, /*gives_up=*/false));
        starting_ = false;
        return {};
    }

    base::Result<void> start_fence() override {
        if (job_.fence_start(job_.argument) != 0)
            return base::fail(Status::environment, "the caller's fence could not be started");
        fence_runs_ = true;
        return {};
    }

    [[nodiscard]] bool fence_ended() override {
        if (!fence_runs_) return true;
        int done = 0;
        if (job_.fence_test(job_.argument, &done) != 0) {
            fence_failed_ = true;
            done = 1;
        }
        if (done != 0) fence_runs_ = false;
        return done != 0;
    }

    [[noreturn]] void abort(int status, std::string_view text) override {
        const std::string message(text);
        if (job_.abort != nullptr) job_.abort(job_.argument, status, message.c_str());
        std::_Exit(exit_status_of_abort(status));
    }

    base::Result<void> finalize() override {
        if (fence_failed_) return base::fail(Status::environment, "the caller's fence has failed");
        return {};
    }

  private:
    /// Returns the cards of all ranks, by rank. Fails if a rank has given up, or if the caller's
    /// exchange fails; after a failure this object makes no further exchange.
    base::Result<std::vector<Bytes>> exchange(std::span<const std::byte> card, bool gives_up) {
        WEFT_CHECK(starting_);
        const auto ranks = static_cast<std::size_t>(job_.size);
        const Announcement mine{card.size(), gives_up ? 1U : 0U};
        std::vector<Announcement> announced(ranks);
        if (job_.exchange(job_.argument, &mine, announced.data(), sizeof mine) != 0)
            return exchange_failure();
        const auto longest = std::ranges::max_element(announced, {}, &Announcement::bytes);
        if (longest->bytes > kCardMax) {
            starting_ = false;
            return base::fail(Status::peer, "rank {} has a card of {} bytes, expected up to {}",
                              longest - announced.begin(), longest->bytes, kCardMax);
        }
        Bytes padded(std::max<std::size_t>(longest->bytes, 1));
        std::ranges::copy(card, padded.begin());
        Bytes all(padded.size() * ranks);
        if (job_.exchange(job_.argument, padded.data(), all.data(), padded.size()) != 0)
            return exchange_failure();
        std::vector<Bytes> cards;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const std::byte* const from = all.data() + rank * padded.size();
            cards.emplace_back(from, from + announced[rank].bytes);
        }
        const auto gave_up = std::ranges::find(announced, 1U, &Announcement::gave_up);
        if (gave_up == announced.end()) return cards;
        starting_ = false;
        const auto rank = static_cast<std::size_t>(gave_up - announced.begin());
        const auto* const text = reinterpret_cast<const char*>(cards[rank].data());
        return base::fail(Status::peer, "rank {} could not start: {}", rank,
                          std::string_view(text, cards[rank].size()));
    }

    base::Failure exchange_failure() {
        starting_ = false;
        return base::fail(Status::environment, "the caller's exchange has failed");
    }

    CallersJob job_;
    std::map<std::string, std::vector<Bytes>, std::less<>> cards_;
    bool starting_ = true;  ///< before the end of start-up: this rank must take part in exchanges
    bool fence_runs_ = false;
    bool fence_failed_ = false;
};

}  // namespace

std::unique_ptr<Bootstrap> join_job_of_caller(const CallersJob& job) {
    return std::make_unique<CallerBootstrap>(job);
}

}  // namespace weft::link
