// SPDX-License-Identifier: BSD-3-Clause
// bare_endpoint.hpp - libfabric alone, as thin as it gets: what the library's puts are compared with.
//
// Idea     An endpoint with one completion queue and one registered buffer, connected to one peer.
//          Programs derive from it and write as they please.
// Holds    Nothing is handled: what fails ends the program with status 3.
#pragma once

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "link/fabric/discover.hpp"
#include "link/fabric/handles.hpp"

namespace weft::micro {

[[noreturn]] inline void give_up(std::string_view text) {
    fmt::print(stderr, "{}: {}\n", ::program_invocation_short_name, text);
    std::_Exit(3);
}
inline void require(ssize_t code, const char* call) {
    if (code != 0) give_up(fmt::format("{}: {}", call, fi_strerror(static_cast<int>(-code))));
}

/// What a peer needs to write into the buffer.
struct BareAddress {
    std::uint8_t name[256];
    std::size_t name_bytes;
    std::uint64_t key;
    std::uint64_t base;
};

class BareEndpoint {
  public:
    BareEndpoint(const std::string& provider, std::size_t buffer_bytes) : buffer_(buffer_bytes) {
        auto found = link::discover({.provider = provider, .one_host = true});
        if (!found) give_up(found.failure().text);
        fi_info& info = *found->info;
        const auto open = [](auto& handle, const char* call, auto opens) {
            auto* opened = handle.get();
            require(opens(&opened), call);
            handle.reset(opened);
        };
        open(fabric_, "fi_fabric",
             [&](auto** to) { return fi_fabric(info.fabric_attr, to, nullptr); });
        open(domain_, "fi_domain",
             [&](auto** to) { return fi_domain(fabric_.get(), &info, to, nullptr); });
        fi_av_attr addresses{};
        addresses.type = FI_AV_TABLE;
        open(addresses_, "fi_av_open",
             [&](auto** to) { return fi_av_open(domain_.get(), &addresses, to, nullptr); });
        fi_cq_attr queue{};
        queue.size = 4096;
        queue.format = FI_CQ_FORMAT_DATA;
        open(completions_, "fi_cq_open",
             [&](auto** to) { return fi_cq_open(domain_.get(), &queue, to, nullptr); });
        open(endpoint_, "fi_endpoint",
             [&](auto** to) { return fi_endpoint(domain_.get(), &info, to, nullptr); });
        require(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
        require(fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV),
                "fi_ep_bind");
        require(fi_enable(endpoint_.get()), "fi_enable");
        open(region_, "fi_mr_reg", [&](auto** to) {
            return fi_mr_reg(domain_.get(), buffer_.data(), buffer_.size(),
                             FI_WRITE | FI_REMOTE_WRITE, 0, 77, 0, to, nullptr);
        });
        inject_bytes_ = found->grant.inject_bytes;
        address_.name_bytes = sizeof address_.name;
        require(fi_getname(&endpoint_->fid, address_.name, &address_.name_bytes), "fi_getname");
        address_.key = fi_mr_key(region_.get());
        if (found->grant.virtual_addresses)
            address_.base = reinterpret_cast<std::uint64_t>(buffer_.data());
    }
    [[nodiscard]] const BareAddress& address() const { return address_; }
    void connect(const BareAddress& peer) {
        if (fi_av_insert(addresses_.get(), peer.name, 1, &peer_, 0, nullptr) != 1)
            give_up("fi_av_insert");
        key_ = peer.key;
        base_ = peer.base;
    }

  protected:
    std::vector<std::byte> buffer_;
    link::Fid<fid_fabric> fabric_;
    link::Fid<fid_domain> domain_;
    link::Fid<fid_av> addresses_;
    link::Fid<fid_cq> completions_;
    link::Fid<fid_ep> endpoint_;
    link::Fid<fid_mr> region_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
    std::uint64_t key_ = 0;   ///< of the peer's buffer
    std::uint64_t base_ = 0;  ///< where it starts
    std::size_t inject_bytes_ = 0;

  private:
    BareAddress address_{};
};

}  // namespace weft::micro
