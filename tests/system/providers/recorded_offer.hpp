// SPDX-License-Identifier: BSD-3-Clause
// recorded_offer.hpp - an fi_info whose attributes a test sets, to test decisions without hardware.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <string>

#include "link/fabric/discover.hpp"

namespace weft::test {

/// By default, an offer of a provider without requirements. The strings are members because
/// libfabric's attributes refer to names that are not const.
struct RecordedOffer {
    std::string provider = "recorded";
    std::string domain = "dev0";
    fi_tx_attr tx{};
    fi_rx_attr rx{};
    fi_ep_attr endpoint{};
    fi_domain_attr domain_attributes{};
    fi_fabric_attr fabric{};
    fi_info info{};

    RecordedOffer() {
        tx.inject_size = 64;
        endpoint.type = FI_EP_RDM;
        endpoint.max_msg_size = std::size_t{1} << 30;
        domain_attributes.name = domain.data();
        domain_attributes.cq_data_size = 8;
        domain_attributes.mr_key_size = 8;
        fabric.prov_name = provider.data();
        info.caps = FI_RMA;
        info.addr_format = FI_SOCKADDR_IN;
        info.tx_attr = &tx;
        info.rx_attr = &rx;
        info.ep_attr = &endpoint;
        info.domain_attr = &domain_attributes;
        info.fabric_attr = &fabric;
    }
    RecordedOffer(const RecordedOffer&) = delete;
    RecordedOffer& operator=(const RecordedOffer&) = delete;

    void name(const char* provider_name) {
        provider = provider_name;
        fabric.prov_name = provider.data();
    }
    [[nodiscard]] std::string refusal() const {
        const auto grant = link::accept_offer(info);
        return grant ? std::string("accepted") : grant.failure().text;
    }
};

}  // namespace weft::test
