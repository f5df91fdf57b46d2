// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/types.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "faces/mpi/handle_map.hpp"
#include "faces/mpi/host.hpp"

namespace weft::mpi {

namespace {

constexpr std::uint32_t bit(weft_op op) {
    return 1U << op;
}
constexpr bool has_exact_sum(weft_type type) {
    return type == WEFT_FLOAT || type == WEFT_DOUBLE || type == WEFT_CFLOAT || type == WEFT_CDOUBLE;
}
constexpr std::uint32_t kOrder = bit(WEFT_MIN) | bit(WEFT_MAX);
constexpr std::uint32_t kArithmetic = bit(WEFT_SUM) | bit(WEFT_PROD);
constexpr std::uint32_t kLogical = bit(WEFT_LAND) | bit(WEFT_LOR) | bit(WEFT_LXOR);
constexpr std::uint32_t kBits = bit(WEFT_BAND) | bit(WEFT_BOR) | bit(WEFT_BXOR);

/// Sets of operations that MPI allows on kinds of types (MPI 4.0, 6.9.2).
constexpr std::uint32_t kCInteger = kOrder | kArithmetic | kLogical | kBits;
constexpr std::uint32_t kFortranInteger = kOrder | kArithmetic | kBits;
constexpr std::uint32_t kFloating = kOrder | kArithmetic;
constexpr std::uint32_t kComplex = kArithmetic;
constexpr std::uint32_t kPair = bit(WEFT_MINLOC) | bit(WEFT_MAXLOC);

template <class T>
constexpr weft_type integer() {
    constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<weft_type>((std::is_signed_v<T> ? WEFT_INT8 : WEFT_UINT8) + log);
}

/// Returns the types on which weft reduces. MPI does not list MPI_CHAR, but both hosts reduce it.
std::vector<std::tuple<MPI_Datatype, weft_type, std::uint32_t>> builtin_types() {
    return {
        {MPI_CHAR, integer<char>(), kCInteger},
        {MPI_SIGNED_CHAR, WEFT_INT8, kCInteger},
        {MPI_UNSIGNED_CHAR, WEFT_UINT8, kCInteger},
        {MPI_SHORT, integer<short>(), kCInteger},
        {MPI_UNSIGNED_SHORT, integer<unsigned short>(), kCInteger},
        {MPI_INT, integer<int>(), kCInteger},
        {MPI_UNSIGNED, integer<unsigned>(), kCInteger},
        {MPI_LONG, integer<long>(), kCInteger},
        {MPI_UNSIGNED_LONG, integer<unsigned long>(), kCInteger},
        {MPI_LONG_LONG, integer<long long>(), kCInteger},
        {MPI_UNSIGNED_LONG_LONG, integer<unsigned long long>(), kCInteger},
        {MPI_INT8_T, WEFT_INT8, kCInteger},
        {MPI_INT16_T, WEFT_INT16, kCInteger},
        {MPI_INT32_T, WEFT_INT32, kCInteger},
        {MPI_INT64_T, WEFT_INT64, kCInteger},
        {MPI_UINT8_T, WEFT_UINT8, kCInteger},
        {MPI_UINT16_T, WEFT_UINT16, kCInteger},
        {MPI_UINT32_T, WEFT_UINT32, kCInteger},
        {MPI_UINT64_T, WEFT_UINT64, kCInteger},
        {MPI_AINT, integer<MPI_Aint>(), kFortranInteger},
        {MPI_OFFSET, integer<MPI_Offset>(), kFortranInteger},
        {MPI_COUNT, integer<MPI_Count>(), kFortranInteger},
        {MPI_BYTE, WEFT_UINT8, kBits},
        {MPI_FLOAT, WEFT_FLOAT, kFloating},
        {MPI_DOUBLE, WEFT_DOUBLE, kFloating},
        {MPI_LONG_DOUBLE, WEFT_LONGDOUBLE, kFloating},
        {MPI_C_BOOL, WEFT_BOOL, kLogical},
        {MPI_C_FLOAT_COMPLEX, WEFT_CFLOAT, kComplex},
        {MPI_C_DOUBLE_COMPLEX, WEFT_CDOUBLE, kComplex},
        {MPI_INTEGER, WEFT_INT32, kFortranInteger},
        {MPI_LOGICAL, WEFT_INT32, kLogical},
        {MPI_REAL, WEFT_FLOAT, kFloating},
        {MPI_DOUBLE_PRECISION, WEFT_DOUBLE, kFloating},
        {MPI_COMPLEX, WEFT_CFLOAT, kComplex},
        {MPI_DOUBLE_COMPLEX, WEFT_CDOUBLE, kComplex},
        {MPI_INTEGER1, WEFT_INT8, kFortranInteger},
        {MPI_INTEGER2, WEFT_INT16, kFortranInteger},
        {MPI_INTEGER4, WEFT_INT32, kFortranInteger},
        {MPI_INTEGER8, WEFT_INT64, kFortranInteger},
        {MPI_REAL4, WEFT_FLOAT, kFloating},
        {MPI_REAL8, WEFT_DOUBLE, kFloating},
        {MPI_2INT, WEFT_INT32_INT, kPair},
        {MPI_FLOAT_INT, WEFT_FLOAT_INT, kPair},
        {MPI_DOUBLE_INT, WEFT_DOUBLE_INT, kPair},
        {MPI_SHORT_INT, WEFT_INT16_INT, kPair},
        {MPI_LONG_INT, WEFT_INT64_INT, kPair},
        {MPI_LONG_DOUBLE_INT, WEFT_LONGDOUBLE_INT, kPair},
        {MPI_2INTEGER, WEFT_INT32_INT, kPair},
    };
}

std::vector<std::pair<MPI_Op, weft_op>> builtin_operations() {
    return {{MPI_SUM, WEFT_SUM},   {MPI_PROD, WEFT_PROD},     {MPI_MIN, WEFT_MIN},
            {MPI_MAX, WEFT_MAX},   {MPI_LAND, WEFT_LAND},     {MPI_LOR, WEFT_LOR},
            {MPI_LXOR, WEFT_LXOR}, {MPI_BAND, WEFT_BAND},     {MPI_BOR, WEFT_BOR},
            {MPI_BXOR, WEFT_BXOR}, {MPI_MINLOC, WEFT_MINLOC}, {MPI_MAXLOC, WEFT_MAXLOC}};
}

/// Returns an element type of this size, if there is one, to carry data of user-defined operations.
std::optional<weft_type> type_of_size(std::size_t bytes) {
    for (const weft_type type :
         {WEFT_UINT8, WEFT_UINT16, WEFT_UINT32, WEFT_UINT64, WEFT_CDOUBLE, WEFT_LONGDOUBLE_INT})
        if (weft_type_size(type) == bytes) return type;
    return std::nullopt;
}

/// Lets weft call a user-defined MPI operation on elements of `type`; run() is weft's callback.
struct UserOpAdapter {
    void (*function)();
    Signature signature;
    MPI_Datatype type;
    std::size_t element_bytes;
    bool owns_type = false;  ///< `type` is a duplicate for a started call
    weft_op ours = WEFT_OP_NONE;
    std::shared_ptr<const MPI_Op> op;  ///< keeps the host's operation

    UserOpAdapter() = default;
    UserOpAdapter(const UserOpAdapter&) = delete;
    UserOpAdapter& operator=(const UserOpAdapter&) = delete;
    ~UserOpAdapter() {
        if (ours != WEFT_OP_NONE) weft_op_free(&ours);
        if (owns_type) PMPI_Type_free(&type);
    }

    void apply(void* in, void* inout, int count) {
        MPI_Fint fortran_type = 0;
        switch (signature) {
            case Signature::c:
                return reinterpret_cast<MPI_User_function*>(function)(in, inout, &count, &type);
            case Signature::fortran:
                fortran_type = PMPI_Type_c2f(type);
                return reinterpret_cast<void (*)(void*, void*, int*, MPI_Fint*)>(function)(
                    in, inout, &count, &fortran_type);
            case Signature::large_count:
                MPI_Count large = count;
                return reinterpret_cast<void (*)(void*, void*, MPI_Count*, MPI_Datatype*)>(
                    function)(in, inout, &large, &type);
        }
    }
    static void run(const void* in, void* inout, std::size_t count, void* self) {
        auto& adapter = *static_cast<UserOpAdapter*>(self);
        auto* from = static_cast<char*>(const_cast<void*>(in));
        auto* into = static_cast<char*>(inout);
        constexpr std::size_t kPieceMax = INT_MAX / 2;  // a function may add to its count
        for (std::size_t at = 0; at < count; at += kPieceMax) {
            const std::size_t offset = at * adapter.element_bytes;
            adapter.apply(from + offset, into + offset,
                          static_cast<int>(std::min(count - at, kPieceMax)));
        }
    }
};

struct Operation {
    std::optional<weft_op> builtin;  ///< empty: user-defined
    void (*function)() = nullptr;
    Signature signature = Signature::c;
    bool commutative = true;
    std::shared_ptr<const MPI_Op> held;  ///< frees the host's operation when no call uses it
    std::map<std::uint64_t, std::shared_ptr<UserOpAdapter>> by_type;
};

struct Tables {
    HandleMap<MPI_Datatype, TypeFacts> types;
    HandleMap<MPI_Op, Operation> operations;
    bool exact_sums = false;
    int type_key = MPI_KEYVAL_INVALID;  ///< attribute key; freeing a type calls forget_type()

    Tables();
};

Tables& tables() {
    static Tables& only = *new Tables;  // never destroyed: a program may free types while it exits
    return only;
}

int forget_type(MPI_Datatype type, int, void*, void*) {
    const std::lock_guard lock(tables_mutex);
    tables().types.remove(type);
    tables().operations.for_each([&](Operation& op) { op.by_type.erase(number_of(type)); });
    return MPI_SUCCESS;
}

Tables::Tables() {
    for (const auto& [type, element, allowed] : builtin_types()) {
        if (type == MPI_DATATYPE_NULL) continue;
        const std::size_t size = weft_type_size(element);
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        PMPI_Type_get_extent(type, &lower, &extent);
        if (extent != static_cast<MPI_Aint>(size)) continue;  // such as 8-byte Fortran integers
        TypeFacts facts{.size = size,
                        .extent = extent,
                        .contiguous = true,
                        .element = element,
                        .operations = allowed};
        if (auto blocks = allowed == kPair ? read_blocks(type) : std::nullopt;
            blocks && !blocks->is_one_block(size)) {
            facts.size = blocks->bytes();
            facts.contiguous = false;
            facts.blocks = std::make_shared<const BlockList>(std::move(*blocks));
        }
        types.add(type, std::move(facts));
    }
    for (const auto& [op, ours] : builtin_operations())
        operations.add(op, {.builtin = ours, .held = nullptr, .by_type = {}});
}

/// Adds a type to the tables. Returns nullptr if the type is invalid or not committed.
TypeFacts* add_type(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    const char unread = 0;  // a send to MPI_PROC_NULL checks the type and reads no data
    if (PMPI_Send(&unread, 1, type, MPI_PROC_NULL, 0, own_comm) != MPI_SUCCESS ||
        PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED ||
        PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS)
        return nullptr;
    TypeFacts facts{.size = static_cast<std::size_t>(size),
                    .extent = static_cast<MPI_Aint>(extent)};
    auto blocks = read_blocks(type);
    facts.contiguous = size == 0 || (extent == size && blocks && blocks->is_one_block(facts.size));
    if (!facts.contiguous && blocks)
        facts.blocks = std::make_shared<const BlockList>(std::move(*blocks));
    Tables& all = tables();
    if (!is_predefined(type)) {
        // Without the attribute, a later type with the same handle would get these facts.
        if (all.type_key == MPI_KEYVAL_INVALID)
            PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_type, &all.type_key, nullptr);
        if (PMPI_Type_set_attr(type, all.type_key, nullptr) != MPI_SUCCESS) return nullptr;
    }
    return &all.types.add(type, facts);
}

}  // namespace

TypeFacts* facts_for(MPI_Count count, MPI_Datatype type) {
    static TypeFacts no_data{.contiguous = true};
    if (count == 0) return &no_data;
    if (count < 0) return nullptr;
    if (TypeFacts* known = tables().types.find(type)) [[likely]]
        return known;
    return type == MPI_DATATYPE_NULL ? nullptr : add_type(type);
}

bool is_builtin(MPI_Datatype type) {
    const TypeFacts* const known = tables().types.find(type);
    return type == MPI_DATATYPE_NULL || (known != nullptr && known->element.has_value());
}

bool is_builtin_operation(MPI_Op op) {
    const Operation* const known = tables().operations.find(op);
    return op == MPI_OP_NULL || (known != nullptr && known->builtin.has_value());
}

namespace {

/// Asks the host, by a reduction of no elements, if it allows a predefined operation on a type.
/// Returns false if the program has only sessions: errors cannot be caught, so the host is called.
bool host_allows(MPI_Op op, weft_op ours, MPI_Datatype type, TypeFacts& facts) {
    if ((facts.asked & bit(ours)) == 0) {
        const ReturnedErrors errors;
        if (!errors.has_world()) return false;
        char none[2] = {};
        if (PMPI_Reduce_local(&none[0], &none[1], 0, type, op) == MPI_SUCCESS)
            facts.allowed |= bit(ours);
        facts.asked |= bit(ours);
    }
    return (facts.allowed & bit(ours)) != 0;
}

/// Returns an adapter for elements of a type. keeps_type: it needs the type until it is destroyed.
std::shared_ptr<UserOpAdapter> make_adapter(const Operation& known, MPI_Datatype type,
                                            std::size_t element_bytes, bool keeps_type) {
    auto adapter = std::make_shared<UserOpAdapter>();
    adapter->function = known.function;
    adapter->signature = known.signature;
    adapter->type = type;
    adapter->element_bytes = element_bytes;
    adapter->op = known.held;
    adapter->owns_type = keeps_type && PMPI_Type_dup(type, &adapter->type) == MPI_SUCCESS;
    // If weft_op_create() fails here only, the other ranks have chosen weft, so a call of the host
    // would deadlock. With WEFT_OP_NONE, the call fails on this rank, and MPI reports the error.
    if (weft_op_create(&UserOpAdapter::run, adapter.get(), known.commutative ? 1 : 0,
                       &adapter->ours) != WEFT_OK)
        adapter->ours = WEFT_OP_NONE;
    return adapter;
}

}  // namespace

Reduction reduction_for(MPI_Op op, MPI_Datatype type, TypeFacts& facts, bool starts) {
    using Method = Reduction::Method;
    Operation* const known = tables().operations.find(op);
    if (known == nullptr) return {};
    if (known->builtin) {
        const weft_op ours = *known->builtin;
        if ((facts.operations & bit(ours)) != 0) {
            const bool exact =
                ours == WEFT_SUM && tables().exact_sums && has_exact_sum(*facts.element);
            return {.method = Method::elements,
                    .type = *facts.element,
                    .op = exact ? WEFT_EXACT_SUM : ours,
                    .keeps = nullptr};
        }
        if (!host_allows(op, ours, type, facts)) return {};
        return {.method = Method::combined, .keeps = nullptr};
    }
    std::optional<weft_type> element = facts.element;
    const bool derived = !element;
    if (derived && facts.contiguous) element = type_of_size(facts.size);
    if (!element) return {.method = Method::combined, .keeps = known->held};
    std::shared_ptr<UserOpAdapter> adapter;
    const std::size_t bytes = weft_type_size(*element);
    if (starts && derived) {
        adapter = make_adapter(*known, type, bytes, true);
    } else {
        std::shared_ptr<UserOpAdapter>& made = known->by_type[number_of(type)];
        if (made == nullptr) made = make_adapter(*known, type, bytes, false);
        adapter = made;
    }
    return {.method = Method::elements, .type = *element, .op = adapter->ours, .keeps = adapter};
}

void make_sums_exact() {
    tables().exact_sums = true;
}

void note_user_operation(MPI_Op op, void (*function)(), Signature signature, bool commutative) {
    const auto free = [](const MPI_Op* held) {
        MPI_Op last = *held;
        PMPI_Op_free(&last);
        delete held;
    };
    const std::lock_guard lock(tables_mutex);
    tables().operations.add(op, {.builtin = std::nullopt,
                                 .function = function,
                                 .signature = signature,
                                 .commutative = commutative,
                                 .held = std::shared_ptr<const MPI_Op>(new MPI_Op(op), free),
                                 .by_type = {}});
}

bool forget_user_operation(MPI_Op op) {
    const std::lock_guard lock(tables_mutex);
    Operation* const known = tables().operations.find(op);
    if (known == nullptr || known->builtin) return false;
    tables().operations.remove(op);
    return true;
}

}  // namespace weft::mpi
