// SPDX-License-Identifier: BSD-3-Clause
// endpoint.hpp - an endpoint and its operations in flight, as origin and as target.
//
// Idea     A write waits at its origin for a random number of polls. Then the origin reads the
//          source and sends it in pieces to the target's mailbox. At the target each piece waits
//          again, may be cut into parts, and is delivered at a random time that the promised order
//          permits. Completions wait, too. So events come as late and reordered as permitted.
// Holds    Functions are called under the domain's lock, except serve() and the destructor, which
//          take it, and functions that return constants.
#pragma once

#include <memory>
#include <random>
#include <set>
#include <thread>

#include "tests/hostile/adversary/objects.hpp"

namespace adversary {

/// State of an endpoint for one peer.
struct Peer {
    Outbox outbox;
    int refusals = 0;                 ///< posts to refuse until the peer is connected
    std::set<std::uint64_t> pending;  ///< ids of operations that a fence waits for
    std::set<std::uint64_t> fences;   ///< ids of fenced operations that are not sent yet

    explicit Peer(const Address& address) : outbox(address) {}
};

/// An operation of this endpoint as origin.
struct Operation {
    MessageKind kind = MessageKind::write;
    std::uint64_t id = 0;
    Peer* to = nullptr;
    std::vector<iovec> sources;       ///< for a read: the destinations
    std::vector<fi_rma_iov> targets;  ///< of the peer's memory; none for a send
    std::vector<Region*> regions;     ///< regions that contain the sources
    std::size_t bytes = 0;
    std::uint64_t flags = 0;
    std::uint64_t data = 0;  ///< immediate
    void* context = nullptr;
    bool reports = false;   ///< adds an entry to the completion queue
    bool delivery = false;  ///< completes only after delivery
    bool fenced = false;
    int delay = 0;                ///< polls to wait
    std::uint64_t checksum = 0;   ///< checksum of the sources at the post
    std::vector<std::byte> copy;  ///< contents of the sources once they are read
    std::vector<Header> pieces;   ///< pieces to send, in reverse order
    bool held = false;            ///< posted with FI_MORE, and no operation without it since
    bool sources_read = false;    ///< the sources have been read
    bool lost = false;            ///< its connection is lost
    std::size_t missing = 0;      ///< bytes of a read that are not delivered
};

/// An operation of another endpoint of which pieces have arrived; kept until all are delivered.
struct Arrival {
    Header first;  ///< header of the piece that arrived first
    std::uint32_t pieces_missing = 0;
    int error = 0;
    std::vector<std::byte> message;  ///< data of a send
};

/// A piece, or a part of a piece, that waits for its delivery to memory.
struct PendingPiece {
    Arrival* arrival = nullptr;
    Operation* read = nullptr;  ///< the read of this endpoint that the piece answers
    Header header;
    std::vector<std::byte> bytes;
    int delay = 0;
    std::shared_ptr<int> parts;  ///< number of undelivered parts of the piece
};

/// A completion to report after `delay` polls.
struct DelayedCompletion {
    Queue* queue;
    Counter* counter;
    Entry entry;
    int delay;
    bool report;  ///< adds an entry to the queue
};

/// A posted receive.
struct Receive {
    std::vector<iovec> into;
    void* context;
};

/// An endpoint of type FI_EP_RDM.
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
    /// Posts an operation. Returns 0, or a negative error if it is refused.
    ssize_t post(Operation operation, fi_addr_t to, void** descs, std::uint64_t flags);
    ssize_t post_receive(const iovec* into, std::size_t count, void* context);
    /// Makes one step: receives, sends, delivers and reports some events.
    void progress();
    /// Counts the program's polls while operations are held.
    void polled();
    /// Removes a region that is being closed from the operations in flight.
    void forget(const Region& region);
    [[nodiscard]] std::uint64_t default_flags() const { return op_flags_; }
    [[nodiscard]] bool selective() const { return selective_; }
    [[nodiscard]] Domain& domain() { return domain_; }

  private:
    /// Returns true with a probability of 1 / `cases`.
    [[nodiscard]] bool chance(unsigned cases) { return random_() % cases == 0; }
    /// Returns a random number of polls, often 0.
    [[nodiscard]] int draw_delay();
    [[nodiscard]] Peer* peer_at(fi_addr_t to);
    [[nodiscard]] bool must_retry(Peer& peer);
    /// Checks an operation by the profile. Returns 0 or an error code. Violations end the process.
    [[nodiscard]] int check(Operation& operation, void** descs, std::uint64_t flags);
    [[nodiscard]] int check_sources(Operation& operation, void** descs);
    void hold_or_release(Operation& operation, std::uint64_t flags);
    /// With FI_CONTEXT the provider may write to the context of an operation in flight.
    void acquire_context(const Operation& operation);
    void return_context(const Operation& operation);

    // Functions as origin.
    void send_some();
    [[nodiscard]] bool waits_for_fence(const Operation& operation) const;
    void prepare(Operation& operation);
    [[nodiscard]] bool push_pieces(Operation& operation);
    void after_sending(std::unique_ptr<Operation> operation);
    void release_sources(Operation& operation);
    void complete(const Operation& operation, int error);
    void delivery_confirmed(std::uint64_t id, int error);

    // Functions as target.
    void receive();
    void handle(const Slot& slot);
    void receive_piece(const Slot& slot);
    void answer(const Header& request);
    void deliver_some();
    /// Returns true if the piece must not be delivered before an earlier piece.
    [[nodiscard]] bool must_wait(std::size_t index) const;
    void deliver(std::size_t index);
    [[nodiscard]] std::byte* target_address(const PendingPiece& piece);
    void piece_delivered(const PendingPiece& piece);
    void arrival_complete(std::map<std::pair<std::uint64_t, std::uint64_t>, Arrival>::iterator at);
    void match_messages();
    void add_reply(const Address& to, const Header& header, std::vector<std::byte> bytes);
    void send_replies();
    /// Returns the counter that is bound for a flag such as FI_WRITE, or nullptr.
    [[nodiscard]] Counter* counter_of(std::uint64_t flag) const;
    /// report: adds the entry to the queue.
    void delay_completion(Queue* queue, Counter* counter, const Entry& entry, bool report);
    void report_completions();
    /// Body of server_.
    void serve();

    Domain& domain_;
    const Profile& profile_;
    std::mt19937_64 random_;
    Mailbox mailbox_;
    std::uint64_t caps_;
    std::uint64_t op_flags_;
    bool ordered_;       ///< writes keep their order
    bool slow_ = false;  ///< all delays are three times longer
    bool enabled_ = false;
    bool selective_ = false;  ///< only operations with FI_COMPLETION report
    Addresses* addresses_ = nullptr;
    Queue* transmitted_ = nullptr;
    Queue* received_ = nullptr;
    std::map<std::uint64_t, Counter*> counters_;            ///< by flag, such as FI_WRITE
    std::map<std::uint64_t, std::unique_ptr<Peer>> peers_;  ///< by nonce
    std::uint64_t next_id_ = 1;
    std::uint64_t posts_ = 0;
    std::uint64_t lost_after_ = ~std::uint64_t{0};  ///< posts before the connections are lost
    int polls_held_ = 0;                            ///< polls since an operation with FI_MORE
    int refusals_ = 0;                              ///< posts that are still to be refused
    std::vector<std::unique_ptr<Operation>> outgoing_;
    std::map<std::uint64_t, std::unique_ptr<Operation>> awaited_;  ///< sent, but not confirmed
    std::set<void*> contexts_;  ///< contexts of operations in flight
    std::map<std::pair<std::uint64_t, std::uint64_t>, Arrival> arrivals_;  ///< by nonce and id
    std::deque<PendingPiece> pending_;
    struct Reply {
        Address to;
        Header header;
        std::vector<std::byte> bytes;
    };
    std::deque<Reply> replies_;
    std::vector<DelayedCompletion> delayed_;
    std::deque<Receive> receives_;
    std::deque<Arrival> messages_;  ///< complete, without a receive yet
    std::atomic<bool> stop_{false};
    std::thread server_;  ///< runs if the fabric writes memory without calls of the program
};

}  // namespace adversary
