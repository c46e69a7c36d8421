// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a thread remembers of its last convolutions, so that a call with the same descriptors takes no lock that threads
// share and no memory.
#pragma once

#include <array>
#include <memory>

#include "bridge/dnn/plan.hpp"

namespace rb::dnn {

/// A classic call by its handles and the stamps of their contents. Handles name type-stable memory, so their objects
/// are read directly: a destroyed or changed one has another stamp.
struct RememberedCall {
  const void* handle = nullptr;
  const void* x = nullptr;
  const void* w = nullptr;
  const void* conv = nullptr;
  const void* y = nullptr;
  int key = -1;  ///< direction and algorithm
  int solution = -1;
  DnnHandle* handle_object = nullptr;
  const TensorDescriptor* x_object = nullptr;
  const FilterDescriptor* w_object = nullptr;
  const ConvolutionDescriptor* conv_object = nullptr;
  const TensorDescriptor* y_object = nullptr;
  std::array<std::uint64_t, 5> stamps{};  ///< handle, x, w, conv, y
  std::shared_ptr<const Plan> plan;

  bool holds(const void* a_handle, const void* a_x, const void* a_w, const void* a_conv, const void* a_y,
             int a_key) const {
    return handle_object != nullptr && handle == a_handle && x == a_x && w == a_w && conv == a_conv && y == a_y &&
           key == a_key && handle_object->stamp.load() == stamps[0] && x_object->stamp.load() == stamps[1] &&
           w_object->stamp.load() == stamps[2] && conv_object->stamp.load() == stamps[3] &&
           y_object->stamp.load() == stamps[4];
  }
};

struct ThreadCache {
  static constexpr std::size_t kCalls = 64;
  static constexpr std::size_t kPlans = 64;
  RememberedCall calls[kCalls];
  std::shared_ptr<const Plan> plans[kPlans];  ///< by the problem's hash

  RememberedCall& call_for(const void* x, const void* w, const void* conv, const void* y, int key) {
    const std::uint64_t mixed = bridge::handle_word(x) * 3 + bridge::handle_word(w) * 5 +
                                bridge::handle_word(conv) * 7 + bridge::handle_word(y) * 11 +
                                static_cast<std::uint64_t>(key) * 13;
    return calls[mixed % kCalls];
  }
};

namespace detail {
extern thread_local constinit ThreadCache* t_cache __attribute__((tls_model("initial-exec")));
ThreadCache* take_cache();
}  // namespace detail

inline ThreadCache& thread_cache() {
  return detail::t_cache != nullptr ? *detail::t_cache : *detail::take_cache();
}

}  // namespace rb::dnn
