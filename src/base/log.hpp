// SPDX-License-Identifier: BSD-3-Clause
// log.hpp - log lines of a runtime (WEFT_LOG, WEFT_LOG_FILE).
//
// Idea     `warn` prints warnings only, `info` adds decisions and their reasons, `trace` adds a
//          line for each call. A log belongs to one runtime, which passes it to its parts, so
//          several runtimes can exist in one process.
// Why      Lines that are equal on all ranks are printed once, by rank 0. If each rank has its own
//          file, each rank writes them, so that each file is complete.
// Holds    A line is one write(), so lines of different ranks do not mix. Warnings always go to
//          stderr, and also to the file if it is open. Repeated calls never check wants().
#pragma once

#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/file_descriptor.hpp"

namespace weft::base {

/// Writes a line to stderr.
void write_line(std::string_view line);
[[nodiscard]] std::string host_name();  ///< "unknown" if the system has none

class Log {
  public:
    /// Opens the log. If the file cannot be opened, this is reported and stderr is used.
    Log(const Settings& settings, Rank rank);

    /// Returns the descriptor of WEFT_LOG_FILE, or -1 if the file is not open.
    [[nodiscard]] int file() const { return file_.number(); }
    /// Returns true if lines of this level are written.
    [[nodiscard]] bool wants(LogLevel level) const { return level_ >= level; }
    /// Returns true if this rank writes an `info` line that several ranks have. `first`: of them.
    [[nodiscard]] bool writes_shared_line(bool first) const {
        return wants(LogLevel::info) && (first || own_file_);
    }
    void warn(std::string_view text) const;
    void info(std::string_view text) const;
    /// Writes a line with this rank's number.
    void trace(std::string_view text) const;

  private:
    void write(std::string_view text) const;

    LogLevel level_;
    Rank rank_;
    FileDescriptor file_;    ///< not open: stderr
    bool own_file_ = false;  ///< no other rank writes to the file
};

/// Returns the name of a rank's file, with %r, %h and %% replaced.
[[nodiscard]] std::string log_file_name(std::string_view pattern, Rank rank, std::string_view host);

}  // namespace weft::base
