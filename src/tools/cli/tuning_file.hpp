// SPDX-License-Identifier: BSD-3-Clause
// tuning_file.hpp - the file of `weft tune`: measurements, and choices derived from them.
//
// Idea     `points` has a member for each measured case and size. The choices, which jobs read, are
//          derived from all points whenever one is added. So runs for other collectives, sizes,
//          ranks and layouts extend a file, and an interrupted run can be continued.
// Holds    A file is replaced as a whole, so a reader never sees part of one.
// Next     plan/select/tuning.hpp for ranges; run/job/measured_files.hpp for its use in jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"
#include "plan/select/tuning.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

class TuningFile {
  public:
    /// Opens a file; it need not exist.
    [[nodiscard]] static base::Result<TuningFile> open(const std::string& path);

    /// Returns the point of this case and size; nullptr if it is missing.
    [[nodiscard]] const Json* find(const plan::TunedCase& of, std::uint64_t bytes) const;
    /// Adds a point, or replaces the point of the same case and size, and writes the file. details:
    /// further information for people.
    base::Result<void> add(const plan::TunedPoint& point, Json details);
    [[nodiscard]] const Json& json() const { return object_; }

  private:
    TuningFile(std::string path, Json object)
        : path_(std::move(path)), object_(std::move(object)) {}

    std::string path_;
    Json object_;
};

}  // namespace weft::tools
