// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Presets: programs that know only the CUDA API, as an application does. What they share: settings, checks of every
// CUDA status, device memory, seeded inputs, and the line of JSON at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/cublas_functions.h"
#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"

namespace rb::workload {

enum class Precision : std::uint8_t { fp32, fp16, bf16 };

struct Settings {
  std::string preset;
  Precision precision = Precision::fp32;
  int batch = 1;
  int size = 0;
  std::uint64_t seed = 1;
  bool graph = false;  ///< conv2d through cuDNN's graph API instead of the classic one
};

const char* name_of(Precision precision);
inline std::size_t bytes_of(Precision precision) {
  return precision == Precision::fp32 ? 4 : 2;
}

/// A CUDA call failed: the message names the call, the status and its text. An operation that fails is reported, and
/// the preset goes on with the next, so that one run shows all that is wrong.
struct Failure {
  std::string message;
};

void check(cudaError_t status, const char* call);
void check(cudnnStatus_t status, const char* call);
void check(cublasStatus_t status, const char* call);
[[noreturn]] void stop(const std::string& message);

/// A number generator with the same sequence on every host (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform in [-1, 1).
  float uniform();

 private:
  std::uint64_t state_;
};

/// `count` elements of a precision, uniform in [-scale, scale) and rounded to it, so that the device gets exactly what
/// the host holds.
std::vector<unsigned char> random_values(Precision precision, std::size_t count, float scale, Random& random);
/// Sum of the elements, for the report.
double sum_of(Precision precision, const std::vector<unsigned char>& values);

/// Device memory that is given back at the end of its scope.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  explicit DeviceMemory(const std::vector<unsigned char>& host);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  void* get() const { return data_; }
  std::vector<unsigned char> read() const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// One operation of the report.
struct Done {
  std::string name;
  double milliseconds = 0;
  double sum = 0;
  std::string error;  ///< empty: it went well
};

/// Runs one operation, which fills its Done, and keeps a failure in the report.
template <class Operation>
void attempt(std::vector<Done>& report, std::string name, Operation&& operation) {
  Done done;
  done.name = std::move(name);
  try {
    operation(done);
  } catch (const Failure& failure) {
    done.error = failure.message;
  }
  report.push_back(std::move(done));
}

/// Sizes that presets have of their own: an inspection with full checks stays within seconds.
inline constexpr int kConv2dSize = 28;
inline constexpr int kGemmSize = 192;

std::vector<Done> run_conv2d(const Settings& settings);
std::vector<Done> run_gemm(const Settings& settings);

}  // namespace rb::workload

#define RB_CHECK(call) ::rb::workload::check(call, #call)
