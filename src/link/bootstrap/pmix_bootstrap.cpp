// SPDX-License-Identifier: BSD-3-Clause
// pmix_bootstrap.cpp - the client side of PMIx, equal under all launchers with PMIx.
//
// Why      Only the number of ranks is read from the job's description, because launchers differ in
//          other entries: PMIX_UNIV_SIZE counts slots, not ranks, and some launchers do not give
//          node ids and local ranks of remote peers. Ranks have such data on their cards.
// Holds    Blocking calls are made only at start-up and at the end. A fence that some rank has not
//          entered counts as failed, even if PMIx reports a partial success.
#include <fmt/format.h>
#include <pmix.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "base/pmix_needs.hpp"
#include "link/bootstrap/bootstrap.hpp"
#include "link/bootstrap/rank_processes.hpp"

namespace weft::link {
namespace {

/// Outcome of a non-blocking fence. Its callback may run after the bootstrap is destroyed.
struct FenceState {
    static constexpr pmix_status_t kRunning = std::numeric_limits<pmix_status_t>::max();
    std::atomic<pmix_status_t> outcome{kRunning};
};

void fence_callback(pmix_status_t status, void* argument) {
    const auto* const state = static_cast<std::shared_ptr<FenceState>*>(argument);
    // Release: pairs with the acquire in fence_ended().
    (*state)->outcome.store(status, std::memory_order_release);
    delete state;
}

/// Returns true if the status means that another rank or the launcher has ended.
bool means_lost(pmix_status_t status) {
    return status == PMIX_ERR_PARTIAL_SUCCESS || status == PMIX_ERR_PROC_ABORTED ||
           status == PMIX_ERR_PROC_TERM_WO_SYNC || status == PMIX_ERR_LOST_CONNECTION;
}

/// Fails if an operation of PMIx has failed. The operation's name is a format with arguments.
template <class... Arguments>
base::Result<void> check(pmix_status_t status, fmt::format_string<Arguments...> operation,
                         Arguments&&... arguments) {
    if (status == PMIX_SUCCESS) return {};
    const bool lost = means_lost(status);
    return base::fail(lost ? Status::peer : Status::environment, "PMIx: {} failed: {}{}",
                      fmt::format(operation, std::forward<Arguments>(arguments)...),
                      PMIx_Error_string(status),
                      lost ? " (another rank, or the launcher, has gone)" : "");
}

/// Delay of this rank's failure after a fence has failed because another rank ended. Meanwhile the
/// launcher detects the end of that rank, so it does not report this rank as the first to fail.
constexpr auto kLossDelay = std::chrono::seconds(1);

/// Time from SIGTERM to SIGKILL for a rank whose launcher has ended.
constexpr auto kTermDelay = std::chrono::seconds(2);

/// Ends this process, because its launcher has ended. Without a launcher, ranks may wait for each
/// other forever. `weft run` kills its ranks when it ends; other launchers leave them running.
void end_without_launcher(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[],
                          std::size_t, pmix_info_t[], std::size_t,
                          pmix_event_notification_cbfunc_fn_t done, void* argument) {
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, argument);
    std::thread([] {
        ::kill(::getpid(), SIGTERM);
        std::this_thread::sleep_for(kTermDelay);
        ::kill(::getpid(), SIGKILL);
    }).detach();
}

void watch_launcher() {
    pmix_status_t lost[] = {PMIX_ERR_LOST_CONNECTION, PMIX_ERR_LOST_CONNECTION_TO_SERVER};
    PMIx_Register_event_handler(lost, 2, nullptr, 0, end_without_launcher, nullptr, nullptr);
}

/// Returns an integer value, or nullopt. Launchers use different integer types for one key.
std::optional<std::int64_t> number_in(const pmix_value_t& value) {
    pmix_status_t status = PMIX_SUCCESS;
    std::int64_t number = 0;
    PMIX_VALUE_GET_NUMBER(status, &value, number, std::int64_t);
    return status == PMIX_SUCCESS ? std::optional(number) : std::nullopt;
}

/// Owns a value that PMIx_Get() has allocated.
class Value {
  public:
    Value() = default;
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
    ~Value() {
        if (value_ != nullptr) PMIX_VALUE_RELEASE(value_);
    }
    pmix_value_t** receive() { return &value_; }
    const pmix_value_t& operator*() const { return *value_; }

  private:
    pmix_value_t* value_ = nullptr;
};

/// A directive for PMIx that is set to true.
class Directive {
  public:
    explicit Directive(const char* key) {
        const bool set = true;
        PMIx_Info_load(&info_, key, &set, PMIX_BOOL);
    }
    Directive(const Directive&) = delete;
    Directive& operator=(const Directive&) = delete;
    ~Directive() { PMIX_INFO_DESTRUCT(&info_); }
    pmix_info_t* pointer() { return &info_; }

  private:
    pmix_info_t info_;
};

/// Reads a key that a process of this server may have published. Does not wait for the key.
pmix_status_t get_now(const pmix_proc_t& process, const std::string& key, Value& value) {
    return PMIx_Get(&process, key.c_str(), Directive(PMIX_IMMEDIATE).pointer(), 1, value.receive());
}

/// Publishes a value, which PMIx copies.
pmix_status_t put(const std::string& key, pmix_value_t value) {
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
    return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

/// Polls until the process has published the key, or until an error.
pmix_status_t await_key(const pmix_proc_t& process, const std::string& key) {
    std::chrono::microseconds pause(100);
    constexpr std::chrono::microseconds kLongestPause(10'000);
    while (true) {
        Value value;
        const pmix_status_t status = get_now(process, key, value);
        if (status != PMIX_ERR_NOT_FOUND) return status;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

class PmixBootstrap final : public Bootstrap {
  public:
    static base::Result<std::unique_ptr<Bootstrap>> join() {
        std::unique_ptr<PmixBootstrap> job(new PmixBootstrap());
        const pmix_status_t joined = [&] {
            const base::BlockedSignals blocked;  // PMIx starts a thread
            return PMIx_Init(&job->self_, nullptr, 0);
        }();
        WEFT_TRY(check(joined, "joining the job"));
        if (auto prepared = job->prepare(); !prepared) {
            static_cast<void>(job->finalize());
            return prepared.failure();
        }
        watch_launcher();
        return std::unique_ptr<Bootstrap>(std::move(job));
    }
    [[nodiscard]] static bool has_joined() { return next_serial_.has_value(); }

    [[nodiscard]] Rank rank() const override { return static_cast<Rank>(self_.rank); }
    [[nodiscard]] Rank size() const override { return size_; }
    base::Result<void> publish(std::string_view key, std::span<const std::byte> card) override {
        auto* const bytes = const_cast<char*>(reinterpret_cast<const char*>(card.data()));
        WEFT_TRY(check(put(full_key(key), {.type = PMIX_BYTE_OBJECT,
                                           .data = {.bo = {.bytes = bytes, .size = card.size()}}}),
                       "publishing the card {} of {} bytes", key, card.size()));
        const auto members = fence_members();
        const pmix_status_t status =
            PMIx_Fence(members.data(), members.size(), Directive(PMIX_COLLECT_DATA).pointer(), 1);
        if (means_lost(status)) std::this_thread::sleep_for(kLossDelay);
        return check(status, "waiting for the cards {} of all ranks", key);
    }

    base::Result<std::vector<std::byte>> card(std::string_view key, Rank rank) override {
        WEFT_CHECK(rank >= 0 && rank < size_, rank, size_);
        const pmix_proc_t owner = process(static_cast<pmix_rank_t>(rank));
        const std::string name = full_key(key);
        Value value;
        // The server of Open MPI 4.1.4 may not find a card for a moment after its fence has ended.
        const std::uint64_t end_ns = base::monotonic_ns() + 1'000'000'000;
        pmix_status_t status = PMIX_ERR_NOT_FOUND;
        while ((status = PMIx_Get(&owner, name.c_str(), nullptr, 0, value.receive())) ==
                   PMIX_ERR_NOT_FOUND &&
               base::monotonic_ns() < end_ns)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        WEFT_TRY(check(status, "reading the card {} of rank {}", key, rank));
        if ((*value).type != PMIX_BYTE_OBJECT)
            return base::fail(Status::environment, "PMIx: the card {} of rank {} has value type {}",
                              key, rank, (*value).type);
        const auto* const bytes = reinterpret_cast<const std::byte*>((*value).data.bo.bytes);
        return std::vector<std::byte>(bytes, bytes + (*value).data.bo.size);
    }

    base::Result<void> start_fence() override {
        WEFT_CHECK(!left_);
        WEFT_CHECK(fence_ == nullptr || fence_->outcome.load() != FenceState::kRunning);
        if (fence_ != nullptr) WEFT_TRY(check(fence_->outcome.load(), "an earlier fence"));
        auto state = std::make_shared<FenceState>();
        auto* const callback_share = new std::shared_ptr<FenceState>(state);
        const auto members = fence_members();
        const pmix_status_t status = PMIx_Fence_nb(members.data(), members.size(), nullptr, 0,
                                                   fence_callback, callback_share);
        if (status != PMIX_SUCCESS) {  // no callback follows
            delete callback_share;
            if (status != PMIX_OPERATION_SUCCEEDED) return check(status, "starting a fence");
            state->outcome = PMIX_SUCCESS;
        }
        fence_ = std::move(state);
        return {};
    }

    [[nodiscard]] bool fence_ended() override {
        if (fence_ == nullptr) return true;
        // Acquire: pairs with the release in fence_callback().
        const pmix_status_t outcome = fence_->outcome.load(std::memory_order_acquire);
        if (outcome == FenceState::kRunning) return false;
        if (!means_lost(outcome)) return true;
        const auto now = std::chrono::steady_clock::now();
        if (!lost_since_) lost_since_ = now;
        return now - *lost_since_ >= kLossDelay;
    }

    [[noreturn]] void abort(int status, std::string_view text) override {
        const std::string message(text);
        PMIx_Abort(status, message.c_str(), nullptr, 0);
        std::_Exit(exit_status_of_abort(status));
    }

    base::Result<void> finalize() override {
        if (left_) return {};
        left_ = true;
        WEFT_TRY(check(PMIx_Finalize(nullptr, 0), "leaving the job"));
        if (fence_ == nullptr || fence_->outcome.load() == FenceState::kRunning) return {};
        return check(fence_->outcome.load(), "the last fence");
    }

  private:
    PmixBootstrap() = default;

    /// Reads the properties of the job, and waits for the ranks that still leave the last runtime.
    base::Result<void> prepare() {
        const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
        Value size;
        WEFT_TRY(check(PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, size.receive()),
                       "asking for the number of ranks"));
        const std::int64_t ranks = number_in(*size).value_or(-1);
        if (ranks < 1 || ranks > std::numeric_limits<Rank>::max() || rank() >= ranks)
            return base::fail(Status::environment,
                              "PMIx: the launcher gives rank {} of {} ranks (value type {})",
                              rank(), ranks, (*size).type);
        size_ = static_cast<Rank>(ranks);
        look_for_witness();
        WEFT_TRY(take_serial());
        if (serial_ > 0) WEFT_TRY(await_server_ranks());
        return {};
    }
    [[nodiscard]] pmix_proc_t process(pmix_rank_t rank) const {
        pmix_proc_t process;
        PMIX_LOAD_PROCID(&process, self_.nspace, rank);
        return process;
    }
    /// Returns a wildcard for all ranks, then the witness (base/pmix_needs.hpp) if there is one.
    [[nodiscard]] std::vector<pmix_proc_t> fence_members() const {
        std::vector<pmix_proc_t> members{process(PMIX_RANK_WILDCARD)};
        if (witness_) members.push_back(process(*witness_));
        return members;
    }
    /// Sets witness_ if the launcher has announced one. PMIX_OPTIONAL: only in the local data.
    void look_for_witness() {
        const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
        Value witness;
        if (PMIx_Get(&all, base::kFenceWitnessKey, Directive(PMIX_OPTIONAL).pointer(), 1,
                     witness.receive()) == PMIX_SUCCESS &&
            number_in(*witness) == size_)
            witness_ = static_cast<pmix_rank_t>(size_);
    }

    /// Returns the other ranks of this rank's PMIx server. Returns all other ranks if the launcher
    /// gives no list, or under `weft run`, which has one server for all virtual nodes.
    [[nodiscard]] std::vector<pmix_rank_t> server_ranks() const {
        std::vector<pmix_rank_t> ranks;
        const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
        Value list;
        if (!started_by_own_launcher() &&
            PMIx_Get(&all, PMIX_LOCAL_PEERS, nullptr, 0, list.receive()) == PMIX_SUCCESS &&
            (*list).type == PMIX_STRING && (*list).data.string != nullptr) {
            std::istringstream text((*list).data.string);
            for (std::string rank; std::getline(text, rank, ',');)
                ranks.push_back(static_cast<pmix_rank_t>(std::strtoul(rank.c_str(), nullptr, 10)));
        }
        if (ranks.empty()) {
            ranks.resize(static_cast<std::size_t>(size_));
            std::iota(ranks.begin(), ranks.end(), pmix_rank_t{0});
        }
        std::erase(ranks, self_.rank);
        return ranks;
    }

    /// Waits until all ranks of this server have left the previous runtime and joined this one. The
    /// server of PMIx 4.2 may treat the end of a connection after PMIx_Finalize() as a loss. If a
    /// fence waits for the rank at that moment, the server ends the fence as a partial success. So
    /// ranks wait for keys of each other instead of a fence. They poll for the keys, because a
    /// waiting server sometimes misses the arrival of a key and answers two seconds later.
    base::Result<void> await_server_ranks() const {
        const std::string key = full_key("joined");
        WEFT_TRY(
            check(put(key, {.type = PMIX_BOOL, .data = {.flag = true}}), "joining the job again"));
        for (const pmix_rank_t rank : server_ranks())
            WEFT_TRY(
                check(await_key(process(rank), key), "waiting for rank {} to join again", rank));
        return {};
    }

    [[nodiscard]] std::string full_key(std::string_view key) const {
        return fmt::format("weft.{}.{}", serial_, key);
    }
    /// Sets serial_, and publishes the number for a later process of this rank. Other threads of
    /// the process do not join at the same time.
    base::Result<void> take_serial() {
        constexpr const char* kKey = "weft.runtimes";
        if (!next_serial_) {
            Value earlier;
            const bool found = get_now(self_, kKey, earlier) == PMIX_SUCCESS;
            // Under mpirun of Open MPI 4.1, fences of later programs sometimes never end. Only a
            // third program is refused: the server hides the keys of the first from the second.
            if (found && !started_by_own_launcher())
                return base::fail(Status::environment,
                                  "an earlier program of this job has used weft as rank {}; only "
                                  "weft run can run several programs in one job: start a job for "
                                  "each",
                                  rank());
            next_serial_ = found ? static_cast<std::uint32_t>(number_in(*earlier).value_or(0)) : 0;
        }
        serial_ = (*next_serial_)++;
        const pmix_value_t next{.type = PMIX_UINT32, .data = {.uint32 = *next_serial_}};
        return check(PMIx_Put(PMIX_GLOBAL, kKey, const_cast<pmix_value_t*>(&next)),
                     "publishing the number of runtimes");
    }

    /// Number of earlier runtimes of this rank, also in earlier processes, as when a script runs
    /// several programs in one job. Equal on all ranks, which make runtimes in the same order. PMIx
    /// keeps published data until the end of the job, so each runtime has its own keys.
    std::uint32_t serial_ = 0;
    /// Number of the next runtime; nullopt: this process has not joined yet.
    inline static std::optional<std::uint32_t> next_serial_;
    pmix_proc_t self_ = {};
    Rank size_ = 0;
    std::optional<pmix_rank_t> witness_;  ///< rank of the witness; nullopt: none was announced
    std::shared_ptr<FenceState> fence_;   ///< the last non-blocking fence
    /// Time at which fence_ended() first saw that a rank was lost.
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
    bool left_ = false;  ///< finalize() was called
};

/// Returns true if a launcher with PMIx (weft run, mpirun, prterun) started this process.
bool started_by_pmix() {
    return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr;
}

/// Joins the job of a process without a launcher, which has one rank.
std::unique_ptr<Bootstrap> join_job_of_one_rank() {
    return join_job_of_caller(
        {.exchange =
             [](void*, const void* mine, void* all, std::size_t bytes) {
                 std::memcpy(all, mine, bytes);
                 return 0;
             },
         .fence_start = [](void*) { return 0; },
         .fence_test =
             [](void*, int* done) {
                 *done = 1;
                 return 0;
             },
         .abort = [](void*, int, const char* text) { fmt::print(stderr, "weft: {}\n", text); }});
}

/// Fails under a launcher that has started several ranks without PMIx. Its N processes must not
/// become N jobs of one rank: the results would seem valid, but be results of smaller jobs.
base::Result<std::unique_ptr<Bootstrap>> join_job_without_pmix() {
    for (const char* const name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr && std::atoi(value) > 1)
            return base::fail(
                Status::environment,
                "started by a launcher that does not offer PMIx ({}={}): use weft run, "
                "mpirun of Open MPI, srun --mpi=pmix or prterun",
                name, value);
    }
    return join_job_of_one_rank();
}

}  // namespace

base::Result<std::unique_ptr<Bootstrap>> join_job() {
    if (!started_by_pmix()) return join_job_without_pmix();
    if (!base::has_home_folder())
        return base::fail(Status::environment,
                          "PMIx needs a home folder: user {} is not in the user database, and HOME "
                          "is not set; set it (HOME=/)",
                          ::geteuid());
    return PmixBootstrap::join();
}

bool has_joined_job() {
    return PmixBootstrap::has_joined();
}

std::optional<Rank> rank_by_environment() {
    if (!started_by_pmix()) return std::nullopt;
    return static_cast<Rank>(std::atoi(std::getenv("PMIX_RANK")));
}

/// The text is "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, ...)" or "OpenPMIx 5.0.7, repo rev: ...".
std::string pmix_version() {
    const std::string text = PMIx_Get_version();
    const std::string name = text.substr(0, std::min(text.find(','), text.find(" (")));
    return name.substr(name.rfind(' ') + 1);
}

}  // namespace weft::link
