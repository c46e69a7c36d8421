// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/handle.hpp"

namespace rb::bridge {

const char* kind_name(Kind kind) {
  static const char* const names[] = {"handle",
                                      "cuDNN handle",
                                      "tensor descriptor",
                                      "filter descriptor",
                                      "convolution descriptor",
                                      "activation descriptor",
                                      "pooling descriptor",
                                      "op-tensor descriptor",
                                      "reduce descriptor",
                                      "dropout descriptor",
                                      "LRN descriptor",
                                      "CTC descriptor",
                                      "RNN descriptor",
                                      "RNN data descriptor",
                                      "attention descriptor",
                                      "spatial transformer descriptor",
                                      "tensor transform descriptor",
                                      "backend descriptor",
                                      "cuBLAS handle",
                                      "matmul descriptor",
                                      "matrix layout",
                                      "matmul preference",
                                      "cuSOLVER handle",
                                      "fat binary handle",
                                      "context"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(Kind::count));
  return names[static_cast<unsigned>(kind)];
}

Fault bad_handle(const char* what, const void* handle, Kind wanted) {
  const Kind kind = handle_kind(handle);
  if (handle == nullptr)
    return fail(Errc::invalid_handle, "handle-null", "%s is null; a %s is needed", what, kind_name(wanted));
  if (kind == Kind::none)
    return fail(Errc::invalid_handle, "handle-foreign",
                "%s is %p, which no call of this library returned; a %s is needed", what, handle, kind_name(wanted));
  if (kind != wanted)
    return fail(Errc::invalid_handle, "handle-kind", "%s is a %s; a %s is needed", what, kind_name(kind),
                kind_name(wanted));
  return fail(Errc::invalid_handle, "handle-freed", "%s is a %s that was destroyed", what, kind_name(kind));
}

}  // namespace rb::bridge
