// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS handles, modes and texts on the software device.
#include <string>

#include "tests/soft/rocblas_support.hpp"

namespace {

using soft_test::Buffer;
using soft_test::RocblasHandle;

constexpr auto kOk = rocblas_status_success;

TEST(RocblasHandles, maps_defaults_of_rocblas_4_and_every_setter) {
  RocblasHandle handle;
  rocblas_pointer_mode pointer;
  rocblas_atomics_mode atomics;
  rocblas_math_mode math;
  size_t size = 0;
  ASSERT_EQ(kOk, rocblas_get_pointer_mode(handle, &pointer));
  EXPECT_EQ(rocblas_pointer_mode_host, pointer);
  ASSERT_EQ(kOk, rocblas_get_atomics_mode(handle, &atomics));
  EXPECT_EQ(rocblas_atomics_allowed, atomics);
  ASSERT_EQ(kOk, rocblas_get_math_mode(handle, &math));
  EXPECT_EQ(rocblas_default_math, math);
  ASSERT_EQ(kOk, rocblas_get_device_memory_size(handle, &size));
  EXPECT_EQ(size_t{32} << 20, size);
  ASSERT_EQ(kOk, rocblas_set_pointer_mode(handle, rocblas_pointer_mode_device));
  ASSERT_EQ(kOk, rocblas_get_pointer_mode(handle, &pointer));
  EXPECT_EQ(rocblas_pointer_mode_device, pointer);
  ASSERT_EQ(kOk, rocblas_set_atomics_mode(handle, rocblas_atomics_not_allowed));
  ASSERT_EQ(kOk, rocblas_get_atomics_mode(handle, &atomics));
  EXPECT_EQ(rocblas_atomics_not_allowed, atomics);
  EXPECT_EQ(rocblas_status_invalid_value, rocblas_set_pointer_mode(handle, static_cast<rocblas_pointer_mode>(2)));
  EXPECT_EQ(rocblas_status_invalid_value, rocblas_set_atomics_mode(handle, static_cast<rocblas_atomics_mode>(-1)));
  EXPECT_EQ(rocblas_status_invalid_value, rocblas_set_math_mode(handle, static_cast<rocblas_math_mode>(9)));
  EXPECT_EQ(rocblas_status_invalid_pointer, rocblas_get_pointer_mode(handle, nullptr));
}

TEST(RocblasHandles, maps_the_stream_and_rejects_dead_ones) {
  RocblasHandle handle;
  hipStream_t stream = nullptr, got = nullptr;
  ASSERT_EQ(hipSuccess, hipStreamCreate(&stream));
  EXPECT_EQ(kOk, rocblas_set_stream(handle, stream));
  EXPECT_EQ(kOk, rocblas_get_stream(handle, &got));
  EXPECT_EQ(stream, got);
  ASSERT_EQ(hipSuccess, hipStreamDestroy(stream));
  EXPECT_EQ(rocblas_status_invalid_value, rocblas_set_stream(handle, stream));
  EXPECT_EQ(rocblas_status_invalid_pointer, rocblas_get_stream(handle, nullptr));
  EXPECT_EQ(kOk, rocblas_set_stream(handle, nullptr));
}

TEST(RocblasHandles, rejects_null_freed_and_foreign_handles) {
  EXPECT_EQ(rocblas_status_invalid_handle, rocblas_create_handle(nullptr));
  rocblas_handle freed = nullptr;
  ASSERT_EQ(kOk, rocblas_create_handle(&freed));
  ASSERT_EQ(kOk, rocblas_destroy_handle(freed));
  RocblasHandle successor;
  auto all = soft_test::foreign_pointers();
  all.push_back(freed);
  hipStream_t stream = nullptr;
  size_t size = 0;
  for (void* pointer : all) {
    const auto bad = static_cast<rocblas_handle>(pointer);
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_destroy_handle(bad));
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_set_stream(bad, nullptr));
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_get_stream(bad, &stream));
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_set_pointer_mode(bad, rocblas_pointer_mode_host));
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_set_workspace(bad, nullptr, 0));
    EXPECT_EQ(rocblas_status_invalid_handle, rocblas_get_device_memory_size(bad, &size));
    EXPECT_FALSE(rocblas_is_managing_device_memory(bad));
  }
}

TEST(RocblasHandles, maps_the_workspace_of_user_and_library) {
  RocblasHandle handle;
  const Buffer memory(1 << 16);
  size_t size = 0;
  EXPECT_TRUE(rocblas_is_managing_device_memory(handle));
  ASSERT_EQ(kOk, rocblas_set_workspace(handle, memory.get(), memory.bytes()));
  ASSERT_EQ(kOk, rocblas_get_device_memory_size(handle, &size));
  EXPECT_EQ(memory.bytes(), size);
  EXPECT_TRUE(rocblas_is_user_managing_device_memory(handle));
  EXPECT_FALSE(rocblas_is_managing_device_memory(handle));
  EXPECT_EQ(rocblas_status_invalid_pointer,
            rocblas_set_workspace(handle, memory.get(), memory.bytes() + 1 + (1 << 20)));
  char host[64];
  EXPECT_EQ(rocblas_status_invalid_pointer, rocblas_set_workspace(handle, host, sizeof host));
  ASSERT_EQ(kOk, rocblas_set_workspace(handle, memory.get(), 0));
  EXPECT_TRUE(rocblas_is_managing_device_memory(handle));
  ASSERT_EQ(kOk, rocblas_set_device_memory_size(handle, 1 << 20));
  EXPECT_TRUE(rocblas_is_user_managing_device_memory(handle));
}

TEST(RocblasHandles, maps_a_size_query_without_running_anything) {
  RocblasHandle handle;
  size_t size = 1;
  EXPECT_EQ(rocblas_status_size_query_mismatch, rocblas_stop_device_memory_size_query(handle, &size));
  ASSERT_EQ(kOk, rocblas_start_device_memory_size_query(handle));
  EXPECT_EQ(rocblas_status_size_query_mismatch, rocblas_start_device_memory_size_query(handle));
  const float one = 1;
  EXPECT_EQ(rocblas_status_size_unchanged, rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, 2, 2,
                                                         2, &one, nullptr, 2, nullptr, 2, &one, nullptr, 2));
  ASSERT_EQ(kOk, rocblas_stop_device_memory_size_query(handle, &size));
  EXPECT_EQ(0u, size);
}

TEST(RocblasHandles, maps_version_status_texts_and_pointer_kinds) {
  size_t length = 0;
  ASSERT_EQ(kOk, rocblas_get_version_string_size(&length));
  std::vector<char> text(length);
  ASSERT_EQ(kOk, rocblas_get_version_string(text.data(), length));
  EXPECT_EQ(0, std::string(text.data()).rfind("4.4.0", 0)) << text.data();
  EXPECT_EQ(rocblas_status_invalid_size, rocblas_get_version_string(text.data(), length - 1));
  EXPECT_EQ(rocblas_status_invalid_pointer, rocblas_get_version_string(nullptr, length));
  EXPECT_STREQ("rocblas_status_invalid_size", rocblas_status_to_string(rocblas_status_invalid_size));
  EXPECT_NE(nullptr, rocblas_status_to_string(static_cast<rocblas_status>(77)));
  const Buffer memory(64);
  EXPECT_EQ(rocblas_pointer_mode_device, rocblas_pointer_to_mode(memory.get()));
  EXPECT_EQ(rocblas_pointer_mode_host, rocblas_pointer_to_mode(&length));
}

}  // namespace
