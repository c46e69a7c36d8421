// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the tests of the software device's MIOpen and rocBLAS share: device buffers, and the libraries' functions with
// the prototypes of the API database.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/half.hpp"
#include "tests/soft/hip_support.hpp"

namespace soft_test {

/// Device memory with the bytes of a vector.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) { EXPECT_EQ(hipSuccess, hipMalloc(&data_, bytes ? bytes : 1)); }
  template <class T>
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size() * sizeof(T)) {
    EXPECT_EQ(hipSuccess, hipMemcpy(data_, values.data(), bytes_, hipMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { EXPECT_EQ(hipSuccess, hipFree(data_)); }

  void* get() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }
  /// Waits for the device and copies everything back.
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
    EXPECT_EQ(hipSuccess, hipMemcpy(values.data(), data_, bytes_, hipMemcpyDeviceToHost));
    return values;
  }
  template <class T>
  void write(const std::vector<T>& values) {
    EXPECT_EQ(hipSuccess, hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// `count` small integers that repeat with an odd period, so that sums are exact and shifted data shows.
inline std::vector<float> integers(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<int>(i * 7 % 23) * (seed + 3) + static_cast<int>(i % 5)) % 7 - 3);
  return values;
}

inline std::vector<std::uint16_t> to_half(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float value : values) result.push_back(rb::float_to_half(value));
  return result;
}

inline std::vector<std::uint16_t> to_bfloat16(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float value : values) result.push_back(rb::float_to_bfloat16(value));
  return result;
}

/// A live stream that ends with the test.
class Stream {
 public:
  Stream() { EXPECT_EQ(hipSuccess, hipStreamCreate(&stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { EXPECT_EQ(hipSuccess, hipStreamDestroy(stream_)); }
  hipStream_t get() const { return stream_; }

 private:
  hipStream_t stream_ = nullptr;
};

/// Pointers that were never a handle of ours.
inline const std::vector<void*>& foreign_pointers() {
  static int on_heap_like = 0;
  static const std::vector<void*>& all =
      *new std::vector<void*>{nullptr,
                              &on_heap_like,
                              reinterpret_cast<void*>(std::uintptr_t{8}),
                              reinterpret_cast<void*>(~std::uintptr_t{0}),
                              reinterpret_cast<void*>(std::uintptr_t{0x5a80'0000'0000'0001}),
                              reinterpret_cast<void*>(std::uintptr_t{0x5a9f'ffff'ffff'ffff})};
  return all;
}

}  // namespace soft_test

/// Declares a function of an AMD library with softrocm's prototype of it.
#define AMD_FUNCTION(name) extern "C" decltype(soft_##name) name;
