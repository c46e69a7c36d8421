// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the cuBLAS tests share: device arrays, element types as host values, an fp64 reference of a matrix product.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "abi/cublas_functions.h"
#include "abi/cudart_functions.h"
#include "base/half.hpp"

namespace blas_test {

using Complex = std::complex<double>;

/// Bytes of an element and its value as complex fp64.
inline std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 4;
  }
}

inline void put(cudaDataType type, unsigned char* to, Complex value) {
  const auto real = static_cast<float>(value.real());
  const auto imaginary = static_cast<float>(value.imag());
  switch (type) {
    case CUDA_R_8I: {
      const auto v = static_cast<std::int8_t>(value.real());
      std::memcpy(to, &v, 1);
      break;
    }
    case CUDA_R_32I: {
      const auto v = static_cast<std::int32_t>(value.real());
      std::memcpy(to, &v, 4);
      break;
    }
    case CUDA_R_16F: {
      const std::uint16_t v = rb::float_to_half(real);
      std::memcpy(to, &v, 2);
      break;
    }
    case CUDA_R_16BF: {
      const std::uint16_t v = rb::float_to_bfloat16(real);
      std::memcpy(to, &v, 2);
      break;
    }
    case CUDA_R_64F: {
      const double v = value.real();
      std::memcpy(to, &v, 8);
      break;
    }
    case CUDA_C_32F:
      std::memcpy(to, &real, 4);
      std::memcpy(to + 4, &imaginary, 4);
      break;
    case CUDA_C_64F:
      std::memcpy(to, &value, 16);
      break;
    default:
      std::memcpy(to, &real, 4);
  }
}

inline Complex get(cudaDataType type, const unsigned char* from) {
  switch (type) {
    case CUDA_R_8I:
      return static_cast<double>(static_cast<std::int8_t>(*from));
    case CUDA_R_32I: {
      std::int32_t v = 0;
      std::memcpy(&v, from, 4);
      return static_cast<double>(v);
    }
    case CUDA_R_16F:
    case CUDA_R_16BF: {
      std::uint16_t v = 0;
      std::memcpy(&v, from, 2);
      return static_cast<double>(type == CUDA_R_16F ? rb::half_to_float(v) : rb::bfloat16_to_float(v));
    }
    case CUDA_R_64F: {
      double v = 0;
      std::memcpy(&v, from, 8);
      return v;
    }
    case CUDA_C_32F: {
      float v[2];
      std::memcpy(v, from, 8);
      return {static_cast<double>(v[0]), static_cast<double>(v[1])};
    }
    case CUDA_C_64F: {
      Complex v;
      std::memcpy(&v, from, 16);
      return v;
    }
    default: {
      float v = 0;
      std::memcpy(&v, from, 4);
      return static_cast<double>(v);
    }
  }
}

inline double unit_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return 0x1p-11;
    case CUDA_R_16BF:
      return 0x1p-8;
    case CUDA_R_64F:
    case CUDA_C_64F:
      return 0x1p-53;
    case CUDA_R_32I:
      return 0;
    default:
      return 0x1p-24;
  }
}

/// An array on the host with its twin on the device.
class Array {
 public:
  Array(cudaDataType type, std::size_t count) : type_(type), host_(count * bytes_of(type)) {
    EXPECT_EQ(cudaMalloc(&device_, host_.size() + 1), cudaSuccess);
  }
  ~Array() { cudaFree(device_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void fill(std::uint32_t seed) {
    const std::size_t count = host_.size() / bytes_of(type_);
    const bool complex = type_ == CUDA_C_32F || type_ == CUDA_C_64F;
    for (std::size_t i = 0; i < count; ++i) {
      const double real = next(seed);
      set(i, Complex(real, complex ? next(seed) : 0.0));
    }
    upload();
  }
  void fill_with(Complex value) {
    for (std::size_t i = 0; i < host_.size() / bytes_of(type_); ++i) set(i, value);
    upload();
  }
  void set(std::size_t i, Complex value) { put(type_, host_.data() + i * bytes_of(type_), value); }
  Complex at(std::size_t i) const { return get(type_, host_.data() + i * bytes_of(type_)); }
  void upload() { EXPECT_EQ(cudaMemcpy(device_, host_.data(), host_.size(), cudaMemcpyHostToDevice), cudaSuccess); }
  void download() { EXPECT_EQ(cudaMemcpy(host_.data(), device_, host_.size(), cudaMemcpyDeviceToHost), cudaSuccess); }
  template <class T = void>
  T* device() const {
    return static_cast<T*>(device_);
  }
  cudaDataType type() const { return type_; }
  std::vector<Complex> values() const {
    std::vector<Complex> out(host_.size() / bytes_of(type_));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i);
    return out;
  }

 private:
  double next(std::uint32_t& seed) const {
    seed = seed * 1664525u + 1013904223u;
    if (type_ == CUDA_R_8I) return static_cast<double>(static_cast<int>(seed >> 28) - 8);
    return static_cast<double>(seed >> 8) * 0x1p-23 - 1.0;
  }

  cudaDataType type_;
  std::vector<unsigned char> host_;
  void* device_ = nullptr;
};

struct Shape {
  cublasOperation_t ta = CUBLAS_OP_N, tb = CUBLAS_OP_N;
  int m = 0, n = 0, k = 0;
  int lda = 0, ldb = 0, ldc = 0;
  long long sa = 0, sb = 0, sc = 0;
  int batch = 1;

  std::size_t a_count() const { return count(lda, ta == CUBLAS_OP_N ? k : m, sa); }
  std::size_t b_count() const { return count(ldb, tb == CUBLAS_OP_N ? n : k, sb); }
  std::size_t c_count() const { return count(ldc, n, sc); }

 private:
  std::size_t count(int ld, int columns, long long stride) const {
    return static_cast<std::size_t>(stride) * static_cast<std::size_t>(batch - 1) +
           static_cast<std::size_t>(ld) * static_cast<std::size_t>(columns);
  }
};

/// A shape with rows padded by `pad` elements.
inline Shape shape(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, int pad = 0, int batch = 1) {
  Shape s;
  s.ta = ta;
  s.tb = tb;
  s.m = m;
  s.n = n;
  s.k = k;
  s.batch = batch;
  s.lda = (ta == CUBLAS_OP_N ? m : k) + pad;
  s.ldb = (tb == CUBLAS_OP_N ? k : n) + pad;
  s.ldc = m + pad;
  s.sa = static_cast<long long>(s.lda) * (ta == CUBLAS_OP_N ? k : m) + 3;
  s.sb = static_cast<long long>(s.ldb) * (tb == CUBLAS_OP_N ? n : k) + 5;
  s.sc = static_cast<long long>(s.ldc) * n + 7;
  return s;
}

/// Compares C with alpha op(A) op(B) + beta C0 in fp64, element by element, and checks that gaps kept their bytes.
/// `compute_unit`: rounding unit of the sums.
inline void expect_product(const Shape& s, const std::vector<Complex>& a, const std::vector<Complex>& b,
                           const std::vector<Complex>& before, const Array& c, Complex alpha, Complex beta,
                           double compute_unit) {
  const std::vector<Complex> got = c.values();
  std::vector<bool> written(got.size(), false);
  const double unit = unit_of(c.type());
  for (int item = 0; item < s.batch; ++item)
    for (int j = 0; j < s.n; ++j)
      for (int i = 0; i < s.m; ++i) {
        Complex sum = 0;
        double magnitude = 0;
        for (int l = 0; l < s.k; ++l) {
          const long long ia = item * s.sa + (s.ta == CUBLAS_OP_N ? i + static_cast<long long>(l) * s.lda
                                                                  : l + static_cast<long long>(i) * s.lda);
          const long long ib = item * s.sb + (s.tb == CUBLAS_OP_N ? l + static_cast<long long>(j) * s.ldb
                                                                  : j + static_cast<long long>(l) * s.ldb);
          Complex x = a[static_cast<std::size_t>(ia)];
          Complex y = b[static_cast<std::size_t>(ib)];
          if (s.ta == CUBLAS_OP_C) x = std::conj(x);
          if (s.tb == CUBLAS_OP_C) y = std::conj(y);
          sum += x * y;
          magnitude += std::abs(x * y);
        }
        const auto at = static_cast<std::size_t>(item * s.sc + i + static_cast<long long>(j) * s.ldc);
        const Complex old = beta == 0.0 ? Complex(0) : beta * before[at];
        const Complex want = alpha * sum + old;
        const double bound =
            unit * std::abs(want) * 1.01 + compute_unit * (s.k + 4) * (std::abs(alpha) * magnitude + std::abs(old));
        written[at] = true;
        ASSERT_LE(std::abs(got[at] - want), bound)
            << "item " << item << " row " << i << " column " << j << ": " << got[at] << " instead of " << want;
      }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!written[i]) {
      ASSERT_EQ(got[i], before[i]) << "element " << i << " lies in a gap";
    }
}

class Blas : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cublasCreate_v2(&handle_), CUBLAS_STATUS_SUCCESS); }
  void TearDown() override { EXPECT_EQ(cublasDestroy_v2(handle_), CUBLAS_STATUS_SUCCESS); }
  cublasHandle_t handle_ = nullptr;
};

}  // namespace blas_test
