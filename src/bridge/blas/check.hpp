// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A matrix product in the words of the integrity checks.
#pragma once

#include <cstdint>

#include "bridge/blas/product.hpp"
#include "bridge/checks.hpp"

namespace rb::blas {

/// Names the problem of a product within the process: sizes, types, transposes, layout, compute type.
std::uint64_t use_key(const Product& product);

/// What the check needs to know. `reads_inputs` as in run_product. Scalars are read here when they are in host memory.
bridge::checks::Gemm describe_check(const Product& product, bool reads_inputs);

}  // namespace rb::blas
