// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A matrix product in the words of the integrity checks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bridge/blas/product.hpp"
#include "bridge/checks.hpp"

namespace rb::blas {

/// Names the problem of a product within the process: sizes, types, transposes, layout, compute type.
std::uint64_t use_key(const Product& product);

/// What the check needs to know of a product that is no pointer batch. `reads_inputs` as in run_product. Scalars are
/// read here when they are in host memory.
bridge::checks::Gemm describe_check(const Product& product, bool reads_inputs);

/// The check of one call: one for a product or a strided batch, one for each matrix of a pointer batch.
class ProductCheck {
 public:
  /// Reads the arrays of a pointer batch from the device, which needs an idle stream: else, and for more than 64
  /// matrices, the call is recorded as unchecked. Faults: invalid_value for a matrix of the batch that is not device
  /// memory, and those of checks::Scope.
  Status begin(hipStream_t stream, const Product& product, bool reads_inputs);
  Status finish();

 private:
  Status begin_array(hipStream_t stream, const Product& product, bool reads_inputs);
  bridge::checks::Scope& add();
  std::vector<std::unique_ptr<bridge::checks::Scope>> scopes_;
};

}  // namespace rb::blas
