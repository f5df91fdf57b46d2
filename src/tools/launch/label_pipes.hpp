// SPDX-License-Identifier: BSD-3-Clause
// label_pipes.hpp - reads the output of ranks from pipes and prefixes each line with "[rank] ".
//
// Holds    Lines of different ranks never mix. Text without a line end is passed on when its pipe
//          closes or when it reaches a limit. The launcher reads only while the writer has room, so
//          a slow reader slows down only the ranks that print.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "tools/launch/output_writer.hpp"

namespace weft::tools {

class LabelPipe {
  public:
    /// Makes a pipe whose lines go to `target`, prefixed with the rank. `pipe_end` receives
    /// the write end.
    [[nodiscard]] static base::Result<LabelPipe> create(Rank rank,
                                                        std::shared_ptr<OutputWriter> target,
                                                        base::FileDescriptor& pipe_end);

    /// Passes on the text that has arrived, if there is room. Returns false after the end of the
    /// text, and closes the pipe.
    bool pass_on();
    /// Returns true if pass_on() could write.
    [[nodiscard]] bool has_room() const { return target_->has_room(); }

    /// Returns the read end; negative after closing.
    [[nodiscard]] int reader() const { return reader_.number(); }

  private:
    LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target, base::FileDescriptor reader);
    void write_lines(bool closing);

    std::string label_;
    std::shared_ptr<OutputWriter> target_;
    base::FileDescriptor reader_;
    std::string pending_;  ///< text without a line end so far
};

}  // namespace weft::tools
