// SPDX-License-Identifier: BSD-3-Clause
// label_pipes.hpp - what ranks print, read through pipes and passed on line by line with "[rank] ".
//
// Holds    Lines of different ranks never mix. Text without a line end is passed on when its pipe
//          closes or when it has grown to a limit. While the writer has no room nothing is read,
//          so a slow reader slows down the ranks that print, and no others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/file_descriptor.hpp"
#include "front/launch/output_writer.hpp"

namespace weft::front {

class LabelPipe {
  public:
    /// A pipe whose lines go to `target` with the rank in front. The end to write to is left in
    /// `pipe_end`.
    [[nodiscard]] static base::Result<LabelPipe> create(Rank rank,
                                                        std::shared_ptr<OutputWriter> target,
                                                        FileDescriptor& pipe_end);

    /// Passes on what has arrived, as far as there is room. False once there will be no more (the
    /// pipe is closed then).
    bool pass_on();
    /// Whether pass_on() would get anywhere.
    [[nodiscard]] bool has_room() const { return target_->has_room(); }

    /// The end to wait on; negative once closed.
    [[nodiscard]] int reader() const { return reader_.number(); }

  private:
    LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target, FileDescriptor reader);
    void write_lines(bool closing);

    std::string label_;
    std::shared_ptr<OutputWriter> target_;
    FileDescriptor reader_;
    std::string pending_;  ///< text that has no line end yet
};

}  // namespace weft::front
