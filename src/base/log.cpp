// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::base {
namespace {

/// Writes a line. Ignores errors, because a program must not fail if its log cannot be written.
void write_to(int file, std::string_view line) {
    const std::string text = fmt::format("{}\n", line);
    [[maybe_unused]] const auto written = ::write(file, text.data(), text.size());
}

/// Opens a regular file that is not a link, or, in /dev, any file (/dev/stderr is a link). /dev/shm
/// is treated as an ordinary folder: all users can write it. For other files, returns no file and
/// sets errno. With O_NONBLOCK, open() of a pipe without a reader fails instead of waiting.
FileDescriptor open_to_append(const std::string& name) {
    const bool is_device = name.starts_with("/dev/") && !name.starts_with("/dev/shm/");
    const int extra_flags = is_device ? O_NOCTTY : O_NOFOLLOW;
    FileDescriptor file(::open(
        name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | extra_flags, 0666));
    struct stat status = {};
    if (!file.open() || ::fstat(file.number(), &status) != 0) return {};
    if (is_device || S_ISREG(status.st_mode)) {
        ::fcntl(file.number(), F_SETFL, O_APPEND);  // clears O_NONBLOCK: writes wait
        return file;
    }
    errno = ENOTSUP;
    return {};
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

void write_line(std::string_view line) {
    write_to(STDERR_FILENO, line);
}

std::string log_file_name(std::string_view pattern, Rank rank, std::string_view host) {
    std::string name;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char code = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        if (code == 'r') {
            name += fmt::to_string(rank);
        } else if (code == 'h') {
            name += host;
        } else {
            name += pattern[at];
        }
        if (code == 'r' || code == 'h' || code == '%') ++at;
    }
    return name;
}

Log::Log(const Settings& settings, Rank rank) : level_(settings.log), rank_(rank) {
    if (settings.log_file.empty() || !wants(LogLevel::info)) return;
    const std::string name = log_file_name(settings.log_file, rank, host_name());
    file_ = open_to_append(name);
    if (!file_.open())
        warn(fmt::format("WEFT_LOG_FILE: cannot open {}: {}; expected a regular file, not a link",
                         name, std::strerror(errno)));
    else
        own_file_ = name != log_file_name(settings.log_file, rank + 1, host_name());
}

void Log::warn(std::string_view text) const {
    const std::string line = fmt::format("weft: {}", text);
    write_line(line);
    if (file_.open()) write_to(file_.number(), line);
}

void Log::info(std::string_view text) const {
    write(fmt::format("weft: info: {}", text));
}

void Log::trace(std::string_view text) const {
    write(fmt::format("weft: trace: rank {}: {}", rank_, text));
}

void Log::write(std::string_view text) const {
    write_to(file_.open() ? file_.number() : STDERR_FILENO, text);
}

}  // namespace weft::base
