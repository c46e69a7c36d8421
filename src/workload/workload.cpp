// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "workload/workload.hpp"

#include <cstring>

#include "base/half.hpp"
#include "base/result.hpp"

namespace rb::workload {

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      break;
  }
  return "bf16";
}

void stop(const std::string& message) {
  throw Failure{message};
}

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    stop(text("%s: CUDA error %d (%s)", call, static_cast<int>(status), cudaGetErrorString(status)));
}

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    stop(text("%s: cuDNN status %d (%s)", call, static_cast<int>(status), cudnnGetErrorString(status)));
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    stop(text("%s: cuBLAS status %d (%s)", call, static_cast<int>(status), cublasGetStatusString(status)));
}

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

float Random::uniform() {
  return static_cast<float>(static_cast<double>(next() >> 40) * 0x1p-23 - 1.0);
}

std::vector<unsigned char> random_values(Precision precision, std::size_t count, float scale, Random& random) {
  std::vector<unsigned char> out(count * bytes_of(precision));
  for (std::size_t i = 0; i < count; ++i) {
    const float value = scale * random.uniform();
    if (precision == Precision::fp32) {
      std::memcpy(out.data() + 4 * i, &value, 4);
    } else {
      const std::uint16_t bits = precision == Precision::fp16 ? float_to_half(value) : float_to_bfloat16(value);
      std::memcpy(out.data() + 2 * i, &bits, 2);
    }
  }
  return out;
}

double sum_of(Precision precision, const std::vector<unsigned char>& values) {
  double sum = 0;
  const std::size_t step = bytes_of(precision);
  for (std::size_t at = 0; at + step <= values.size(); at += step) {
    if (precision == Precision::fp32) {
      float value = 0;
      std::memcpy(&value, values.data() + at, 4);
      sum += static_cast<double>(value);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, values.data() + at, 2);
      sum += static_cast<double>(precision == Precision::fp16 ? half_to_float(bits) : bfloat16_to_float(bits));
    }
  }
  return sum;
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes != 0) RB_CHECK(cudaMalloc(&data_, bytes));
}

DeviceMemory::DeviceMemory(const std::vector<unsigned char>& host) : DeviceMemory(host.size()) {
  // On a failure here the delegated constructor has finished, so the destructor gives the memory back.
  RB_CHECK(cudaMemcpy(data_, host.data(), host.size(), cudaMemcpyHostToDevice));
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

std::vector<unsigned char> DeviceMemory::read() const {
  std::vector<unsigned char> out(bytes_);
  RB_CHECK(cudaMemcpy(out.data(), data_, bytes_, cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace rb::workload
