// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Tensors of any type and positive strides to packed float tensors in the order N, C, H, W and back.
#pragma once

#include "softrocm/engine/math/scratch.hpp"
#include "softrocm/wire/dnn.hpp"

namespace soft::engine {

/// Strides of a packed tensor with these lengths.
wire::Tensor4 packed(const wire::Tensor4& tensor);

/// Whether the elements fill their span without gaps, in whatever order of dimensions (NCHW, NHWC, ...).
bool is_dense(const wire::Tensor4& tensor);

/// dst (packed float) = src.
void pack(const wire::Tensor4& tensor, wire::Element element, const void* src, float* dst, unsigned threads);
/// dst = src (packed float), each element rounded once; gaps between elements keep their bytes.
void unpack(const wire::Tensor4& tensor, wire::Element element, const float* src, void* dst, unsigned threads);

/// Contiguous conversion over several threads.
void convert_in(wire::Element element, const void* src, float* dst, std::int64_t count, unsigned threads);
void convert_out(wire::Element element, const float* src, void* dst, std::int64_t count, unsigned threads);

}  // namespace soft::engine
