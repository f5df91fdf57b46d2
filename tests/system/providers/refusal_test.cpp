// SPDX-License-Identifier: BSD-3-Clause
// Goal: unusable offers and settings are refused with a message that names the reason.
// Method: set the attributes of offers, without hardware; a forked rank tests refusals that need
// libfabric.
#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "link/fabric/card.hpp"
#include "link/fabric/discover.hpp"
#include "link/fabric/profile.hpp"
#include "tests/system/providers/provider_test.hpp"
#include "tests/system/providers/recorded_offer.hpp"

namespace weft::test {
namespace {

using Offer = RecordedOffer;

TEST(Offer, APlainOfferIsAcceptedWithoutRequirements) {
    const Offer offer;
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant);
    EXPECT_FALSE(grant->virtual_addresses || grant->provider_keys || grant->local_registration ||
                 grant->endpoint_registration);
    EXPECT_TRUE(grant->internet_address);
    EXPECT_EQ(grant->inject_bytes, 64U);
    EXPECT_EQ(grant->immediate_bytes, 8U);
    EXPECT_EQ(grant->ordered_bytes, 0U);
}

TEST(Offer, RequirementsLikeThoseOfVerbsAreAccepted) {
    Offer offer;
    offer.domain_attributes.mr_mode =
        FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT;
    offer.domain_attributes.cq_data_size = 4;
    offer.info.mode = FI_CONTEXT | FI_CONTEXT2;
    offer.tx.msg_order = FI_ORDER_RMA_WAW;
    offer.endpoint.max_order_waw_size = 4096;
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant);
    EXPECT_TRUE(grant->virtual_addresses && grant->provider_keys && grant->local_registration &&
                grant->endpoint_registration);
    EXPECT_EQ(grant->immediate_bytes, 4U);
    EXPECT_EQ(grant->ordered_bytes, 4096U);
}

TEST(Offer, EachUnhandledRegistrationModeIsNamed) {
    const std::pair<int, const char*> modes[] = {
        {FI_MR_RAW, "FI_MR_RAW"},
        {FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY"},
        {FI_MR_HMEM, "FI_MR_HMEM"},
        {FI_MR_RMA_EVENT, "FI_MR_RMA_EVENT"},
        {FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE"},
        {1 << 0, "FI_MR_BASIC"},  // as numbers: libfabric 2 warns of the old names, or has none
        {1 << 1, "FI_MR_SCALABLE"},
        {1 << 30, "bits 0x40000000"},
    };
    for (const auto& [bit, name] : modes) {
        Offer offer;
        offer.domain_attributes.mr_mode = FI_MR_VIRT_ADDR | bit;
        const std::string refusal = offer.refusal();
        EXPECT_NE(refusal.find(name), std::string::npos) << refusal;
        EXPECT_NE(refusal.find("\"recorded\""), std::string::npos) << refusal;
        EXPECT_EQ(refusal.find("FI_MR_VIRT_ADDR"), std::string::npos) << refusal;
    }
}

TEST(Offer, EachUnhandledModeIsNamed) {
    const std::pair<std::uint64_t, const char*> modes[] = {
        {FI_MSG_PREFIX, "FI_MSG_PREFIX"},
        {FI_ASYNC_IOV, "FI_ASYNC_IOV"},
        {1ULL << 55, "FI_LOCAL_MR"},
        {1ULL << 51, "FI_BUFFERED_RECV"},
    };
    for (const auto& [bit, name] : modes) {
        Offer offer;
        offer.info.mode = FI_CONTEXT | bit;
        EXPECT_NE(offer.refusal().find(name), std::string::npos) << offer.refusal();
    }
}

TEST(Offer, AttributesForNotificationAreRead) {
    Offer narrow;
    narrow.domain_attributes.cq_data_size = 0;
    auto grant = link::accept_offer(narrow.info);
    ASSERT_TRUE(grant);  // no immediates, but other strategies
    EXPECT_EQ(grant->immediate_bytes, 0U);
    EXPECT_FALSE(grant->fence || grant->delivery);
    narrow.info.caps |= FI_FENCE;
    narrow.tx.op_flags = FI_DELIVERY_COMPLETE;
    grant = link::accept_offer(narrow.info);
    ASSERT_TRUE(grant);
    EXPECT_TRUE(grant->fence && grant->delivery);
}

TEST(Offer, InsufficientOrMissingAttributesAreNamed) {
    Offer short_messages;
    short_messages.endpoint.max_msg_size = 4;
    EXPECT_NE(short_messages.refusal().find("max_msg_size"), std::string::npos)
        << short_messages.refusal();
    Offer keyless;
    keyless.domain_attributes.mr_key_size = 0;
    EXPECT_NE(keyless.refusal().find("mr_key_size"), std::string::npos) << keyless.refusal();
    keyless.domain_attributes.mr_mode = FI_MR_PROV_KEY;
    EXPECT_EQ(keyless.refusal(), "accepted");
    Offer receiving;
    receiving.info.mode = FI_RX_CQ_DATA;
    EXPECT_NE(receiving.refusal().find("FI_RX_CQ_DATA"), std::string::npos) << receiving.refusal();
    receiving.info.caps |= FI_MSG;
    EXPECT_EQ(receiving.refusal(), "accepted");
    Offer message_only;
    message_only.info.caps = FI_MSG;
    EXPECT_NE(message_only.refusal().find("FI_RMA"), std::string::npos) << message_only.refusal();
    Offer connected;
    connected.endpoint.type = FI_EP_MSG;
    EXPECT_NE(connected.refusal().find("FI_EP_RDM"), std::string::npos) << connected.refusal();
}

TEST(Card, ACardIsReadBackAndDamageIsDetected) {
    const std::byte endpoint[] = {std::byte{1}, std::byte{2}, std::byte{3}};
    const link::PortCard card{link::provider_hash("recorded"), 7, {1, 2, 3}, {4, 5, 6}, endpoint};
    auto bytes = link::encode_card(card);
    const auto decoded = link::decode_card(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->provider, card.provider);
    EXPECT_EQ(decoded->notify, 7U);
    EXPECT_EQ(decoded->memory.key, 3U);
    EXPECT_EQ(decoded->landing.base, 4U);
    ASSERT_EQ(decoded->endpoint.size(), 3U);
    EXPECT_EQ(decoded->endpoint[2], std::byte{3});
    EXPECT_FALSE(link::decode_card(std::span(bytes).first(bytes.size() - 1)));
    EXPECT_FALSE(link::decode_card(std::span(bytes).first(7)));
    bytes[0] ^= std::byte{1};
    EXPECT_FALSE(link::decode_card(bytes));
}

TEST(Card, APortOverSeveralNetworkCardsHasOneCardForEach) {
    const std::byte endpoint[] = {std::byte{1}, std::byte{2}, std::byte{3}};
    auto bytes = link::encode_card({.notify = 7, .endpoint = endpoint});
    const auto second = link::encode_card({.notify = 8, .endpoint = std::span(endpoint).first(2)});
    bytes.insert(bytes.end(), second.begin(), second.end());
    const auto cards = link::split_cards(bytes);
    ASSERT_TRUE(cards);
    ASSERT_EQ(cards->size(), 2U);
    EXPECT_EQ(link::decode_card(bytes)->notify, 7U)
        << "a rank with one network card uses the first";
    EXPECT_EQ(link::decode_card((*cards)[1])->notify, 8U);
    EXPECT_EQ(link::decode_card((*cards)[1])->endpoint.size(), 2U);
    EXPECT_FALSE(link::split_cards(std::span(bytes).first(bytes.size() - 1)));
}

void expect_refusal(const link::FabricOptions& options, std::initializer_list<const char*> words) {
    std::byte memory[64] = {};
    const auto port = link::load_port({memory, sizeof memory}, options);
    expect(!port, "a port was opened");
    for (const char* word : words) {
        expect(port.failure().text.find(word) != std::string::npos, "no \"{}\" in: {}", word,
               port.failure().text);
    }
}

TEST(Refusal, WrongProviderAddressModuleAndPeersAreNamed) {
    // Takes the first available provider with internet addresses, independent of WEFT_PROVIDER.
    const std::string usable = in_child([]() -> std::string {
        for (const link::Profile* profile : link::preferred_profiles()) {
            const std::string provider(profile->provider);
            const auto offer = link::discover(local_options(provider), *profile);
            if (offer && offer->grant.internet_address &&
                offer->info->fabric_attr->prov_name == provider)
                return provider;
        }
        return "none";
    });
    expect_job("", 1, [&](Member& me) {
        expect_refusal({.module = "/nonexistent/weft_fabric.so"},
                       {"/nonexistent/weft_fabric.so", "WEFT_FABRIC_MODULE"});
        expect_refusal({.provider = "nonesuch"}, {"\"nonesuch\"", "WEFT_PROVIDER", usable.c_str()});
        expect_refusal({.provider = usable, .address = "203.0.113.7"},
                       {"203.0.113.7", "WEFT_FABRIC_ADDRESS", usable.c_str()});
        expect_refusal({.puts_in_flight = 0}, {"puts in flight"});
        me.open(link::load_port, {}, 4096);
        std::vector<std::byte> card(me.port->address().begin(), me.port->address().end());
        card[16] ^= std::byte{1};  // the provider's hash, after the head of the card
        me.port->set_peer(0, card);
        expect(me.port->failure() != nullptr &&
                   me.port->failure()->text.find("WEFT_PROVIDER") != std::string::npos,
               "a peer with another provider was accepted");
    });
}

}  // namespace
}  // namespace weft::test
