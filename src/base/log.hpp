// SPDX-License-Identifier: BSD-3-Clause
// log.hpp - what a runtime reports about itself (WEFT_LOG, WEFT_LOG_FILE).
//
// Idea     Three levels: `warn` prints warnings only, `info` adds what was decided and why, `trace`
//          adds a line per call. A log belongs to one runtime and is handed down, so several
//          runtimes fit in one process.
// Why      What is the same on all ranks is printed once, by rank 0; but where each rank has a file
//          of its own, each file is complete.
// Holds    A line is one write(), so lines of different ranks do not mix. Warnings go to stderr,
//          whatever the file. Users ask wants() where the answer costs nothing: never on the path
//          of a warm call.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.hpp"

namespace weft::base {

/// Writes one line to stderr.
void write_line(std::string_view line);

class Log {
  public:
    /// Settings of the level and of the file, whose name may contain %r (rank) and %h (host). A
    /// file that cannot be opened is reported, and stderr is used.
    Log(const Settings& settings, Rank rank);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// The file that WEFT_LOG_FILE names, if it is open; else -1.
    [[nodiscard]] int file() const { return file_; }
    /// Whether lines of this level are written.
    [[nodiscard]] bool wants(LogLevel level) const { return level_ >= level; }
    /// Whether this rank writes what is the same on the ranks that `first` is the first of.
    [[nodiscard]] bool informs(bool first) const {
        return wants(LogLevel::info) && (first || own_file_);
    }
    void warn(std::string_view text) const;
    void info(std::string_view text) const;
    /// A line about this rank alone.
    void trace(std::string_view text) const;

  private:
    void write(std::string_view text) const;

    LogLevel level_;
    Rank rank_;
    int file_ = -1;          ///< -1: stderr
    bool own_file_ = false;  ///< no other rank writes there
};

/// The name of a rank's file: %r, %h and %% replaced.
[[nodiscard]] std::string log_file_name(std::string_view pattern, Rank rank, std::string_view host);

}  // namespace weft::base
