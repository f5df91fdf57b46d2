// SPDX-License-Identifier: BSD-3-Clause
#include "tests/hostile/strangers/fabric_intruder.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace weft::test {
namespace {

constexpr const char* kProvider = "tcp;ofi_rxm";
/// FI_OFI_RXM_BUFFER_SIZE of weft (providers/tcp_ofi_rxm.cpp): peers must use the same value.
constexpr const char* kBufferBytes = "256";

/// An endpoint. Its objects are never closed, because the process ends soon.
struct Intruder {
    bool open();
    Intrusion write(fi_addr_t peer, std::uint64_t key, std::uint64_t offset, int milliseconds);
    void notify(fi_addr_t peer, std::uint64_t immediate);
    Intrusion send(const fi_msg_rma& message, std::uint64_t flags, int milliseconds);
    fi_info* info = nullptr;
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    fid_av* addresses = nullptr;
    fid_cq* completions = nullptr;
    fid_ep* endpoint = nullptr;
    std::array<char, 64> junk{};
};

bool Intruder::open() {
    ::setenv("FI_OFI_RXM_BUFFER_SIZE", kBufferBytes, 1);
    junk.fill('!');
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = 0;
    hints->fabric_attr->prov_name = ::strdup(kProvider);
    const int found = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &info);
    fi_freeinfo(hints);
    if (found != 0 || fi_fabric(info->fabric_attr, &fabric, nullptr) != 0 ||
        fi_domain(fabric, info, &domain, nullptr) != 0)
        return false;
    fi_av_attr av{};
    av.type = FI_AV_TABLE;
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_DATA;
    cq.size = 256;
    return fi_av_open(domain, &av, &addresses, nullptr) == 0 &&
           fi_cq_open(domain, &cq, &completions, nullptr) == 0 &&
           fi_endpoint(domain, info, &endpoint, nullptr) == 0 &&
           fi_ep_bind(endpoint, &addresses->fid, 0) == 0 &&
           fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV) == 0 &&
           fi_enable(endpoint) == 0;
}

Intrusion Intruder::write(fi_addr_t peer, std::uint64_t key, std::uint64_t offset,
                          int milliseconds) {
    iovec source{junk.data(), junk.size()};
    fi_rma_iov target{offset, junk.size(), key};
    fi_msg_rma message{};
    message.msg_iov = &source;
    message.iov_count = 1;
    message.addr = peer;
    message.rma_iov = &target;
    message.rma_iov_count = 1;
    return send(message, FI_DELIVERY_COMPLETE, milliseconds);
}

/// Writes 0 bytes with an immediate, which needs no key. The result is ignored.
void Intruder::notify(fi_addr_t peer, std::uint64_t immediate) {
    fi_msg_rma message{};
    message.addr = peer;
    message.data = immediate;
    static_cast<void>(send(message, FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA, 100));
}

Intrusion Intruder::send(const fi_msg_rma& arguments, std::uint64_t flags, int milliseconds) {
    fi_context2 context{};
    fi_msg_rma message = arguments;
    message.context = &context;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    Intrusion outcome = Intrusion::refused;
    while (std::chrono::steady_clock::now() < end) {
        if (outcome == Intrusion::refused) {
            const ssize_t rc = fi_writemsg(endpoint, &message, flags);
            if (rc == 0) outcome = Intrusion::reached;  // a connection has accepted the write
            if (rc != 0 && rc != -FI_EAGAIN) return outcome;
        }
        fi_cq_data_entry done{};
        const ssize_t count = fi_cq_read(completions, &done, 1);
        if (count == 1) return Intrusion::wrote;
        if (count == -FI_EAVAIL) {
            fi_cq_err_entry error{};
            fi_cq_readerr(completions, &error, 0);
            return outcome;
        }
    }
    return outcome;
}

}  // namespace

Intrusion write_over_fabric(std::uint16_t port) {
    Intruder intruder;
    if (!intruder.open()) return Intrusion::refused;
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(port);
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fi_addr_t peer = 0;
    if (fi_av_insert(intruder.addresses, &target, 1, &peer, 0, nullptr) != 1)
        return Intrusion::refused;
    // Small and large immediates, with and without the highest bit.
    for (const std::uint64_t immediate :
         {std::uint64_t{0x7fff'ffff}, std::uint64_t{3}, std::uint64_t{1} << 63,
          std::uint64_t{1} << 63 | 1, ~std::uint64_t{0}})
        intruder.notify(peer, immediate);
    Intrusion result = Intrusion::refused;
    for (std::uint64_t key = 0; key < 4; ++key) {
        for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
            const int milliseconds = result == Intrusion::refused ? 1000 : 100;
            result = std::max(result, intruder.write(peer, key, offset, milliseconds));
            if (result == Intrusion::refused) return result;  // no fabric at this port
        }
    }
    return result;
}

}  // namespace weft::test
