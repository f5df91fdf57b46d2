// SPDX-License-Identifier: BSD-3-Clause
// entries.hpp - the entries of all algorithms, which registry.cpp lists.
#pragma once

#include "collectives/algorithm.hpp"

namespace weft::collectives {

// Return the algorithm's entry for one of its collectives.
[[nodiscard]] Algorithm bine(std::string_view collective);
[[nodiscard]] Algorithm circulant(std::string_view collective);
[[nodiscard]] Algorithm double_tree(std::string_view collective);
[[nodiscard]] Algorithm flat(std::string_view collective);
[[nodiscard]] Algorithm hierarchical(std::string_view collective);
[[nodiscard]] Algorithm in_place(std::string_view collective);
[[nodiscard]] Algorithm split_binary(std::string_view collective);
[[nodiscard]] Algorithm swing(std::string_view collective);

// Return the entry with this name, such as "binomial" or "linear".
[[nodiscard]] Algorithm broadcast_tree(std::string_view name);
[[nodiscard]] Algorithm reduce_tree(std::string_view name);
[[nodiscard]] Algorithm gather_tree(std::string_view name);
[[nodiscard]] Algorithm scatter_tree(std::string_view name);
[[nodiscard]] Algorithm scan_prefix(std::string_view name);
[[nodiscard]] Algorithm exscan_prefix(std::string_view name);

[[nodiscard]] Algorithm barrier_central();
[[nodiscard]] Algorithm barrier_dissemination();
[[nodiscard]] Algorithm barrier_multi_object();
[[nodiscard]] Algorithm barrier_multiplying();
[[nodiscard]] Algorithm barrier_tree();

[[nodiscard]] Algorithm broadcast_scatter_allgather();

[[nodiscard]] Algorithm allreduce_binary_blocks();
[[nodiscard]] Algorithm allreduce_butterfly();
[[nodiscard]] Algorithm allreduce_census();
[[nodiscard]] Algorithm allreduce_chain();
[[nodiscard]] Algorithm allreduce_dual_root();
[[nodiscard]] Algorithm allreduce_elimination();
[[nodiscard]] Algorithm allreduce_generalized();
[[nodiscard]] Algorithm allreduce_halving();
[[nodiscard]] Algorithm allreduce_halving_doubling();
[[nodiscard]] Algorithm allreduce_multi_object_large();
[[nodiscard]] Algorithm allreduce_multi_object_small();
[[nodiscard]] Algorithm allreduce_multiplying();
[[nodiscard]] Algorithm allreduce_pairwise_ring();
[[nodiscard]] Algorithm allreduce_pipelined_binary();
[[nodiscard]] Algorithm allreduce_recursive_doubling();
[[nodiscard]] Algorithm allreduce_reduce_broadcast();
[[nodiscard]] Algorithm allreduce_ring();

[[nodiscard]] Algorithm reduce_binary_blocks();
[[nodiscard]] Algorithm reduce_halving_doubling();
[[nodiscard]] Algorithm reduce_pairwise_ring();
[[nodiscard]] Algorithm reduce_ring();

[[nodiscard]] Algorithm gather_multi_object();

[[nodiscard]] Algorithm scatter_multi_object();

[[nodiscard]] Algorithm allgather_bruck();
[[nodiscard]] Algorithm allgather_direct();
[[nodiscard]] Algorithm allgather_gather_broadcast();
[[nodiscard]] Algorithm allgather_multi_object_bruck();
[[nodiscard]] Algorithm allgather_multi_object_ring();
[[nodiscard]] Algorithm allgather_recursive_doubling();
[[nodiscard]] Algorithm allgather_ring();

[[nodiscard]] Algorithm alltoall_bruck();
[[nodiscard]] Algorithm alltoall_direct();

[[nodiscard]] Algorithm reduce_scatter_halving();
[[nodiscard]] Algorithm reduce_scatter_pairwise();
[[nodiscard]] Algorithm reduce_scatter_recursive_halving();
[[nodiscard]] Algorithm reduce_scatter_ring();

[[nodiscard]] Algorithm scan_mapped_linear();

}  // namespace weft::collectives
