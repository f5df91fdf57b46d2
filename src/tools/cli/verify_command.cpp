// SPDX-License-Identifier: BSD-3-Clause
// verify_command.cpp - `weft verify`: checks whether programs implement a collective.
//
// Idea     The programs come from a generator, or from a file in the text form of `weft show`. With
//          --layout, they are first rewritten as the runtime does for these nodes.
// Holds    Status 0: valid; 1: not valid, with rank, step and reason; 2: unusable arguments.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/region.hpp"
#include "plan/schedule/localize.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/verify/verify.hpp"

namespace weft::tools {

namespace {

struct VerifyArguments {
    ProgramArguments programs;
    std::string file;
    bool json = false;
};

/// Returns the call with its programs: those of the file, or of a generator.
ProgramQuestion read_call_and_programs(const VerifyArguments& arguments) {
    const ProgramArguments& programs = arguments.programs;
    if (arguments.file.empty()) {
        const auto* const traits = collectives::find_collective(programs.collective);
        if (programs.algorithm.empty() && traits != nullptr && !traits->has_pairwise_counts())
            refuse("--algorithm or --program is missing; weft list has the algorithms");
        return read_question(programs);
    }
    if (is_neighborhood(programs.collective))
        refuse("--program is not valid with {}, expected --grid", programs.collective);
    return read_given(programs, arguments.file);
}

/// Sets the root of programs if the file has none: --root, or 0. Refuses another --root.
void set_root(const VerifyArguments& arguments, std::vector<plan::Program>& programs) {
    const auto size = static_cast<Rank>(programs.size());
    const std::optional<Rank> given = arguments.programs.root;
    const Rank root = programs.front().root;
    if (root < plan::kNoRank || root >= size)
        refuse("--program: root {} is not in 0..{}", root, size - 1);
    if (root != plan::kNoRank) {
        if (given && *given != root)
            refuse("--root: {} given, but {} holds programs of root {}", *given, arguments.file,
                   root);
        return;
    }
    if (!collectives::find_collective(arguments.programs.collective)->rooted()) return;
    if (given && (*given < 0 || *given >= size))
        refuse("--root: {} is not in 0..{}", *given, size - 1);
    for (plan::Program& program : programs) program.root = given.value_or(0);
}

std::vector<plan::Program> programs_of(const ProgramQuestion& call,
                                       const VerifyArguments& arguments) {
    if (call.given == nullptr) return generate_all(call);
    std::vector<plan::Program> programs = *call.given;
    set_root(arguments, programs);
    return programs;
}

/// Returns the contract of the call, which may refer to the call.
plan::Contract contract_of(const ProgramQuestion& call) {
    if (call.neighbors != nullptr)
        return collectives::neighbor_contract(call.neighbors->stencil, call.neighbors->data);
    return call.is_pairwise() ? call.counted->contract() : collectives::contract(call.collective);
}

/// Refuses programs of a file whose counts are not those of the call.
void check_block_sizes(const VerifyArguments& arguments, const ProgramQuestion& call,
                       const std::vector<plan::Program>& programs) {
    if (arguments.file.empty()) return;
    const auto blocks = static_cast<std::size_t>(programs.front().size);
    for (const plan::Program& program : programs) {
        std::vector<std::uint64_t> expected;
        if (call.counted != nullptr)
            expected = program.pairwise ? need(call.counted->program(program.rank)).unit_counts
                                        : call.counted->counts;
        else if (collectives::contract(call.collective).block_per_rank)
            expected.assign(blocks, call.request.elements / blocks);
        const bool even =
            std::ranges::adjacent_find(expected, std::not_equal_to{}) == expected.end();
        const std::vector<std::uint64_t>& found = program.unit_counts;
        if (found == expected || (found.empty() && even)) continue;
        refuse("--program: {} has the counts '{}' for rank {}, expected '{}'", arguments.file,
               fmt::join(found, " "), program.rank, fmt::join(expected, " "));
    }
}

/// Rewrites the programs as the runtime does if local peers map each other's memory: a payload that
/// fits a cell is published to local peers instead of put.
void publish_to_local_peers(std::vector<plan::Program>& programs,
                            const collectives::GenerateRequest& request) {
    const plan::Layout& layout = request.layout;
    if (!layout.is_given() || programs.front().pairwise) return;
    const plan::Program& first = programs.front();
    const std::uint64_t payload =
        first.partition(request.elements).unit_max() * first.slot_units * request.element_bytes;
    if (payload > base::kCellPayload) return;
    for (plan::Program& program : programs)
        program = plan::localize(
            program, [&layout, rank = program.rank](Rank peer) { return layout.near(peer, rank); });
}

Json to_json(const plan::Program& first, std::size_t ranks, const plan::Verdict& verdict) {
    return {{"algorithm", first.algorithm},
            {"ranks", ranks},
            {"valid", verdict.valid},
            {"rounds", verdict.rounds},
            {"messages", verdict.messages},
            {"signals", verdict.signals},
            {"bytes_total", verdict.bytes_total},
            {"bytes_sent_max", verdict.bytes_sent_max},
            {"reduced_bytes_max", verdict.reduced_bytes_max},
            {"ordered", verdict.ordered},
            {"bit_identical", verdict.bit_identical},
            {"synchronizing", verdict.synchronizing},
            {"slots_max", verdict.slots_max},
            {"descriptors_max", verdict.descriptors_max},
            {"error", verdict.error}};
}

int verify(const VerifyArguments& arguments) {
    const ProgramQuestion call = read_call_and_programs(arguments);
    auto programs = programs_of(call, arguments);
    check_block_sizes(arguments, call, programs);
    publish_to_local_peers(programs, call.request);
    const plan::Contract contract = contract_of(call);
    const bool in_place = call.neighbors == nullptr && !programs.front().pairwise;
    const plan::Verdict verdict = plan::verify({.programs = programs,
                                                .contract = &contract,
                                                .elements = call.request.elements,
                                                .element_bytes = call.request.element_bytes,
                                                .in_place = in_place,
                                                .mixed = in_place,
                                                .layout = call.request.layout});
    print_answer(to_json(programs.front(), programs.size(), verdict), arguments.json);
    return verdict.valid ? 0 : kAnswerIsNo;
}

}  // namespace

void add_verify_command(CLI::App& app) {
    const auto [command, arguments] = add_command<VerifyArguments>(
        app, "verify", "prove that the programs of a collective are right", &verify);
    add_program_arguments(*command, arguments->programs);
    add_option(*command, "--program", arguments->file,
               "a file with the programs of all ranks, as `weft show` prints them");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
