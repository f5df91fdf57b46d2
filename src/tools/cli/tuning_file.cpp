// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/tuning_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/read_file.hpp"
#include "run/job/measured_files.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/machine_facts.hpp"

namespace weft::tools {

namespace {

Json to_json(const plan::TunedCase& of) {
    return {{"collective", of.collective},
            {"layout", of.layout},
            {"provider", of.provider},
            {"same_bits", of.same_bits}};
}

bool is_of(const Json& point, const plan::TunedCase& of, std::uint64_t bytes) {
    return point.value("collective", "") == of.collective &&
           point.value("layout", "") == of.layout && point.value("provider", "") == of.provider &&
           point.value("same_bits", false) == of.same_bits &&
           point.value("bytes", std::uint64_t{0}) == bytes;
}

plan::TunedPoint point_of(const Json& point) {
    return {.of = {.collective = point.value("collective", ""),
                   .layout = point.value("layout", ""),
                   .provider = point.value("provider", ""),
                   .same_bits = point.value("same_bits", false)},
            .bytes = point.value("bytes", std::uint64_t{0}),
            .algorithm = point.value("algorithm", ""),
            .median_us = point.value("median_us", 0.0)};
}

Json choices_of(const Json& points) {
    std::vector<plan::TunedPoint> measured;
    for (const Json& point : points) measured.push_back(point_of(point));
    Json choices = Json::array();
    for (const plan::TunedChoice& choice : plan::choices_of(measured)) {
        Json object = to_json(choice.of);
        object["from_bytes"] = choice.from_bytes;
        object["to_bytes"] = choice.to_bytes;
        object["algorithm"] = choice.algorithm;
        object["median_us"] = choice.median_us;
        choices.push_back(std::move(object));
    }
    return choices;
}

/// Checks the list of tried algorithms with their times in each job.
bool is_tried(const Json& tried) {
    return tried.is_array() && std::ranges::all_of(tried, [](const Json& one) {
               if (!one.is_object() || !one.contains("algorithm") || !one["algorithm"].is_string())
                   return false;
               if (!one.contains("jobs_us")) return true;
               return one["jobs_us"].is_array() &&
                      std::ranges::all_of(one["jobs_us"],
                                          [](const Json& time) { return time.is_number(); });
           });
}

/// Checks the types of all members that are read.
bool is_tuning(const Json& object) {
    if (!object.is_object() || !object.contains("points") || !object["points"].is_array())
        return false;
    for (const Json& point : object["points"]) {
        if (!point.is_object()) return false;
        for (const char* text : {"collective", "layout", "provider", "algorithm"})
            if (!point.contains(text) || !point[text].is_string()) return false;
        if (!point.contains("bytes") || !point["bytes"].is_number_unsigned()) return false;
        if (!point.contains("median_us") || !point["median_us"].is_number()) return false;
        if (point.contains("same_bits") && !point["same_bits"].is_boolean()) return false;
        if (point.contains("jobs") && !point["jobs"].is_number_unsigned()) return false;
        if (point.contains("tried") && !is_tried(point["tried"])) return false;
    }
    return object.contains("schema") && object["schema"] == run::kTuningSchema;
}

}  // namespace

base::Result<TuningFile> TuningFile::open(const std::string& path) {
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown))
        return TuningFile(path, {{"schema", run::kTuningSchema},
                                 {"machine", machine_name()},
                                 {"choices", Json::array()},
                                 {"points", Json::array()}});
    const auto text = base::read_file(path, run::kMeasuredBytesMax);
    if (!text) return text.failure().within("--output");
    Json object = lab::read_json(*text);
    if (object.is_discarded() || !is_tuning(object))
        return base::fail(
            Status::argument,
            "--output {}: is there, but is no JSON object of the schema {} with points", path,
            run::kTuningSchema);
    return TuningFile(path, std::move(object));
}

const Json* TuningFile::find(const plan::TunedCase& of, std::uint64_t bytes) const {
    for (const Json& point : object_["points"])
        if (is_of(point, of, bytes)) return &point;
    return nullptr;
}

base::Result<void> TuningFile::add(const plan::TunedPoint& point, Json details) {
    Json object = to_json(point.of);
    object["bytes"] = point.bytes;
    object["algorithm"] = point.algorithm;
    object["median_us"] = point.median_us;
    for (const auto& [key, value] : details.items()) object[key] = value;
    Json kept = Json::array();
    for (Json& old : object_["points"])
        if (!is_of(old, point.of, point.bytes)) kept.push_back(std::move(old));
    kept.push_back(std::move(object));
    object_["machine"] = machine_name();
    object_["choices"] = choices_of(kept);
    object_["points"] = std::move(kept);
    const std::string next = path_ + ".part";
    if (auto written = write_file("--output", next, object_.dump(1) + "\n"); !written)
        return written;
    if (std::rename(next.c_str(), path_.c_str()) != 0)
        return base::fail(Status::environment, "--output: cannot write {}", path_);
    return {};
}

}  // namespace weft::tools
