// SPDX-License-Identifier: BSD-3-Clause
// deliveries.hpp - puts whose deliveries can be awaited one by one.
//
// Idea     A put records the number of transfers that the stream has posted to the peer. The put is
//          delivered when a flush has settled this number. The first wait starts the flush, which
//          also settles all earlier puts to the peer.
// Holds    The caller has checked addresses, and holds the engine's turn.
#pragma once

#include "run/onesided/onesided.hpp"

namespace weft::run {

template <Network Wire, class Drive>
class Deliveries {
  public:
    explicit Deliveries(OneSided<Wire, Drive>& onesided) : onesided_(onesided) {}

    /// Starts a put in a stream; nullptr: the default stream. Returns false on failure.
    bool start_put(Rank rank, const RemoteAddress& to, const std::byte* from, std::size_t bytes,
                   Delivery& delivery, Stream* context) {
        delivery = {};
        if (!onesided_.put(rank, to, from, bytes, Return::at_once, context)) return false;
        Stream& stream = onesided_.stream_of(context);
        if (onesided_.reach(rank, to) == nullptr)
            delivery = {rank, stream.number, stream.at(rank).posted};
        return true;
    }

    /// Waits until the peer has the data and the source may be changed. If the deadline has passed,
    /// returns the present state without driving.
    Waited wait(Delivery& delivery, const base::Deadline& deadline) {
        const std::shared_ptr<Stream> stream = stream_of(delivery);
        if (stream == nullptr) return Waited::done;
        const Rank rank = delivery.rank;
        const auto await = [&](auto ended) {
            return onesided_.until(ended, deadline, rank, "put");
        };
        // Another thread, or the wait for another put, may settle this put.
        const auto is_settled = [&] { return stream->at(rank).settled >= delivery.posted; };
        if (!delivery.flush) {
            const auto waited = await([&] { return is_settled() || onesided_.is_flushable(rank); });
            if (waited != Waited::done) return waited;
            if (!is_settled()) delivery.flush = onesided_.start_flush(*stream, rank);
        }
        if (!is_settled()) {
            if (!delivery.flush) return Waited::failed;
            const Flush flush = *delivery.flush;
            const auto waited = await([&] { return is_settled() || onesided_.is_flushed(flush); });
            if (waited != Waited::done) return waited;
            onesided_.settle(*stream, flush);
        }
        const Waited waited = await([&] { return stream->outstanding == 0; });
        if (waited == Waited::done) delivery = {};
        return waited;
    }

  private:
    /// Returns the stream of a put in flight; nullptr if the put is delivered. A stream is closed
    /// only after its puts are complete.
    [[nodiscard]] std::shared_ptr<Stream> stream_of(const Delivery& delivery) {
        if (delivery.rank == OneSided<Wire, Drive>::kNoPeer) return nullptr;
        if (delivery.stream == onesided_.default_.number)
            return {std::shared_ptr<Stream>(), &onesided_.default_};  // which no thread closes
        for (const auto& stream : onesided_.streams_.all())
            if (stream->number == delivery.stream) return stream;
        return nullptr;
    }

    OneSided<Wire, Drive>& onesided_;
};

}  // namespace weft::run
