// SPDX-License-Identifier: BSD-3-Clause
// Goal: the decisions about offers that libfabric made on machines with the network are right.
// Method: each file of dumps/ is the text of an fi_info (fi_tostr(3), `fi_info -v`), after lines
// that name its source and the expected decisions. The text is converted to an fi_info. With
// WEFT_TESTS_WRITE=1 the test writes the offers of the available providers to dumps/.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "link/fabric/discover.hpp"
#include "link/fabric/notify.hpp"
#include "tests/system/providers/fabric_job.hpp"
#include "tests/system/providers/recorded_offer.hpp"

namespace weft::test {
namespace {

using Fields = std::map<std::string, std::string>;  ///< "section key": value

struct Dump {
    std::string file;
    Fields head;  ///< lines "# key: value" before the text
    Fields fields;
};

Dump read_dump(std::istream& text, const std::string& file) {
    Dump dump{file, {}, {}};
    std::string section;
    for (std::string line; std::getline(text, line);) {
        const std::size_t start = line.find_first_not_of(' ');
        const std::size_t colon = line.find(':');
        if (start == std::string::npos || colon == std::string::npos) continue;
        const bool head = line.starts_with("# ");
        const std::size_t name = head ? 2 : start;
        const std::string key = line.substr(name, colon - name);
        const std::string value = colon + 2 < line.size() ? line.substr(colon + 2) : std::string{};
        if (head)
            dump.head[key] = value;
        else if (value.empty())
            section = key;
        else
            dump.fields.emplace(section + " " + key, value);
    }
    return dump;
}

std::vector<Dump> dumps() {
    std::vector<Dump> all;
    for (const auto& entry : std::filesystem::directory_iterator(DUMPS_FOLDER)) {
        std::ifstream text(entry.path());
        all.push_back(read_dump(text, entry.path().stem().string()));
    }
    std::ranges::sort(all, {}, &Dump::file);
    return all;
}

// --- Conversion to an fi_info --------------------------------------------------------------------

struct NamedFlag {
    const char* name;
    std::uint64_t bit;
};
constexpr NamedFlag kCaps[] = {
    {"FI_RMA", FI_RMA}, {"FI_MSG", FI_MSG}, {"FI_FENCE", FI_FENCE}, {"FI_RMA_EVENT", FI_RMA_EVENT}};
constexpr NamedFlag kModes[] = {{"FI_CONTEXT", FI_CONTEXT},
                                {"FI_CONTEXT2", FI_CONTEXT2},
                                {"FI_MSG_PREFIX", FI_MSG_PREFIX},
                                {"FI_RX_CQ_DATA", FI_RX_CQ_DATA}};
constexpr NamedFlag kMrModes[] = {
    {"FI_MR_LOCAL", FI_MR_LOCAL},         {"FI_MR_VIRT_ADDR", FI_MR_VIRT_ADDR},
    {"FI_MR_ALLOCATED", FI_MR_ALLOCATED}, {"FI_MR_PROV_KEY", FI_MR_PROV_KEY},
    {"FI_MR_ENDPOINT", FI_MR_ENDPOINT},   {"FI_MR_HMEM", FI_MR_HMEM}};
constexpr NamedFlag kOrders[] = {{"FI_ORDER_WAW", FI_ORDER_WAW},
                                 {"FI_ORDER_RMA_WAW", FI_ORDER_RMA_WAW}};
constexpr NamedFlag kOperations[] = {{"FI_DELIVERY_COMPLETE", FI_DELIVERY_COMPLETE}};
constexpr NamedFlag kAddresses[] = {{"FI_SOCKADDR_IN", FI_SOCKADDR_IN},
                                    {"FI_SOCKADDR_IN6", FI_SOCKADDR_IN6},
                                    {"FI_SOCKADDR", FI_SOCKADDR}};
constexpr NamedFlag kEndpoints[] = {{"FI_EP_RDM", FI_EP_RDM}, {"FI_EP_DGRAM", FI_EP_DGRAM}};

/// Returns the known flags of "[ FI_A, FI_B ]". With `all`, an unknown flag is an error.
template <std::size_t N>
std::uint64_t flags_of(const Dump& dump, const std::string& field, const NamedFlag (&table)[N],
                       bool all = false) {
    const auto found = dump.fields.find(field);
    if (found == dump.fields.end()) ADD_FAILURE() << dump.file << " has no " << field;
    std::uint64_t flags = 0;
    std::string words = found == dump.fields.end() ? "" : found->second;
    std::ranges::replace_if(
        words, [](char c) { return c == '[' || c == ']' || c == ','; }, ' ');
    std::istringstream list(words);
    for (std::string word; list >> word;) {
        const auto* known =
            std::ranges::find_if(table, [&](const NamedFlag& flag) { return word == flag.name; });
        if (known != std::end(table)) flags |= known->bit;
        EXPECT_FALSE(all && known == std::end(table)) << dump.file << ": " << field << " " << word;
    }
    return flags;
}
std::size_t number_of(const Dump& dump, const std::string& field) {
    const auto found = dump.fields.find(field);
    if (found == dump.fields.end()) ADD_FAILURE() << dump.file << " has no " << field;
    return found == dump.fields.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

void restore(const Dump& dump, RecordedOffer& offer) {
    offer.name(dump.fields.at("fi_fabric_attr prov_name").c_str());
    offer.info.caps = flags_of(dump, "fi_info caps", kCaps);
    offer.info.mode = flags_of(dump, "fi_info mode", kModes, true);
    offer.info.addr_format =
        static_cast<std::uint32_t>(flags_of(dump, "fi_info addr_format", kAddresses));
    offer.tx.msg_order = flags_of(dump, "fi_tx_attr msg_order", kOrders);
    offer.tx.op_flags = flags_of(dump, "fi_tx_attr op_flags", kOperations);
    offer.tx.inject_size = number_of(dump, "fi_tx_attr inject_size");
    offer.tx.iov_limit = number_of(dump, "fi_tx_attr iov_limit");
    offer.tx.rma_iov_limit = number_of(dump, "fi_tx_attr rma_iov_limit");
    offer.endpoint.type =
        static_cast<fi_ep_type>(flags_of(dump, "fi_ep_attr type", kEndpoints, true));
    offer.endpoint.max_msg_size = number_of(dump, "fi_ep_attr max_msg_size");
    offer.endpoint.max_order_waw_size = number_of(dump, "fi_ep_attr max_order_waw_size");
    offer.domain_attributes.mr_mode =
        static_cast<int>(flags_of(dump, "fi_domain_attr mr_mode", kMrModes, true));
    offer.domain_attributes.mr_key_size = number_of(dump, "fi_domain_attr mr_key_size");
    offer.domain_attributes.cq_data_size = number_of(dump, "fi_domain_attr cq_data_size");
}

// --- Decisions -----------------------------------------------------------------------------------

/// Returns the decisions about an offer, as fields of the head.
Fields decisions(const RecordedOffer& offer) {
    const auto grant = link::accept_offer(offer.info);
    if (!grant) return {{"plan", grant.failure().text}, {"promised", ""}};
    const link::Profile& profile = link::profile_of(offer.provider);
    const auto chosen = link::choose_notify(profile, *grant, std::nullopt);
    std::string promised;
    for (const link::Notify notify : link::kNotifies)
        if (link::choose_notify(profile, *grant, notify))
            promised += (promised.empty() ? "" : " ") + std::string(link::name_of(notify));
    return {{"plan", chosen ? link::to_text(*chosen) : chosen.failure().text},
            {"promised", promised}};
}

/// Removes the modes that weft cannot handle, as libfabric does for weft's hints.
void apply_hints(RecordedOffer& offer) {
    offer.info.mode &= link::handled_modes().modes;
    offer.domain_attributes.mr_mode &= link::handled_modes().mr_modes;
}

TEST(Dumps, DecisionsEqualThoseInTheHeadsOfTheDumps) {
    const std::vector<Dump> all = dumps();
    EXPECT_GE(all.size(), 6U);
    for (const Dump& dump : all) {
        SCOPED_TRACE(dump.file);
        RecordedOffer offer;
        restore(dump, offer);
        if (dump.head.contains("refused")) {
            const std::string refusal = offer.refusal();
            EXPECT_NE(refusal.find(dump.head.at("refused")), std::string::npos) << refusal;
            apply_hints(offer);
        }
        for (const auto& [key, value] : decisions(offer))
            EXPECT_EQ(dump.head.at(key), value) << key;
        EXPECT_FALSE(dump.head.at("source").empty());
    }
}

/// Profiles agree with dumps in all attributes of a dump. A device may have larger limits (inject,
/// message size) than its profile.
TEST(Dumps, DumpsAgreeWithTheirProfiles) {
    for (const Dump& dump : dumps()) {
        SCOPED_TRACE(dump.file);
        RecordedOffer offer;
        restore(dump, offer);
        apply_hints(offer);
        const auto grant = link::accept_offer(offer.info);
        ASSERT_TRUE(grant) << grant.failure().text;
        const link::Grant& declared = link::profile_of(offer.provider).declared;
        EXPECT_EQ(grant->virtual_addresses, declared.virtual_addresses);
        EXPECT_EQ(grant->provider_keys, declared.provider_keys);
        EXPECT_EQ(grant->local_registration, declared.local_registration);
        EXPECT_EQ(grant->endpoint_registration, declared.endpoint_registration);
        EXPECT_EQ(grant->internet_address, declared.internet_address);
        EXPECT_EQ(grant->key_bytes, declared.key_bytes);
        EXPECT_EQ(grant->immediate_bytes, declared.immediate_bytes);
        EXPECT_GE(grant->inject_bytes, declared.inject_bytes);
        EXPECT_GE(grant->message_bytes_max, declared.message_bytes_max);
        EXPECT_EQ(grant->ordered_bytes != 0, declared.ordered_bytes != 0);
    }
}

// --- This machine --------------------------------------------------------------------------------

std::string version_here() {
    return fmt::format("{}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
}

/// Returns the offer that a job would accept on this machine, as libfabric prints it.
std::string dump_of(const std::string& provider) {
    auto found = link::discover(local_options(provider));
    if (!found || found->info->fabric_attr->prov_name != provider) return {};
    if (found->grant.delivery) found->info->tx_attr->op_flags |= FI_DELIVERY_COMPLETE;
    const char* text = fi_tostr(found->info.get(), FI_TYPE_INFO);
    return text == nullptr ? std::string{} : text;
}

/// Returns a dump without addresses and devices, which differ between machines.
std::string without_addresses(const std::string& dump) {
    std::istringstream lines(dump);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("nic:") != std::string::npos) break;
        const bool of_this_machine = line.find("_addr: ") != std::string::npos ||
                                     line.find(" name: ") != std::string::npos ||
                                     line.find("0x0") != std::string::npos;
        if (!of_this_machine) kept += line + "\n";
    }
    return kept;
}

void write_dump(const std::string& provider, const std::string& text) {
    std::istringstream stream(text);
    RecordedOffer offer;
    restore(read_dump(stream, provider), offer);
    std::ofstream file(
        fmt::format("{}/{}-{}.txt", DUMPS_FOLDER, provider_as_name(provider), version_here()));
    file << fmt::format("# source: libfabric {} under weft's hints\n", version_here());
    for (const auto& [key, value] : decisions(offer)) file << fmt::format("# {}: {}\n", key, value);
    file << without_addresses(text);
}

TEST(Dumps, DumpsOfThisLibfabricEqualItsAnswers) {
    const char* write = std::getenv("WEFT_TESTS_WRITE");
    const bool writes = write != nullptr && std::string_view(write) == "1";
    for (const std::string& provider : known_providers()) {
        const std::string wrong = in_child([&]() -> std::string {
            const std::string text = dump_of(provider);
            if (text.empty()) return {};
            if (writes) write_dump(provider, text);
            std::istringstream stream(text);
            const Dump now = read_dump(stream, provider);
            const std::string name = provider_as_name(provider) + "-" + version_here();
            for (const Dump& dump : dumps()) {
                if (dump.file != name) continue;
                RecordedOffer dumped_offer;
                RecordedOffer current_offer;
                restore(dump, dumped_offer);
                restore(now, current_offer);
                return decisions(dumped_offer) == decisions(current_offer)
                           ? ""
                           : without_addresses(text);
            }
            return {};
        });
        EXPECT_EQ(wrong, "") << provider;
    }
}

}  // namespace
}  // namespace weft::test
