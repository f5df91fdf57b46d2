// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/cpu_quota.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/random.hpp"

namespace weft::run {
namespace {

/// Stores the limit of a group if it is lower than the current one.
void narrow(CpuQuota& quota, const std::string& folder, double time, double period) {
    if (!(time > 0) || !(period > 0)) return;
    const double thousandths = std::clamp(time / period * 1000, 1.0, 4e9);
    if (quota.limited() && thousandths >= quota.thousandths) return;
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0) return;
    quota.thousandths = static_cast<std::uint32_t>(thousandths);
    quota.group = base::mix(status.st_dev) + base::mix(status.st_ino + 1);
}

/// Reads a limit of version 2, such as "max 100000" or "50000 100000", in microseconds.
void look_at_unified(CpuQuota& quota, const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string time;
    double period = 0;
    if (!(file >> time >> period) || time == "max") return;
    narrow(quota, folder, std::strtod(time.c_str(), nullptr), period);
}

/// Reads a limit of version 1; -1 means no limit.
void look_at_separate(CpuQuota& quota, const std::string& folder) {
    double time = 0;
    double period = 0;
    std::ifstream(folder + "/cpu.cfs_quota_us") >> time;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    narrow(quota, folder, time, period);
}

/// Visits the groups from the process's own up to the root. A container may not see its own path;
/// then only the root is found.
template <class Look>
void climb(CpuQuota& quota, const std::string& root, std::string path, Look look) {
    while (true) {
        look(quota, root + path);
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) return;
        path.resize(slash);
    }
}

bool lists(const std::string& controllers, const std::string& wanted) {
    return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

CpuQuota cpu_quota(const std::string& groups_file, const std::string& root) {
    CpuQuota quota;
    std::ifstream file(groups_file);
    for (std::string line; std::getline(file, line);) {  // NUMBER:CONTROLLERS:PATH
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        if (path == "/") path.clear();
        if (controllers.empty()) climb(quota, root, path, look_at_unified);
        if (lists(controllers, "cpu")) {
            climb(quota, root + '/' + controllers, path, look_at_separate);
            if (controllers != "cpu") climb(quota, root + "/cpu", path, look_at_separate);
        }
    }
    return quota;
}

}  // namespace weft::run
