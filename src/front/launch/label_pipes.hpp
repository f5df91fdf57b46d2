// SPDX-License-Identifier: BSD-3-Clause
// label_pipes.hpp - what ranks print, read through pipes and passed on line by line with "[rank] ".
//
// Holds    A line is written with one call, so lines of different ranks never mix. Text without a
//          line end is passed on when its pipe closes or when it has grown to a limit.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/launch/file_descriptor.hpp"

namespace weft::front {

class LabelPipe {
  public:
    /// A pipe whose lines go to `target` with the rank in front. The end to write to is left in
    /// `writer`.
    [[nodiscard]] static base::Result<LabelPipe> create(Rank rank, int target,
                                                        FileDescriptor& writer);

    /// Passes on what has arrived. False once there will be no more (the pipe is closed then).
    bool pass_on();

    /// The end to wait on; negative once closed.
    [[nodiscard]] int reader() const { return reader_.number(); }

  private:
    LabelPipe(Rank rank, int target, FileDescriptor reader);
    bool write_lines(bool closing);

    std::string label_;
    int target_;
    FileDescriptor reader_;
    std::string pending_;  ///< text that has no line end yet
};

}  // namespace weft::front
