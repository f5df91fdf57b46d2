// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/scratch_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weft::tools {

base::Result<ScratchFolder> ScratchFolder::create() {
    const char* parent = std::getenv("TMPDIR");
    std::string path = parent != nullptr && *parent != '\0' ? parent : "/tmp";
    path += "/weft-run.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
        return base::fail(Status::environment,
                          "cannot make a folder {} for the files of the job: {}", path,
                          std::strerror(errno));
    }
    return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
    if (path_.empty()) return;
    std::error_code ignored;  // it may already have been removed
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft::tools
