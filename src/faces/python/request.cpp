// SPDX-License-Identifier: BSD-3-Clause
// request.cpp - started and persistent calls, and checks of calls with two buffers.
#include <string_view>

#include "faces/python/calls.hpp"

namespace weft::python {

RequestObject::RequestObject(std::shared_ptr<JobObject> job, weft_request* request,
                             CallObjects objects, py::object result, bool persistent)
    : job_(std::move(job)),
      request_(request),
      objects_(std::move(objects)),
      result_(std::move(result)),
      persistent_(persistent),
      counted_(!persistent && job_->background() != nullptr) {
    if (counted_) job_->background()->started();
}

RequestObject::~RequestObject() {
    if (request_ != nullptr) job_->abandon(request_, std::move(objects_), counted_);
}

void RequestObject::complete(weft_status status) {
    if (std::exchange(counted_, false) && job_->background() != nullptr)
        job_->background()->completed();
    if (!persistent_) objects_ = {};
    job_->check(status);
}

bool RequestObject::test() {
    const RuntimeCall entry(*job_);
    int done = 0;
    const weft_status status = call_short([&] { return weft_test(&request_, &done); });
    if (done != 0) complete(status);
    job_->check(status);
    return done != 0;
}

py::object RequestObject::wait(std::optional<double> timeout_s) {
    const RuntimeCall entry(*job_);
    const weft_status status = drive_until_complete(job_->background(), &request_, timeout_s);
    if (status == WEFT_ERR_TIMEOUT)
        raise_error(status, "the time limit has passed, and the call is not complete");
    complete(status);
    return result_;
}

void RequestObject::start() {
    if (!persistent_) refuse("start: only calls of team.prepare can be started");
    const RuntimeCall entry(*job_);
    job_->check(call_short([&] { return weft_start(request_); }));
}

py::object in_place() {
    static PyObject* const value = attribute_of("weft._buffers", "IN_PLACE").release().ptr();
    return py::reinterpret_borrow<py::object>(value);
}

py::object CallMaker::as_request(weft_request* request, CallObjects objects,
                                 py::object result) const {
    return py::cast(std::make_unique<RequestObject>(
        job_, request, std::move(objects), std::move(result), form_ == CallForm::persistent));
}

void expect_count(const BufferView& buffer, const char* name, std::size_t expected) {
    if (buffer.count() != expected)
        refuse(std::string(name) + " has " + std::to_string(buffer.count()) +
               " elements, expected " + std::to_string(expected));
}

BufferArguments buffer_arguments(const CallObjects& objects) {
    return {objects.in.is_set() ? objects.in.data() : WEFT_IN_PLACE, objects.out.data(),
            objects.out.is_set() ? objects.out.type() : objects.in.type()};
}

BlockCounts::BlockCounts(const py::object& counts_argument, const py::object& displacements,
                         std::size_t n)
    : counts(counts_of(counts_argument, n, "counts")) {
    if (!displacements.is_none()) starts = counts_of(displacements, n, "displacements");
}

BlockCounts::BlockCounts(const py::object& buffers, const char* name,
                         const py::object& counts_argument, const py::object& displacements,
                         std::size_t n) {
    const bool is_list = py::isinstance<py::list>(buffers) || py::isinstance<py::tuple>(buffers);
    if (!is_list) {
        *this = BlockCounts(counts_argument, displacements, n);
        return;
    }
    if (!counts_argument.is_none() || !displacements.is_none())
        refuse(std::string(name) + " is a list of buffers, which has no counts or displacements");
    const bool writable = std::string_view(name) == "recv";
    std::vector<BufferView> parts;
    for (const py::handle part : buffers) {
        parts.push_back(writable ? BufferView::output(part, name) : BufferView::input(part, name));
        counts.push_back(parts.back().count());
    }
    if (parts.size() != n)
        refuse(std::string(name) + " is a list of " + std::to_string(parts.size()) +
               " buffers, expected one for each of the " + std::to_string(n) + " ranks");
    list = BufferView::spanning(std::move(parts), name, starts);
}

std::size_t BlockCounts::end() const {
    std::size_t sum = 0, last = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        sum += counts[i];
        if (!starts.empty() && counts[i] != 0) last = std::max(last, starts[i] + counts[i]);
    }
    return starts.empty() ? sum : last;
}

void BlockCounts::require_inside(const BufferView& buffer, const char* name) const {
    if (buffer.count() < end())
        refuse(std::string(name) + " has " + std::to_string(buffer.count()) +
               " elements, expected at least " + std::to_string(end()) + " for its blocks");
}

namespace {

/// Raises weft.Error unless both buffers of a call have one type and do not overlap.
void check_both(const CallObjects& objects) {
    if (objects.in.type() != objects.out.type())
        refuse(std::string("recv has elements of type ") + name_of(objects.out.type()) +
               ", expected " + name_of(objects.in.type()) + " as in send");
    if (objects.in.overlaps(objects.out))
        refuse("send and recv overlap; for a call in place pass one object twice");
}

/// Returns true if the call is in place because send is this rank's block of recv.
bool is_own_block(const CallObjects& objects, std::size_t start, std::size_t count) {
    const auto offset = start * weft_type_size(objects.out.type());
    return objects.in.data() == static_cast<const char*>(objects.out.data()) + offset &&
           objects.in.count() == count && objects.in.type() == objects.out.type();
}

}  // namespace

CallObjects view_both(py::object& send, py::object& recv, const char* shape, std::size_t n,
                      std::optional<std::size_t> own_block) {
    CallObjects objects;
    const bool is_in_place = send.is(recv) || send.is(in_place());
    if (!is_in_place) objects.in = BufferView::input(send, "send");
    if (recv.is_none()) {
        if (is_in_place) refuse("recv is None, expected a buffer for a call in place");
        recv = result_like(send, shape, n);
    }
    objects.out = BufferView::output(recv, "recv");
    if (is_in_place) return objects;
    if (own_block && is_own_block(objects, *own_block * objects.in.count(), objects.in.count()))
        objects.in = {};
    else
        check_both(objects);
    return objects;
}

CallObjects view_blocks(py::object& send, py::object& recv, BlockCounts* sent,
                        BlockCounts* received, std::size_t rank) {
    const bool sends_list = sent != nullptr && sent->list.is_set();
    const bool receives_list = received != nullptr && received->list.is_set();
    const std::size_t result_count = received != nullptr ? received->end() : sent->counts[rank];
    if (!sends_list && !receives_list) return view_both(send, recv, "flat", result_count);
    CallObjects objects;
    const bool is_in_place = send.is(in_place());
    if (!is_in_place)
        objects.in = sends_list ? std::move(sent->list) : BufferView::input(send, "send");
    if (recv.is_none()) recv = result_like(send[py::int_(0)], "flat", result_count);
    objects.out = receives_list ? std::move(received->list) : BufferView::output(recv, "recv");
    if (is_in_place) return objects;
    if (!sends_list && is_own_block(objects, received->starts[rank], received->counts[rank]))
        objects.in = {};
    else
        check_both(objects);
    return objects;
}

}  // namespace weft::python
