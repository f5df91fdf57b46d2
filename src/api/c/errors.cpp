// SPDX-License-Identifier: BSD-3-Clause
#include "api/c/errors.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "weft/error.hpp"

namespace weft::c_api {

namespace {

constexpr std::size_t kSentenceBytes = 2048;

/// Returns the sentence that weft_last_error() returns to the calling thread.
char* last_sentence() noexcept {
    static thread_local char sentence[kSentenceBytes] = "No call of this thread has failed.";
    return sentence;
}

}  // namespace

weft_status refuse(const char* function, Status status, std::string_view text) noexcept {
    constexpr std::string_view kPrefix = "weft_";
    // Some texts begin with the name of the call: "put: ..." becomes "weft_put: ...".
    const std::string_view name = std::string_view(function).substr(kPrefix.size());
    const bool has_name = text.starts_with(name) && text.substr(name.size()).starts_with(": ");
    char* const sentence = last_sentence();
    constexpr std::size_t kLengthMax = kSentenceBytes - 2;  // leaves room for '.' and '\0'
    const int length =
        std::snprintf(sentence, kLengthMax + 1, "%s%s%.*s", has_name ? kPrefix.data() : function,
                      has_name ? "" : ": ", static_cast<int>(text.size()), text.data());
    char* end = sentence + std::min(static_cast<std::size_t>(length), kLengthMax);
    while (end[-1] == '\n' || end[-1] == ' ') --end;
    if (std::strchr(".!?", end[-1]) == nullptr) *end++ = '.';
    *end = '\0';
    return static_cast<weft_status>(status);
}

weft_status refuse_exception(const char* function) noexcept {
    try {
        throw;
    } catch (const Error& problem) {
        return refuse(function, problem.status(), problem.what());
    } catch (const std::bad_alloc&) {
        return refuse(function, Status::memory, "the process is out of memory");
    } catch (const std::exception& problem) {
        return refuse(function, Status::environment, problem.what());
    } catch (...) {
        return refuse(function, Status::environment, "an exception of an unknown type was thrown");
    }
}

}  // namespace weft::c_api

static_assert(static_cast<int>(weft::Status::ok) == WEFT_OK);
static_assert(static_cast<int>(weft::Status::argument) == WEFT_ERR_ARGUMENT);
static_assert(static_cast<int>(weft::Status::memory) == WEFT_ERR_MEMORY);
static_assert(static_cast<int>(weft::Status::environment) == WEFT_ERR_ENVIRONMENT);
static_assert(static_cast<int>(weft::Status::peer) == WEFT_ERR_PEER);
static_assert(static_cast<int>(weft::Status::timeout) == WEFT_ERR_TIMEOUT);
static_assert(static_cast<int>(weft::Status::unsupported) == WEFT_ERR_UNSUPPORTED);

extern "C" const char* weft_last_error(void) {
    return weft::c_api::last_sentence();
}

extern "C" const char* weft_version(void) {
    return WEFT_LIBRARY_VERSION;
}
