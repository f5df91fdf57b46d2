// SPDX-License-Identifier: BSD-3-Clause
// fabric.hpp - interface of the network: puts over libfabric, with or without an immediate.
//
// Idea     All code that includes rdma/* is built into the module weft_fabric.so. Only jobs of
//          several nodes load it, because loading and opening libfabric takes a third of a second.
//          The rest of the code includes only this header.
// Holds    One thread drives a port. Posts do not block: -FI_EAGAIN becomes Post::again. After
//          local completion a source may be reused; PutKind says whether the data is delivered.
//          Close a port only when the peers have received all data sent to them.
// Next     notify.hpp for the detection of puts at the target; providers/ for their guarantees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/fabric/nics.hpp"
#include "link/fabric/notify.hpp"

namespace weft::link {

using base::PutKind;

/// Set in an immediate whose other bits are its payload, Put::immediate.
inline constexpr std::uint64_t kHasPayload = std::uint64_t{1} << 63;

/// Memory that peers may write: this rank's segment. Its sections are registered separately when
/// they are needed, because a network may pin registered memory.
struct FabricMemory {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    /// Offset of each section, ascending from 0, equal on all ranks. The first section is
    /// registered at once, others by use_memory(). Empty: one section.
    std::vector<std::uint64_t> sections = {};
    /// Offset of a table in the first section, from which peers read the keys of sections, 8 bytes
    /// each. Tables of kSectionsMax entries for up to kNicsMax - 1 other NICs follow it.
    std::uint64_t section_keys = 0;
};
inline constexpr std::size_t kSectionsMax = 94;  ///< keeps small keys below 100 (regions.hpp)
inline constexpr std::size_t kNicsMax = 4;       ///< NICs that one rank uses

struct FabricOptions {
    std::string provider;   ///< libfabric provider name; empty: the best available
    std::string address;    ///< local address or host name to bind to; empty: see open_port()
    std::string source;     ///< local address to try if `address` is empty
    std::string nics;       ///< names of the NICs to use, with commas; empty: all
    HostRanks host;         ///< ranks of this host, which share its NICs
    std::string module;     ///< file of the module; empty: see load_port()
    Rank rank = 0;          ///< this process's rank in the job
    Rank size = 1;          ///< number of ranks in the job
    std::uint64_t job = 0;  ///< random number, equal on all ranks; 0: a survey without a job
    std::size_t puts_in_flight = 256;          ///< limit for all peers together
    std::size_t puts_in_flight_per_peer = 64;  ///< limit for each peer
    /// Size of the pieces of puts over several NICs; 0: computed from the profile's costs.
    std::size_t piece_bytes = 0;
    /// Process ids of other ranks, in this process's pid namespace. When one of these processes
    /// ends, the endpoint's file is removed.
    std::vector<std::int32_t> processes;
    /// Waits for the other ranks. Called once before this rank makes an endpoint that is a file, so
    /// that no file exists while other ranks load their libraries. May be empty.
    std::function<base::Result<void>()> wait_for_ranks;
    bool one_host = false;         ///< all ranks run on this host: a loopback address reaches them
    std::optional<Notify> notify;  ///< strategy forced by the user; equal on all ranks
    /// libfabric was loaded before the module, and may have read its variables. Set by load_port().
    bool libfabric_was_loaded = false;
};

/// Properties of an open port.
struct FabricFacts {
    std::string provider;
    std::string version;
    std::string domain;
    std::size_t nics = 1;               ///< NICs over which long puts are striped
    std::size_t inject_bytes = 0;       ///< puts up to this size are copied at once; see try_put()
    std::size_t message_bytes_max = 0;  ///< larger puts are posted in pieces
    std::size_t get_bytes_max = 0;      ///< larger gets are posted in pieces
    NotifyPlan notify;                  ///< notify strategies
    base::RemoteFacts remote;           ///< guarantees to one-sided calls
    /// The endpoint is a file in shared memory. Call forget_file() after set_peer() for all peers.
    bool endpoint_file = false;
    std::uint32_t counters = 0;  ///< counters at this port for the delivered writes of each peer
    std::size_t flagged_parts_max = 0;  ///< sources of a put with a cell; 0: it cannot have a cell
    /// Puts with a cell of up to this size may have any number of sources, and are copied at once.
    std::size_t copied_bytes = 0;
    /// After each piece of this size of a put, the wire lets other transfers proceed; 0: no pieces.
    std::size_t paced_bytes = 0;
    /// Variables of the provider, as "name=value", that libfabric may have read too early.
    std::string late_settings;
    std::uint64_t registered_bytes = 0;  ///< registered sections and staging buffers
};

/// Largest source, in bytes, that a port copies if Put::copied is set.
inline constexpr std::size_t kCopiedBytesMax = sizeof base::Landing::words;

class FabricPort {
  public:
    virtual ~FabricPort() = default;

    [[nodiscard]] virtual const FabricFacts& facts() const = 0;
    /// Returns this port's card (card.hpp), which peers pass to set_peer(). Opaque to callers.
    [[nodiscard]] virtual std::span<const std::byte> address() const = 0;
    /// Stores the address of a rank's port; `address` is a copy of that rank's address(). libfabric
    /// resolves the endpoint's address at the first put to it.
    virtual void set_peer(Rank rank, std::span<const std::byte> address) = 0;

    /// Removes the endpoint's file, if it has one. Peers must have mapped the file. The file of a
    /// process that is killed earlier is removed by the next port with such a file.
    virtual void forget_file() noexcept {}

    /// Registers the sections of this part of the memory, so that peers may read and write it.
    /// Before that, puts and gets of peers to these sections return Post::again.
    virtual base::Result<void> use_memory(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {
        return {};
    }
    /// Returns the bytes from an offset to the end of its section. No transfer may cross the end.
    [[nodiscard]] virtual std::uint64_t bytes_to_section_end(std::uint64_t) const noexcept {
        return ~std::uint64_t{0};
    }

    /// Starts to connect to a peer without waiting. Returns true if puts to the peer are accepted.
    /// Both ranks must poll() meanwhile. Optional: the first try_put() also connects.
    [[nodiscard]] virtual bool warm(Rank peer) noexcept = 0;

    /// Registers memory of this rank, so that peers may put to it and get from it until unexpose().
    /// May fail, because pinned memory is limited.
    virtual base::Result<base::RemoteRegion> expose(std::span<std::byte> memory) = 0;
    /// Ends the registration of a region that expose() returned. No transfer may be using it.
    virtual void unexpose(const base::RemoteRegion& region) noexcept = 0;

    /// Posts one write of one part of up to message_bytes_max bytes. Without bytes, sends only an
    /// immediate. Writes, and immediates of different writes, may be delivered in any order. An
    /// immediate exceeds 32 bits only with kHasPayload. Put::copied requires a source of at most
    /// kCopiedBytesMax bytes. Plain puts and puts with an immediate do not use `pending` if their
    /// source is copied at once, by libfabric (up to inject_bytes) or to a staging buffer.
    /// A put with a cell also writes its flag, to Cell::delivered, in the same write. It must have
    /// an immediate, which is delivered after data and flag. It may have up to flagged_parts_max
    /// parts, or any number of parts of up to copied_bytes in total, which are copied at once.
    [[nodiscard]] virtual base::Post try_put(const base::Put& put) noexcept = 0;

    /// Returns the number of delivered, visible writes of a peer with this Put::counter.
    [[nodiscard]] virtual std::uint64_t landed(Rank /*peer*/, std::uint32_t /*counter*/) noexcept {
        return 0;
    }

    /// Posts one read of 1 to get_bytes_max bytes, not ordered with writes. Needs remote.reads.
    [[nodiscard]] virtual base::Post try_read(const base::Read& read) noexcept = 0;

    /// Makes progress. Stores immediates of puts that were delivered here, and returns their
    /// number. A number below the size of `immediates` means that no others are pending.
    [[nodiscard]] virtual std::size_t poll(std::span<std::uint64_t> immediates) noexcept = 0;

    /// Returns the number of writes posted so far, for reports.
    [[nodiscard]] virtual std::uint64_t writes() const noexcept { return 0; }

    /// Ends all puts to and gets from a peer whose process has ended, and decrements their
    /// `pending`. Later puts and gets return Post::posted but have no effect. failure() does not
    /// report this peer any more. The caller must fail calls that need the peer.
    virtual void lose(Rank peer) noexcept = 0;

    /// Ends all puts and gets, which then touch neither memory nor `pending`. The port fails.
    virtual void cancel() noexcept = 0;

    /// Returns the number of posted puts and gets without local completion.
    [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

    /// Returns a failure of the endpoint or of a transfer with a peer that is not lost, or nullptr.
    [[nodiscard]] virtual const base::Failure* failure() const noexcept = 0;
};

/// Opens an endpoint and registers the memory. Failures with Status::environment name the provider,
/// the missing property, and the setting to change. If endpoints have internet addresses and
/// options.address is empty, the local address is a loopback address if options.one_host, else
/// options.source, else the best of host_addresses().
base::Result<std::unique_ptr<FabricPort>> open_port(const FabricMemory& memory,
                                                    const FabricOptions& options);

/// Loads weft_fabric.so, which stays loaded, and calls its open_port(). If options.module is empty,
/// searches the folders of the library or executable with this code and of the running executable,
/// an installation's lib/weft near each of them, and the loader's search path.
base::Result<std::unique_ptr<FabricPort>> load_port(const FabricMemory& memory,
                                                    const FabricOptions& options);

}  // namespace weft::link
