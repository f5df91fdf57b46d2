// SPDX-License-Identifier: BSD-3-Clause
// exact_sum.cpp - exact sums of local values in the C interface.
#include "weft/exact_sum.h"

#include "api/c/calls.hpp"
#include "base/element_types.hpp"
#include "run/reduce/exact_sum.hpp"
#include "run/reduce/reduce.hpp"

using namespace weft;
using namespace weft::c_api;
using run::ExactNumber;

static_assert(WEFT_EXACT_WORDS == ExactNumber::kWords);

namespace {

/// Returns a view of a sum, for reading only.
ExactNumber number_of(const weft_exact_sum* sum) {
    return ExactNumber(const_cast<std::int64_t*>(sum->words));
}

/// Calls a function of ExactNumber for a sum.
weft_status change(const char* function, weft_exact_sum* sum, void (ExactNumber::*fn)() noexcept) {
    return caught(function, [&]() -> Result<void> {
        if (sum == nullptr) return fail(Status::argument, "sum is NULL");
        (ExactNumber(sum->words).*fn)();
        return Done{};
    });
}

/// Calls add(number, element type) if the arguments are valid.
template <class Add>
weft_status add_to(const char* function, weft_exact_sum* sum, bool has_values, size_t count,
                   weft_type type, Add add) {
    return caught(function, [&]() -> Result<void> {
        if (sum == nullptr) return fail(Status::argument, "sum is NULL");
        const auto element_type = WEFT_TRY(type_of(type));
        if (!run::has_exact_sum(element_type) || run::part_type(element_type) != element_type)
            return fail(Status::argument, "type: {}, expected float, double, float16 or bfloat16",
                        base::name_of(element_type));
        if (!has_values && count != 0)
            return fail(Status::argument, "an array is NULL, expected {} values", count);
        add(ExactNumber(sum->words), element_type);
        return Done{};
    });
}

}  // namespace

extern "C" weft_status weft_exact_clear(weft_exact_sum* sum) {
    return change(__func__, sum, &ExactNumber::clear);
}

extern "C" weft_status weft_exact_add(weft_exact_sum* sum, const void* values, size_t count,
                                      weft_type type) {
    const auto add = [&](ExactNumber number, Type element_type) {
        number.add(run::best_kernels().exact(), element_type, values, count);
    };
    return add_to(__func__, sum, values != nullptr, count, type, add);
}

extern "C" weft_status weft_exact_add_products(weft_exact_sum* sum, const void* left,
                                               const void* right, size_t count, weft_type type) {
    const auto add = [&](ExactNumber number, Type element_type) {
        number.add_products(run::best_kernels().exact(), element_type, left, right, count);
    };
    return add_to(__func__, sum, left != nullptr && right != nullptr, count, type, add);
}

extern "C" weft_status weft_exact_merge(weft_exact_sum* sum, const weft_exact_sum* other) {
    return caught(__func__, [&]() -> Result<void> {
        if (sum == nullptr || other == nullptr)
            return fail(Status::argument, "{} is NULL", sum == nullptr ? "sum" : "other");
        const weft_exact_sum copy = *other;  // `other` may be `sum`
        ExactNumber(sum->words).merge(copy.words);
        return Done{};
    });
}

extern "C" weft_status weft_exact_pack(weft_exact_sum* sum) {
    return change(__func__, sum, &ExactNumber::pack);
}

extern "C" double weft_exact_round(const weft_exact_sum* sum) {
    return sum == nullptr ? run::double_of(run::kQuietNan)
                          : number_of(sum).rounded(run::kDoubleFormat);
}

extern "C" float weft_exact_round_float(const weft_exact_sum* sum) {
    const run::FloatState state;  // the caller's mode could replace a subnormal float by 0
    return static_cast<float>(sum == nullptr ? run::double_of(run::kQuietNan)
                                             : number_of(sum).rounded(run::kFloatFormat));
}

extern "C" double weft_exact_root(const weft_exact_sum* sum) {
    return sum == nullptr ? run::double_of(run::kQuietNan) : number_of(sum).root();
}
