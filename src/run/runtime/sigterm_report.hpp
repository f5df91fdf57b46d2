// SPDX-License-Identifier: BSD-3-Clause
// sigterm_report.hpp - what a rank says when it is told to end (SIGTERM).
//
// Idea     A launcher that ends a job sends SIGTERM and waits a little. A handler that is there
//          while the process has a runtime tells where each runtime is: in start-up or in finalize
//          it prints the stage; in a call it asks the engine (turn.hpp), which prints who waits for
//          whom; else the rank is in the application. After that the process dies of the signal.
// Why      A hung or broken job is understood from who waits for whom, and only the ranks know. A
//          launcher may throw away what they print by then (mpirun of Open MPI 5 does), so the
//          lines also go to the file of the log.
// Holds    The handler is installed only over the default action, and taken away with the last
//          runtime. An application that has a handler of its own, or sets one later, keeps it and
//          sees nothing of this. Each line is one write, so lines of ranks never mix. The handler's
//          memory is the one piece of process-wide state in the library.
// Next     docs/decisions/0023-sigterm-report.md.
#pragma once

#include <string_view>

#include "run/execute/turn.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// One runtime, as the handler sees it.
class SigtermReport {
  public:
    /// speaks: whether the signal is answered for this runtime.
    explicit SigtermReport(bool speaks = true);
    ~SigtermReport();
    SigtermReport(const SigtermReport&) = delete;
    SigtermReport& operator=(const SigtermReport&) = delete;

    void set_rank(Rank rank) noexcept;
    /// The lines go to this open file, too. It may be closed after that; < 0: to none.
    void set_file(int file) noexcept;
    /// The runtime waits outside of its engine, for this; the text is a literal. Null: no longer.
    void set_stage(const char* stage) noexcept;
    /// What else is known of the wait in this stage; empty: nothing.
    void set_detail(std::string_view detail) noexcept;
    /// Prints the engine's answer. Returns only if another runtime of this process has still to
    /// answer.
    void answer(std::string_view line);
    /// No more signals are answered for this runtime.
    void retire();

    [[nodiscard]] StatusRequest& status_request() noexcept;

    struct Place;  ///< in the handler's memory

  private:
    Place* place_ = nullptr;  ///< null: it does not speak, or there are too many
    bool retired_ = false;
    StatusRequest unheard_;
};

}  // namespace weft::run
