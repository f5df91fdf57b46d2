// SPDX-License-Identifier: BSD-3-Clause
// doctor_command.cpp - `weft doctor`: finds problems that prevent jobs here or make them slow, and
// prints a command that fixes each.
//
// Idea     It starts two small jobs, one whose ranks share memory and one of two virtual nodes, and
//          reads their reports. The other checks concern limits and files of this process.
// Holds    Status 1 if a job cannot run here. A problem that only slows jobs down, or concerns only
//          some networks, is a note.
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/environment.hpp"
#include "collectives/collective_traits.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {

namespace {

struct DoctorArguments {
    bool json = false;
};

constexpr const char* kOk = "ok";
constexpr const char* kNote = "note";  ///< slower, or missing for some networks
constexpr const char* kBad = "bad";    ///< jobs do not run

/// Returns the `weft info --json` of a job of two ranks with these options of `weft run`.
base::Result<Json> try_job(const Words& options) {
    Words words{"-n", "2", "--timeout", "30"};
    append(words, options);
    return json_of(words_of_job(words, {"info", "--json"}), 60);
}

class Doctor {
  public:
    Json examine() {
        check_proc();
        check_processors();
        check_limits();
        check_shared_memory();
        check_node(try_job({}));
        check_network(try_job({"--nodes", "2"}));
        check_launchers();
        check_settings();
        return std::move(checks_);
    }

  private:
    /// state: kOk, kNote or kBad; fix: a command or advice, or empty.
    void add(const char* state, const std::string& what, const std::string& found,
             const std::string& fix = {}) {
        checks_.push_back({{"state", state}, {"what", what}, {"found", found}, {"mend", fix}});
    }

    void add_unless(bool ok, const char* state, const std::string& what, const std::string& found,
                    const std::string& fix) {
        add(ok ? kOk : state, what, found, ok ? "" : fix);
    }

    void check_proc() {
        if (!std::filesystem::exists("/proc/self/status"))
            add(kBad, "/proc", "is not mounted", "mount -t proc proc /proc");
        else if (!std::filesystem::exists("/proc/self/task"))
            add(kBad, "/proc", "does not list the threads of a process",
                "mount -o remount,hidepid=0 /proc");
        else
            add(kOk, "/proc", "is mounted");
        if (::access("/dev/urandom", R_OK) != 0 || ::access("/dev/null", W_OK) != 0)
            add(kBad, "/dev", "has no usable urandom or null",
                "mount --bind /dev ROOT/dev, outside of the chroot ROOT");
    }

    void check_processors() {
        const int usable = usable_processors();
        const auto all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
        const std::string count = fmt::format("{} of {} usable here", usable, all);
        add_unless(
            usable >= all, kNote, "processors", count,
            fmt::format("taskset -c 0-{} weft run ... (if the limit is not intended)", all - 1));
        double load = 0;
        if (::getloadavg(&load, 1) != 1) return;
        const bool idle = load <= 0.5 * all;  // half of the processors are free
        add_unless(idle, kNote, "load",
                   fmt::format("{:.1f} on {} processors{}", load, all,
                               idle ? "" : ": times will be too high"),
                   "top (shows the busy processes)");
    }

    static constexpr rlim_t kFilesOfRank = 2;  ///< see files_of_ranks() in job_environment.cpp

    void check_limits() {
        rlimit limit = {};
        if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            const rlim_t ranks = limit.rlim_max / kFilesOfRank;
            const auto text =
                limit.rlim_max == RLIM_INFINITY
                    ? std::string("no limit")
                    : fmt::format("{}, enough for about {} ranks", limit.rlim_max, ranks);
            add_unless(limit.rlim_max >= 1024, kNote, "open files", text, "ulimit -n 4096");
        }
        if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            add(kNote, "address space",
                fmt::format("limited to {} MiB; a rank maps 450 MiB for each rank of its node",
                            limit.rlim_cur >> 20),
                "ulimit -v unlimited");
        if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
        const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
        add_unless(unlimited, kNote, "locked memory",
                   unlimited ? "no limit"
                             : fmt::format("{} KiB: networks that pin memory need more",
                                           limit.rlim_cur >> 10),
                   "ulimit -l unlimited (or memlock in /etc/security/limits.conf)");
    }

    void check_shared_memory() {
        struct statvfs file_system = {};
        if (::statvfs("/dev/shm", &file_system) != 0)
            return add(kNote, "/dev/shm", "is missing: some networks and MPI libraries need it",
                       "mount -t tmpfs tmpfs /dev/shm");
        const auto free_mib =
            static_cast<std::uint64_t>(file_system.f_bavail) * file_system.f_frsize >> 20;
        add_unless(free_mib >= 64, kNote, "/dev/shm", fmt::format("{} MiB free", free_mib),
                   "mount -o remount,size=1G /dev/shm");
    }

    void check_node(const base::Result<Json>& info) {
        if (!info)
            return add(kBad, "a job of 2 ranks", info.failure().text, "weft run -n 2 weft info");
        add(kOk, "a job of 2 ranks", "runs");
        const Json& mapping = info->at("mapping");
        const std::string problem = json_text(mapping["direct_problem"]);
        add_unless(
            problem.empty(), kNote, "buffers of local peers",
            problem.empty() ? "are accessed in place" : "are not accessed in place: " + problem,
            "see docs/direct-memory.md");
        if (const std::string off = json_text(mapping["adoption_off"]); !off.empty())
            add(kNote, "pages of buffers", "are not shared, but copied: " + off,
                "see docs/direct-memory.md");
    }

    void check_network(const base::Result<Json>& info) {
        if (!info)
            return add(kBad, "a job of 2 nodes", info.failure().text,
                       "apt-get install libfabric-bin; fi_info");
        add(kOk, "a job of 2 nodes", fmt::format("runs, over {}", json_text(info->at("provider"))));
        for (const Json& provider : info->value("providers", Json::array())) {
            const std::string reason = json_text(provider["reason"]);
            const bool usable = provider["chosen"] == true || reason.starts_with("usable");
            add(usable ? kOk : kNote, fmt::format("provider {}", json_text(provider["provider"])),
                reason);
        }
    }

    void check_launchers() {
        Words found;
        for (const char* const name :
             {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "prterun", "srun", "mpicc"})
            if (const auto path = find_program(name)) found.push_back(*path);
        add_unless(!found.empty(), kNote, "MPI and other launchers",
                   found.empty() ? "none in PATH (weft run needs none)"
                                 : fmt::format("{}", fmt::join(found, ", ")),
                   "apt-get install openmpi-bin libopenmpi-dev");
    }

    void check_settings() {
        const auto settings = base::read_settings(environ, collectives::kCollectiveNames);
        if (!settings)
            return add(kBad, "settings", settings.failure().text,
                       "unset it, or: weft info --environment");
        const auto unknown = base::report_unknown(*settings);
        for (const std::string& report : unknown)
            add(kNote, "settings", report, "weft info --environment");
        if (unknown.empty()) add(kOk, "settings", "all WEFT_* variables are known");
    }

    Json checks_ = Json::array();
};

int doctor(const DoctorArguments& arguments) {
    const Json checks = Doctor().examine();
    const bool jobs_run =
        std::ranges::none_of(checks, [](const Json& check) { return check["state"] == kBad; });
    if (arguments.json) {
        print_json({{"jobs_run", jobs_run}, {"checks", checks}});
        return jobs_run ? 0 : kAnswerIsNo;
    }
    for (const Json& check : checks) {
        fmt::print("{:<5} {:<24} {}\n", json_text(check["state"]), json_text(check["what"]),
                   json_text(check["found"]));
        if (check["mend"] != "")
            fmt::print("{:<5} {:<24} -> {}\n", "", "", json_text(check["mend"]));
    }
    fmt::print("{}\n", jobs_run ? "jobs run here" : "jobs do not run here");
    return jobs_run ? 0 : kAnswerIsNo;
}

}  // namespace

void add_doctor_command(CLI::App& app) {
    const auto [command, arguments] = add_command<DoctorArguments>(
        app, "doctor", "find problems that prevent jobs here or make them slow", &doctor);
    add_json_flag(*command, arguments->json);
    set_footer(
        *command,
        "Starts two small jobs, and checks limits, shared memory, processors, load, networks and\n"
        "launchers. A line begins with ok, note (slower, or missing for some networks) or bad\n"
        "(jobs do not run). The next line shows how to fix the problem. Status 1 if a line is "
        "bad.");
}

}  // namespace weft::tools
