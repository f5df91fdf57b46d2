// SPDX-License-Identifier: BSD-3-Clause
// bare_endpoint.hpp - libfabric with as little code as possible, for comparison with weft's puts.
//
// Idea     The endpoint has one completion queue and one registered buffer, and is connected to one
//          peer. Programs derive from the class and write to the peer directly.
// Holds    A failed call throws std::runtime_error or ends the program.
#pragma once

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "link/fabric/discover.hpp"
#include "link/fabric/endpoint.hpp"

namespace weft::micro {

[[noreturn]] inline void fail(std::string_view text) {
    fmt::print(stderr, "{}: {}\n", ::program_invocation_short_name, text);
    std::_Exit(3);
}
inline void require(ssize_t code, std::string_view call) {
    if (code != 0)
        throw std::runtime_error(fmt::format("{}: {}", call, fi_strerror(static_cast<int>(-code))));
}

/// Values that a peer needs to write into the buffer.
struct BareAddress {
    std::uint8_t name[256];
    std::size_t name_bytes;
    std::uint64_t key;
    std::uint64_t base;
};

class BareEndpoint {
  public:
    /// Uses `memory` as its buffer, which must outlive the endpoint.
    BareEndpoint(base::Result<link::Found> found, std::span<std::byte> memory) : buffer_(memory) {
        if (!found) throw std::runtime_error(found.failure().text);
        found_ = std::move(found).value();
        open_all(*found_.info);
        inject_bytes_ = found_.grant.inject_bytes;
        address_.name_bytes = sizeof address_.name;
        require(fi_getname(&endpoint_->fid, address_.name, &address_.name_bytes), "fi_getname");
        address_.key = fi_mr_key(region_.get());
        if (found_.grant.virtual_addresses)
            address_.base = reinterpret_cast<std::uint64_t>(buffer_.data());
    }
    /// Allocates its own buffer.
    BareEndpoint(const std::string& provider, std::size_t buffer_bytes)
        : BareEndpoint(link::discover({.provider = provider, .one_host = true}),
                       std::vector<std::byte>(buffer_bytes)) {}

    [[nodiscard]] const BareAddress& address() const { return address_; }
    void connect(const BareAddress& peer) {
        if (fi_av_insert(addresses_.get(), peer.name, 1, &peer_, 0, nullptr) != 1)
            throw std::runtime_error("fi_av_insert");
        key_ = peer.key;
        base_ = peer.base;
    }

  protected:
    /// Repeats post() until libfabric accepts the operation, with progress() in between.
    template <class Post, class Progress>
    static void post_until_accepted(std::string_view call, Post post, Progress progress) {
        for (ssize_t code = post(); code != 0; code = post()) {
            if (code != -FI_EAGAIN) require(code, call);
            progress();
        }
    }

    link::Found found_;
    std::vector<std::byte> owned_;
    std::span<std::byte> buffer_;
    link::Fid<fid_fabric> fabric_;
    link::Fid<fid_domain> domain_;
    link::Fid<fid_av> addresses_;
    link::Fid<fid_cq> completions_;
    link::Fid<fid_ep> endpoint_;
    link::Fid<fid_mr> region_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
    std::uint64_t key_ = 0;         ///< key of the peer's buffer
    std::uint64_t base_ = 0;        ///< start of the peer's buffer in remote addresses
    std::size_t inject_bytes_ = 0;  ///< limit of fi_inject_write()

  private:
    BareEndpoint(base::Result<link::Found> found, std::vector<std::byte> owned)
        : BareEndpoint(std::move(found), std::span(owned)) {
        owned_ = std::move(owned);
    }

    void open_all(fi_info& info) {
        constexpr std::uint64_t kRequestedKey = 77;  // any value; providers may choose another
        const auto open = [](auto& handle, const char* call, auto open_call) {
            auto* opened = handle.get();
            require(open_call(&opened), call);
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
                             FI_WRITE | FI_REMOTE_WRITE, 0, kRequestedKey, 0, to, nullptr);
        });
        if (!found_.grant.endpoint_registration) return;
        require(fi_mr_bind(region_.get(), &endpoint_->fid, 0), "fi_mr_bind");
        require(fi_mr_enable(region_.get()), "fi_mr_enable");
    }

    BareAddress address_{};
};

}  // namespace weft::micro
