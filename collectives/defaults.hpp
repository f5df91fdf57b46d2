// SPDX-License-Identifier: BSD-3-Clause
// defaults.hpp - the algorithm that a call uses if nobody forces one.
//
// Idea     A few rules from measurements, the same on all ranks because they see only what all ranks
//          know alike. Ranked choice by model replaces them where a model of the wire exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::collectives {

/// What all ranks know alike about a call.
struct DefaultRequest {
    Rank size = 1;
    int nodes = 1;
    std::uint64_t bytes = 0;
    bool crowded = false;  ///< more ranks than processors on a host
};

[[nodiscard]] base::Result<std::string> default_spec(std::string_view collective,
                                                     const DefaultRequest& request);

}  // namespace weft::collectives
