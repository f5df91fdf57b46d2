// SPDX-License-Identifier: BSD-3-Clause
// tuning_file.hpp - the file of `weft tune`: what was measured, and the choices made of it.
//
// Idea     `points` has a member for each case and size that was measured; the choices, which jobs
//          read, are made of all points whenever one is added. So a file grows by runs for other
//          collectives, sizes, ranks and layouts, and a run that was ended goes on.
// Holds    A file is replaced as a whole, so who reads it never sees half of one.
// Next     plan/select/tuning.hpp for ranges; run/runtime/measured_files.hpp for who reads them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "front/cli/command.hpp"
#include "plan/select/tuning.hpp"

namespace weft::front {

class TuningFile {
  public:
    /// Reads the file if there is one.
    [[nodiscard]] static base::Result<TuningFile> open(const std::string& path);

    /// What it says of such a point; null if nothing.
    [[nodiscard]] const Json* find(const plan::TunedCase& of, std::uint64_t bytes) const;
    /// Adds a point in place of an older one of the same case and size, and writes the file.
    /// details: what else people may want to know of it.
    base::Result<void> add(const plan::TunedPoint& point, Json details);
    [[nodiscard]] const Json& json() const { return object_; }

  private:
    TuningFile(std::string path, Json object)
        : path_(std::move(path)), object_(std::move(object)) {}

    std::string path_;
    Json object_;
};

/// Of this machine, for people who read files of measurements.
[[nodiscard]] std::string machine_name();

}  // namespace weft::front
