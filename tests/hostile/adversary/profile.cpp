// SPDX-License-Identifier: BSD-3-Clause
#include "tests/hostile/adversary/profile.hpp"

#include <rdma/fi_domain.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace adversary {
namespace {

using Words = std::vector<std::string>;
using Setter = std::function<void(Profile&, const Words&)>;

const std::map<std::string, std::uint64_t> kCaps{
    {"MSG", FI_MSG}, {"FENCE", FI_FENCE}, {"RMA_EVENT", FI_RMA_EVENT}};
const std::map<std::string, std::uint64_t> kModes{
    {"CONTEXT", FI_CONTEXT}, {"CONTEXT2", FI_CONTEXT2}, {"RX_CQ_DATA", FI_RX_CQ_DATA}};
const std::map<std::string, std::uint64_t> kMrModes{{"LOCAL", FI_MR_LOCAL},
                                                    {"VIRT_ADDR", FI_MR_VIRT_ADDR},
                                                    {"ALLOCATED", FI_MR_ALLOCATED},
                                                    {"PROV_KEY", FI_MR_PROV_KEY},
                                                    {"ENDPOINT", FI_MR_ENDPOINT}};

/// Returns the value of a word.
template <class Value>
Value one_of(const std::map<std::string, Value>& table, const std::string& word) {
    const auto found = table.find(word);
    if (found != table.end()) return found->second;
    std::string names;
    for (const auto& entry : table) names += " " + entry.first;
    throw std::runtime_error("\"" + word + "\" is unknown; expected one of" + names);
}

/// Returns the bits of all words; "none" stands for no bit.
std::uint64_t bits(const std::map<std::string, std::uint64_t>& table, const Words& words) {
    std::uint64_t all = 0;
    for (const std::string& word : words)
        if (word != "none") all |= one_of(table, word);
    return all;
}

/// Returns the only word as a number; "any" stands for the largest one.
std::uint64_t number(const Words& words) {
    if (words.size() != 1) throw std::runtime_error("expected one number");
    if (words[0] == "any") return ~std::uint64_t{0};
    std::size_t end = 0;
    const std::uint64_t value = std::stoull(words[0], &end);
    if (end != words[0].size()) throw std::runtime_error("\"" + words[0] + "\" is not a number");
    return value;
}

/// Returns a setter for a property whose values have names.
template <class Value>
Setter choice(Value Profile::*member, std::map<std::string, Value> table) {
    return [member, table = std::move(table)](Profile& profile, const Words& words) {
        profile.*member = one_of(table, words.at(0));
    };
}
Setter size_of(std::size_t Profile::*member) {
    return [member](Profile& profile, const Words& words) { profile.*member = number(words); };
}

/// Returns the setters of all properties by name.
const std::map<std::string, Setter>& setters() {
    static const std::map<std::string, Setter> kSetters{
        {"name", [](Profile& p, const Words& w) { p.name = w.at(0); }},
        {"caps", [](Profile& p, const Words& w) { p.caps = bits(kCaps, w); }},
        {"mode", [](Profile& p, const Words& w) { p.mode = bits(kModes, w); }},
        {"mr_mode",
         [](Profile& p, const Words& w) { p.mr_mode = static_cast<int>(bits(kMrModes, w)); }},
        {"key_bytes", size_of(&Profile::key_bytes)},
        {"fast_keys_below", [](Profile& p, const Words& w) { p.fast_keys_below = number(w); }},
        {"immediate_bytes", size_of(&Profile::immediate_bytes)},
        {"immediate_writes",
         choice(&Profile::immediate_writes, {{"taken", true}, {"refused", false}})},
        {"inject_bytes", size_of(&Profile::inject_bytes)},
        {"message_bytes", size_of(&Profile::message_bytes)},
        {"registered_bytes", size_of(&Profile::registered_bytes)},
        {"registrations", size_of(&Profile::registrations)},
        {"sources", size_of(&Profile::sources)},
        {"targets", size_of(&Profile::targets)},
        {"transfers", size_of(&Profile::transfers)},
        {"ranks", size_of(&Profile::ranks)},
        {"domains", size_of(&Profile::domains)},
        {"universe", size_of(&Profile::universe)},
        {"more", choice(&Profile::batches, {{"held", true}, {"ignored", false}})},
        {"order",
         choice(&Profile::order,
                {{"none", Order::none}, {"location", Order::location}, {"stream", Order::stream}})},
        {"order_bytes", size_of(&Profile::order_bytes)},
        {"delivery", choice(&Profile::delivery, {{"real", Delivery::real},
                                                 {"early", Delivery::early},
                                                 {"refused", Delivery::refused}})},
        {"fence", choice(&Profile::fence, {{"none", Fence::none},
                                           {"delivery", Fence::delivery},
                                           {"completion", Fence::completion}})},
        {"words", choice(&Profile::whole_words, {{"whole", true}, {"torn", false}})},
        {"delivered_by",
         choice(&Profile::hardware_delivers, {{"hardware", true}, {"target", false}})},
        {"progress", choice(&Profile::auto_progress, {{"auto", true}, {"manual", false}})},
        {"connect", choice(&Profile::connects_late, {{"late", true}, {"at_once", false}})},
    };
    return kSetters;
}

void read_line(Profile& profile, const std::string& line) {
    const std::size_t hash = line.find('#');
    std::istringstream fields(line.substr(0, hash));
    std::string name;
    if (!(fields >> name)) return;  // an empty line or a comment
    const auto source =
        hash == std::string::npos ? std::string::npos : line.find_first_not_of(" \t", hash + 1);
    if (source == std::string::npos) throw std::runtime_error("no source after '#'");
    Words words;
    for (std::string word; fields >> word;) words.push_back(word);
    if (words.empty()) throw std::runtime_error("no value");
    const auto setter = setters().find(name);
    if (setter == setters().end()) throw std::runtime_error("unknown property \"" + name + "\"");
    setter->second(profile, words);
}

}  // namespace

Profile read_profile(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    Profile profile;
    profile.path = path;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        try {
            read_line(profile, line);
        } catch (const std::exception& problem) {
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + problem.what());
        }
    }
    if (profile.name.empty()) throw std::runtime_error(path + ": no line \"name\"");
    return profile;
}

}  // namespace adversary
