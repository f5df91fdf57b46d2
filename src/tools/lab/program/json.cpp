// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/program/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace weft::lab {

namespace {

using Foreign = nlohmann::ordered_json;

Foreign to_foreign(const Json& value) {
    switch (value.kind()) {
        case Json::Kind::boolean:
            return value.get<bool>();
        case Json::Kind::integer:
            return value.get<std::int64_t>();
        case Json::Kind::natural:
            return value.get<std::uint64_t>();
        case Json::Kind::number:
            return value.get<double>();
        case Json::Kind::string:
            return value.get<std::string>();
        case Json::Kind::array: {
            Foreign array = Foreign::array();
            for (const Json& part : value) array.push_back(to_foreign(part));
            return array;
        }
        case Json::Kind::object: {
            Foreign object = Foreign::object();
            for (const auto& [name, part] : value.items()) object[name] = to_foreign(part);
            return object;
        }
        default:
            return nullptr;
    }
}

Json to_own(const Foreign& value) {
    switch (value.type()) {
        case Foreign::value_t::boolean:
            return value.get<bool>();
        case Foreign::value_t::number_integer:
            return value.get<std::int64_t>();
        case Foreign::value_t::number_unsigned:
            return value.get<std::uint64_t>();
        case Foreign::value_t::number_float:
            return value.get<double>();
        case Foreign::value_t::string:
            return value.get<std::string>();
        case Foreign::value_t::array: {
            Json array = Json::array();
            for (const Foreign& part : value) array.push_back(to_own(part));
            return array;
        }
        case Foreign::value_t::object: {
            Json object = Json::object();
            for (const auto& [name, part] : value.items()) object[name] = to_own(part);
            return object;
        }
        case Foreign::value_t::discarded:
            return Json::discarded();
        default:
            return nullptr;
    }
}

[[noreturn]] void throw_kind(const Json& value, const char* wanted) {
    throw std::runtime_error(fmt::format("JSON: {} is no {}", value.dump(), wanted));
}

bool names_a_member(const Json& part) {
    return part.is_array() && part.size() == 2 && part[0].is_string();
}

}  // namespace

Json::Json(std::initializer_list<Json> parts) : kind_(Kind::array), parts_(parts) {
    if (!std::ranges::all_of(parts_, names_a_member)) return;
    kind_ = Kind::object;
    for (Json& part : parts_) {
        names_.push_back(std::move(part.parts_[0].text_));
        part = Json(std::move(part.parts_[1]));
    }
}

void Json::push_back(Json value) {
    if (is_null()) kind_ = Kind::array;
    if (!is_array()) throw_kind(*this, "array");
    parts_.push_back(std::move(value));
}

const Json* Json::find(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? nullptr
                                 : &parts_[static_cast<std::size_t>(found - names_.begin())];
}

Json& Json::operator[](std::string_view name) {
    if (is_null()) kind_ = Kind::object;
    if (!is_object()) throw_kind(*this, "object");
    if (const Json* const found = find(name)) return const_cast<Json&>(*found);
    names_.emplace_back(name);
    return parts_.emplace_back();
}

const Json& Json::operator[](std::string_view name) const {
    static const Json kNull;
    const Json* const found = find(name);
    return found == nullptr ? kNull : *found;
}

const Json& Json::at(std::string_view name) const {
    const Json* const found = find(name);
    if (found == nullptr) throw std::out_of_range(fmt::format("JSON: no member \"{}\"", name));
    return *found;
}

void Json::erase(std::string_view name) {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return;
    parts_.erase(parts_.begin() + (found - names_.begin()));
    names_.erase(found);
}

void Json::update(const Json& other) {
    for (std::size_t i = 0; i < other.names_.size(); ++i)
        (*this)[other.names_[i]] = other.parts_[i];
}

std::vector<std::pair<const std::string&, const Json&>> Json::items() const {
    std::vector<std::pair<const std::string&, const Json&>> items;
    for (std::size_t i = 0; i < names_.size(); ++i) items.emplace_back(names_[i], parts_[i]);
    return items;
}

const std::string& Json::text() const {
    if (!is_string()) throw_kind(*this, "string");
    return text_;
}
bool Json::truth() const {
    if (!is_boolean()) throw_kind(*this, "truth value");
    return natural_ != 0;
}
double Json::number() const {
    if (kind_ != Kind::number) throw_kind(*this, "number");
    return number_;
}

std::string Json::dump(int indent) const {
    return to_foreign(*this).dump(indent);
}

bool operator==(const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) {
        if (a.kind_ != b.kind_) return a.get<double>() == b.get<double>();
        return a.kind_ == Json::Kind::number ? a.number_ == b.number_ : a.natural_ == b.natural_;
    }
    return a.kind_ == b.kind_ && a.text_ == b.text_ && a.names_ == b.names_ &&
           a.parts_ == b.parts_ && (!a.is_boolean() || a.natural_ == b.natural_);
}

std::partial_ordering operator<=>(const Json& a, const Json& b) {
    if (!a.is_number() || !b.is_number()) return std::partial_ordering::unordered;
    return a.get<double>() <=> b.get<double>();
}

std::ostream& operator<<(std::ostream& out, const Json& value) {
    return out << value.dump();
}

void PrintTo(const Json& value, std::ostream* out) {
    *out << value.dump();
}

std::string json_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_json(const Json& value) {
    fmt::print("{}\n", value.dump());
    std::fflush(stdout);
}

Json read_json(const std::string& text) {
    return to_own(Foreign::parse(text, nullptr, /*allow_exceptions=*/false));
}

}  // namespace weft::lab
