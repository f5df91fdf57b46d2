// SPDX-License-Identifier: BSD-3-Clause
// pmix_server.cpp - the server side of PMIx: the job's description, fences, aborts.
//
// Why      The start-up time of small jobs depends on the form of the job data. Jobs of up to 16
//          ranks send it in messages instead of mapped files; for more ranks, files are faster.
// Holds    A callback returns PMIX_OPERATION_SUCCEEDED if its work is done, or PMIX_SUCCESS if the
//          function that the library has passed brings the answer.
#include "tools/launch/pmix_server.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/environment.hpp"
#include "base/pmix_needs.hpp"
#include "base/random.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {
namespace {

constexpr Rank kRanksInMessagesMax = 16;  ///< largest job whose data is sent in messages

/// The one server of this process. Fence callbacks carry no context that would identify it.
std::atomic<PmixServer*> hosted_server{nullptr};

void check(pmix_status_t status, std::string_view what) {
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        fail(Status::environment, "PMIx server: {} failed: {}", what, PMIx_Error_string(status));
}

class InfoList {
  public:
    explicit InfoList(std::size_t capacity) : list_(capacity) {}
    InfoList(const InfoList&) = delete;
    InfoList& operator=(const InfoList&) = delete;
    ~InfoList() {
        for (std::size_t i = 0; i < count_; ++i) PMIX_INFO_DESTRUCT(&list_[i]);
    }
    void add(const char* key, const void* value, pmix_data_type_t type) {
        WEFT_CHECK(count_ < list_.size(), key);
        PMIx_Info_load(&list_[count_++], key, value, type);
    }
    void add_text(const char* key, const std::string& text) { add(key, text.c_str(), PMIX_STRING); }
    void add_count(const char* key, std::uint32_t count) { add(key, &count, PMIX_UINT32); }

    pmix_info_t* data() { return list_.data(); }
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    std::vector<pmix_info_t> list_;
    std::size_t count_ = 0;
};

struct NodeMaps {
    std::string first_host;
    std::string hosts;  ///< names of the nodes, such as "a,b"
    std::string ranks;  ///< ranks of the nodes, such as "0,1;2"
};

NodeMaps describe_nodes(const JobOptions& job) {
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    const bool is_virtual = !job.ranks_per_node.empty();
    const std::vector<Rank> counts = is_virtual ? job.ranks_per_node : std::vector<Rank>{job.ranks};
    NodeMaps maps;
    Rank next = 0;
    for (std::size_t node = 0; node < counts.size(); ++node) {
        const std::string name = is_virtual ? fmt::format("vn{}", node) : std::string(host);
        if (node == 0) maps.first_host = name;
        maps.hosts += (node == 0 ? "" : ",") + name;
        for (Rank i = 0; i < counts[node]; ++i, ++next) {
            maps.ranks += i > 0 ? "," : node > 0 ? ";" : "";
            maps.ranks += std::to_string(next);
        }
    }
    return maps;
}

/// Returns true if the library itself completes fences that a dead rank has not entered, as PMIx 5
/// does (see base/pmix_needs.hpp). Parses the version text of the loaded library ("OpenPMIx 5.0.7,
/// ..."), because the files of versions 4 and 5 have the same name.
bool wants_fence_witness() {
    const char* const version = PMIx_Get_version();
    return std::atoi(version + std::strcspn(version, "0123456789")) >= 5;
}

/// Stack size that the C library gives threads when the stack has no limit.
constexpr std::size_t kStackBytes = std::size_t{2} << 20;

/// Raises the default stack size of new threads to kStackBytes. Returns 0 or an error number.
int raise_default_stack_size() {
    pthread_attr_t defaults;
    if (const int error = ::pthread_getattr_default_np(&defaults); error != 0) return error;
    std::size_t size = 0;
    ::pthread_attr_getstacksize(&defaults, &size);
    ::pthread_attr_setstacksize(&defaults, std::max(size, kStackBytes));
    const int error = ::pthread_setattr_default_np(&defaults);
    ::pthread_attr_destroy(&defaults);
    return error;
}

/// Runs `work` in a new thread and waits for its end. This thread, and threads started later in
/// this process, have stacks of at least 2 MiB, even if `ulimit -s` is less: with a small stack,
/// PMIx_server_setup_fork(), which has a frame of 200 KiB, and the threads of PMIx would crash.
void run_on_own_stack(const std::function<void()>& work) {
    int error = raise_default_stack_size();
    if (error == 0) {
        try {
            return std::async(std::launch::async, work).get();
        } catch (const std::system_error& refused) {
            error = refused.code().value();
        }
    }
    fail(Status::environment, "cannot start a thread with a stack of {} bytes: {}", kStackBytes,
         ::strerror(error));
}

}  // namespace

std::string random_job_name() {
    const std::uint64_t high = need(base::system_entropy());
    return fmt::format("{}{:016x}{:016x}", base::kOwnJobPrefix, high, need(base::system_entropy()));
}

struct PmixServer::Callbacks {
    static PmixServer& server_of(void* object) { return *static_cast<PmixServer*>(object); }

    static pmix_status_t joined(const pmix_proc_t* who, void* object, pmix_info_t*, std::size_t,
                                pmix_op_cbfunc_t, void*) {
        PmixServer& server = server_of(object);
        server.membership_[who->rank] = Membership::joined;
        if (server.reporting_joins_) ::eventfd_write(server.event_file_.number(), 1);
        return PMIX_OPERATION_SUCCEEDED;
    }

    static pmix_status_t left(const pmix_proc_t* who, void* object, pmix_op_cbfunc_t, void*) {
        server_of(object).membership_[who->rank] = Membership::left;
        return PMIX_OPERATION_SUCCEEDED;
    }

    static pmix_status_t aborted(const pmix_proc_t* who, void* object, int status,
                                 const char message[], pmix_proc_t[], std::size_t, pmix_op_cbfunc_t,
                                 void*) {
        PmixServer& server = server_of(object);
        {
            const std::lock_guard lock(server.mutex_);
            if (!server.abort_request_)
                server.abort_request_ = {static_cast<Rank>(who->rank), status,
                                         message != nullptr ? message : ""};
        }
        ::eventfd_write(server.event_file_.number(), 1);
        return PMIX_OPERATION_SUCCEEDED;
    }

    /// Returns true if the library reports that ranks are missing from a fence.
    static bool some_are_missing(const pmix_info_t info[], std::size_t count) {
        return std::any_of(info, info + count, [](const pmix_info_t& each) {
            return std::string_view(each.key) == PMIX_LOCAL_COLLECTIVE_STATUS &&
                   each.value.type == PMIX_STATUS && each.value.data.status != PMIX_SUCCESS;
        });
    }

    static pmix_status_t fence(const pmix_proc_t[], std::size_t, const pmix_info_t info[],
                               std::size_t count, char* data, std::size_t bytes,
                               pmix_modex_cbfunc_t answer, void* argument) {
        const PmixServer& server = *hosted_server.load();
        if (some_are_missing(info, count) || server.lost_a_rank()) {
            if (server.keep_going_)
                answer(PMIX_ERR_PROC_ABORTED, nullptr, 0, argument, nullptr, nullptr);
            return PMIX_SUCCESS;  // without an answer, the fence never returns
        }
        // All ranks have entered: the result is their contributions.
        answer(PMIX_SUCCESS, data, bytes, argument, nullptr, nullptr);
        return PMIX_SUCCESS;
    }

    static pmix_status_t fetch_remote(const pmix_proc_t*, const pmix_info_t[], std::size_t,
                                      pmix_modex_cbfunc_t, void*) {
        return PMIX_ERR_NOT_FOUND;  // this job has one server only
    }
};

PmixServer::PmixServer(const JobOptions& job, const JobNames& names)
    : name_(names.job_name),
      keep_going_(job.keep_going),
      event_file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      processes_(static_cast<std::size_t>(job.ranks)),
      membership_(static_cast<std::size_t>(job.ranks)) {}

PmixServer* PmixServer::start(const JobOptions& job, const JobNames& names) {
    PmixServer* none = nullptr;
    std::unique_ptr<PmixServer> owner(new PmixServer(job, names));
    if (!hosted_server.compare_exchange_strong(none, owner.get()))
        fail(Status::environment, "PMIx server: this process already has one");
    PmixServer* const server = owner.release();  // hosted_server keeps it from now on
    constexpr int kKeep = 0;                     // setenv() keeps a value that the user has set
    if (job.ranks <= kRanksInMessagesMax) ::setenv("PMIX_MCA_gds", "hash", kKeep);
    keep_connection_gate();
    run_on_own_stack([&] { server->set_up(job, names); });
    return server;
}

void PmixServer::set_up(const JobOptions& job, const JobNames& names) {
    // The library keeps the address of this table until the process ends.
    static pmix_server_module_t module = [] {
        pmix_server_module_t table = {};
        table.client_connected2 = Callbacks::joined;
        table.client_finalized = Callbacks::left;
        table.abort = Callbacks::aborted;
        table.fence_nb = Callbacks::fence;
        table.direct_modex = Callbacks::fetch_remote;
        return table;
    }();
    InfoList info(8);
    const pmix_rank_t own_rank = 0;
    // Not the job's name, which is secret: the server's name appears in file names and messages.
    info.add_text(PMIX_SERVER_NSPACE, random_job_name());
    info.add(PMIX_SERVER_RANK, &own_rank, PMIX_PROC_RANK);
    info.add_text(PMIX_SERVER_TMPDIR, names.folder);
    info.add_text(PMIX_SYSTEM_TMPDIR, names.folder);
    info.add_text(PMIX_HOSTNAME, describe_nodes(job).first_host);
    check(PMIx_server_init(&module, info.data(), info.count()), "starting it");
    register_job(job, names);
    for (Rank rank = 0; rank < job.ranks; ++rank) register_rank(rank);
}

void PmixServer::register_job(const JobOptions& job, const JobNames& names) {
    const NodeMaps maps = describe_nodes(job);
    char* hosts = nullptr;
    char* ranks = nullptr;
    check(PMIx_generate_regex(maps.hosts.c_str(), &hosts), "describing the nodes");
    const std::unique_ptr<char, decltype(&std::free)> hosts_owner(hosts, &std::free);
    check(PMIx_generate_ppn(maps.ranks.c_str(), &ranks), "describing the ranks of the nodes");
    const std::unique_ptr<char, decltype(&std::free)> ranks_owner(ranks, &std::free);

    const auto size = static_cast<std::uint32_t>(job.ranks);
    const auto nodes = static_cast<std::uint32_t>(job.ranks_per_node.size());
    InfoList info(16);
    info.add_count(PMIX_JOB_SIZE, size);
    info.add_count(PMIX_UNIV_SIZE, size);
    info.add_count(PMIX_MAX_PROCS, size);
    info.add_count(PMIX_NUM_NODES, nodes == 0 ? 1 : nodes);
    if (wants_fence_witness()) info.add_count(base::kFenceWitnessKey, size);
    info.add(PMIX_NODE_MAP, hosts, PMIX_REGEX);
    info.add(PMIX_PROC_MAP, ranks, PMIX_REGEX);
    info.add_text(PMIX_TMPDIR, names.folder);
    info.add_text(PMIX_NSDIR, names.folder);
    // Without a callback, the call returns after the work is done.
    check(PMIx_server_register_nspace(name_.c_str(), job.ranks, info.data(), info.count(), nullptr,
                                      nullptr),
          "describing the job");
}

/// Announces the rank to the library, and stores its variables.
void PmixServer::register_rank(Rank rank) {
    pmix_proc_t who;
    PMIX_LOAD_PROCID(&who, name_.c_str(), static_cast<pmix_rank_t>(rank));
    check(PMIx_server_register_client(&who, ::getuid(), ::getgid(), this, nullptr, nullptr),
          fmt::format("announcing rank {}", rank));
    char** variables = nullptr;
    check(PMIx_server_setup_fork(&who, &variables),
          fmt::format("making the environment of rank {}", rank));
    std::vector<std::string>& environment = environments_.emplace_back();
    for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
        environment.emplace_back(*variable);
        std::free(*variable);
    }
    std::free(variables);
}

bool PmixServer::anyone_joined() const {
    return std::any_of(membership_.begin(), membership_.end(),
                       [](const auto& membership) { return membership != Membership::outside; });
}

std::optional<AbortRequest> PmixServer::abort_request() const {
    const std::lock_guard lock(mutex_);
    return abort_request_;
}

/// Returns true if a rank has ended or begun to end without PMIx_Finalize(). Does not reap, because
/// the launcher needs the exit status. Checks ranks that have begun to end, because the library
/// removes a rank from a fence when its connection closes, before its process has ended.
bool PmixServer::lost_a_rank() const {
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
        const pid_t pid = processes_[rank];
        if (pid == 0 || membership_[rank] == Membership::left) continue;
        siginfo_t ended = {};
        const int outcome =
            ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
        if (outcome != 0 || ended.si_pid != 0 || is_ending(pid)) return true;
    }
    return false;
}

}  // namespace weft::tools
