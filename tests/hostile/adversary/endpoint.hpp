// SPDX-License-Identifier: BSD-3-Clause
// endpoint.hpp - operations in flight of an endpoint, as origin and as target, and their tricks.
//
// Idea     A write waits at its origin for a random time, and then leaves in pieces through the
//          target's mailbox; only then is its source read. At the target each piece waits again and
//          may be cut further. It is delivered at a random moment that the promised order permits.
//          Completions wait, too. So everything happens at the latest moment and in the worst order
//          that the profile permits.
// Holds    All calls are made under the domain's lock.
#pragma once

#include <list>
#include <set>
#include <span>
#include <thread>

#include "tests/hostile/adversary/objects.hpp"

namespace adversary {

struct Peer {
    std::unique_ptr<Outbox> outbox;
    Address address;
    int refusals = 0;                 ///< left until the peer counts as connected
    std::set<std::uint64_t> pending;  ///< operations for which a fence must wait
    std::set<std::uint64_t> fences;   ///< fenced operations that still wait
};

struct Operation {
    MessageKind kind = MessageKind::write;
    std::uint64_t id = 0;
    Peer* to = nullptr;
    std::vector<iovec> sources;  ///< for a read: the destinations
    std::vector<fi_rma_iov> places;
    std::vector<Region*> regions;  ///< that contain the sources
    std::size_t bytes = 0;
    std::uint64_t flags = 0;
    std::uint64_t data = 0;
    void* context = nullptr;
    bool reports = false;
    bool delivery = false;
    bool fenced = false;
    int delay = 0;
    std::uint64_t checksum = 0;
    std::vector<std::byte> copy;  ///< of the source, after it has been read
    std::vector<Header> pieces;   ///< not sent yet; the last one is sent next
    bool leaving = false;
    bool lost = false;
    std::size_t missing = 0;  ///< bytes of a read that have not arrived
};

/// An operation of an origin that has started to arrive here and is not complete.
struct Arrival {
    Header first;  ///< header of any piece
    std::uint32_t pieces_missing = 0;
    int error = 0;
    std::vector<std::byte> message;  ///< data of a send
};

struct Landing {
    Arrival* arrival = nullptr;
    Operation* read = nullptr;  ///< the read that it answers, at the origin
    Header header;
    std::vector<std::byte> bytes;
    std::size_t landed = 0;
    int delay = 0;
    std::uint64_t number = 0;
    bool last_of_piece = true;
    std::shared_ptr<int> parts;  ///< number of parts of its piece that are not delivered yet
};

struct LateEntry {
    Queue* queue;
    Counter* counter;
    Entry entry;
    int delay;
    bool report;
};

struct Receive {
    std::vector<iovec> into;
    void* context;
};

class Endpoint {
  public:
    fid_ep endpoint{};  ///< first: libfabric's handle

    Endpoint(Domain& domain, const fi_info& info);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    int bind(fid* other, std::uint64_t flags);
    int enable();
    [[nodiscard]] bool enabled() const { return enabled_; }
    [[nodiscard]] Address address() const { return mailbox_.address(); }
    /// Posts an operation. Returns a negative error if it is refused.
    ssize_t post(Operation operation, fi_addr_t to, void** descs, std::uint64_t flags);
    ssize_t post_receive(const iovec* into, std::size_t count, void* context);
    void progress();
    /// Removes a region that is being closed from the operations in flight.
    void forget(const Region& region);
    [[nodiscard]] std::uint64_t usual_flags() const { return op_flags_; }
    [[nodiscard]] bool selective() const { return selective_; }
    [[nodiscard]] Domain& domain() { return domain_; }

  private:
    [[nodiscard]] bool chance(unsigned in) { return random_() % in == 0; }
    [[nodiscard]] int some_delay();
    [[nodiscard]] Peer* peer_at(fi_addr_t to);
    [[nodiscard]] bool refused_for_now(Peer& peer);
    [[nodiscard]] int check(Operation& operation, void** descs, std::uint64_t flags);
    [[nodiscard]] int check_sources(Operation& operation, void** descs);
    void take_context(const Operation& operation);
    void give_context(const Operation& operation);

    // As origin.
    void let_leave();
    [[nodiscard]] bool held_back(const Operation& operation) const;
    void prepare(Operation& operation);
    [[nodiscard]] bool push_pieces(Operation& operation);
    void has_left(std::unique_ptr<Operation> operation);
    void release_sources(Operation& operation);
    void complete(const Operation& operation, int error);
    void has_landed(std::uint64_t id, int error);

    // As target.
    void receive();
    void take(const Slot& slot);
    void take_piece(const Slot& slot);
    void answer(const Header& request);
    void land_some();
    [[nodiscard]] bool must_wait(std::size_t which) const;
    void land(std::size_t which);
    [[nodiscard]] std::byte* place_of(const Landing& landing);
    void piece_is_there(const Landing& landing);
    void arrival_is_there(std::map<std::pair<std::uint64_t, std::uint64_t>, Arrival>::iterator at);
    void match_messages();
    void send_back(const Address& to, const Header& header, std::vector<std::byte> bytes);
    void flush_back();
    void add_late(Queue* queue, Counter* counter, const Entry& entry, bool report);
    void let_complete();
    void serve();

    Domain& domain_;
    const Profile& profile_;
    std::mt19937_64 random_;
    Mailbox mailbox_;
    std::uint64_t caps_;
    std::uint64_t op_flags_;
    bool ordered_;  ///< write order was asked for and granted
    bool slow_ = false;
    bool enabled_ = false;
    bool selective_ = false;
    Addresses* addresses_ = nullptr;
    Queue* transmitted_ = nullptr;
    Queue* received_ = nullptr;
    std::map<std::uint64_t, Counter*> counters_;            ///< by flag, such as FI_WRITE
    std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;  ///< by nonce
    std::uint64_t next_id_ = 1;
    std::uint64_t posts_ = 0;
    std::uint64_t lost_after_ = ~std::uint64_t{0};
    int storm_ = 0;
    std::vector<std::unique_ptr<Operation>> outgoing_;
    std::map<std::uint64_t, std::unique_ptr<Operation>> awaited_;  ///< sent and not yet answered
    std::set<void*> contexts_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Arrival> arrivals_;
    std::deque<Landing> landings_;
    std::uint64_t next_landing_ = 0;
    struct Back {
        Address to;
        Header header;
        std::vector<std::byte> bytes;
    };
    std::deque<Back> back_;
    std::vector<LateEntry> late_;
    std::deque<Receive> receives_;
    std::deque<Arrival> messages_;
    std::atomic<bool> stop_{false};
    std::thread server_;  ///< runs if the fabric writes memory without calls of the program
};

}  // namespace adversary
