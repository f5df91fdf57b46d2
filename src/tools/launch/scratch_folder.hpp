// SPDX-License-Identifier: BSD-3-Clause
// scratch_folder.hpp - a private folder (mode 0700) that its owner removes at its end.
#pragma once

#include <string>

#include "base/result.hpp"

namespace weft::tools {

class ScratchFolder {
  public:
    /// Makes a new folder below $TMPDIR, or /tmp.
    [[nodiscard]] static base::Result<ScratchFolder> create();

    ScratchFolder(ScratchFolder&& other) noexcept;
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder();

    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

}  // namespace weft::tools
