// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/descriptors.hpp"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "bridge/call_trace.hpp"

namespace rb::dnn {
namespace {

constexpr int kBadParam = CUDNN_STATUS_BAD_PARAM;
constexpr int kNotSupported = CUDNN_STATUS_NOT_SUPPORTED;

trace::ElementType element_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return trace::ElementType::float32;
    case CUDNN_DATA_DOUBLE:
      return trace::ElementType::float64;
    case CUDNN_DATA_HALF:
      return trace::ElementType::float16;
    case CUDNN_DATA_BFLOAT16:
      return trace::ElementType::bfloat16;
    case CUDNN_DATA_INT8:
      return trace::ElementType::int8;
    case CUDNN_DATA_UINT8:
      return trace::ElementType::uint8;
    case CUDNN_DATA_INT32:
      return trace::ElementType::int32;
    case CUDNN_DATA_INT64:
      return trace::ElementType::int64;
    default:
      return trace::ElementType::unknown;
  }
}

/// Only copies what fits: a descriptor may be set by another thread meanwhile, and its rank is then either value.
void copy_dims(std::int64_t* to, const int* from, int rank) {
  for (int i = 0; i < rank && i < 8; ++i) to[i] = from[i];
}

std::size_t write_tensor(const void* handle, void* buffer, std::size_t room) {
  const TensorDescriptor* tensor = tensors().find(handle);
  if (tensor == nullptr || room < sizeof(trace::TensorSnapshot)) return 0;
  trace::TensorSnapshot out;
  out.type = element_type(tensor->type);
  out.rank = static_cast<std::uint8_t>(tensor->rank);
  copy_dims(out.dims, tensor->dims.data(), tensor->rank);
  copy_dims(out.strides, tensor->strides.data(), tensor->rank);
  std::memcpy(buffer, &out, sizeof out);
  return sizeof out;
}

std::size_t write_filter(const void* handle, void* buffer, std::size_t room) {
  const FilterDescriptor* filter = filters().find(handle);
  if (filter == nullptr || room < sizeof(trace::TensorSnapshot)) return 0;
  trace::TensorSnapshot out;
  out.type = element_type(filter->type);
  out.rank = static_cast<std::uint8_t>(filter->rank);
  out.order = filter->format == CUDNN_TENSOR_NHWC ? 2 : 1;
  copy_dims(out.dims, filter->dims.data(), filter->rank);
  std::memcpy(buffer, &out, sizeof out);
  return sizeof out;
}

std::size_t write_convolution(const void* handle, void* buffer, std::size_t room) {
  const ConvolutionDescriptor* conv = convolutions().find(handle);
  if (conv == nullptr || room < sizeof(trace::ConvolutionSnapshot)) return 0;
  trace::ConvolutionSnapshot out;
  out.compute = element_type(conv->compute);
  out.rank = static_cast<std::uint8_t>(conv->rank);
  out.mode = static_cast<std::uint8_t>(conv->mode);
  out.math = static_cast<std::uint8_t>(conv->math);
  out.groups = static_cast<std::uint32_t>(conv->groups);
  for (int i = 0; i < conv->rank && i < 4; ++i) {
    out.pads[i] = conv->pad[static_cast<std::size_t>(i)];
    out.strides[i] = conv->stride[static_cast<std::size_t>(i)];
    out.dilations[i] = conv->dilation[static_cast<std::size_t>(i)];
  }
  std::memcpy(buffer, &out, sizeof out);
  return sizeof out;
}

[[gnu::constructor]] void register_snapshots() {
  bridge::register_snapshot(bridge::Kind::tensor, trace::SnapshotKind::tensor, write_tensor);
  bridge::register_snapshot(bridge::Kind::filter, trace::SnapshotKind::filter, write_filter);
  bridge::register_snapshot(bridge::Kind::convolution, trace::SnapshotKind::convolution, write_convolution);
}

Fault make_fault(Errc code, int native, const char* reason, const char* format, std::va_list arguments) {
  char buffer[1024];
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  Fault fault;
  fault.code = code;
  fault.native = native;
  fault.reason = reason;
  fault.text = buffer;
  return fault;
}

}  // namespace

void Stamp::renew() {
  static constinit std::atomic<std::uint64_t> next{1};
  store(next.fetch_add(1, std::memory_order_relaxed));
}

TensorTable& tensors() {
  return bridge::table_of<TensorDescriptor, bridge::Kind::tensor>();
}
FilterTable& filters() {
  return bridge::table_of<FilterDescriptor, bridge::Kind::filter>();
}
ConvolutionTable& convolutions() {
  return bridge::table_of<ConvolutionDescriptor, bridge::Kind::convolution>();
}

std::size_t element_bytes(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_UINT8x4:
      return 4;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    case CUDNN_DATA_INT8x32:
      return 32;
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return 4;
  }
  return 0;
}

const char* type_name(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return "fp32";
    case CUDNN_DATA_DOUBLE:
      return "fp64";
    case CUDNN_DATA_HALF:
      return "fp16";
    case CUDNN_DATA_BFLOAT16:
      return "bf16";
    case CUDNN_DATA_INT8:
      return "int8";
    case CUDNN_DATA_UINT8:
      return "uint8";
    case CUDNN_DATA_INT32:
      return "int32";
    case CUDNN_DATA_INT64:
      return "int64";
    case CUDNN_DATA_BOOLEAN:
      return "boolean";
    case CUDNN_DATA_INT8x4:
      return "int8x4";
    case CUDNN_DATA_UINT8x4:
      return "uint8x4";
    case CUDNN_DATA_INT8x32:
      return "int8x32";
    case CUDNN_DATA_FP8_E4M3:
      return "fp8 e4m3";
    case CUDNN_DATA_FP8_E5M2:
      return "fp8 e5m2";
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return "fast float for fp8";
  }
  return "an unknown type";
}

Fault bad_param(const char* reason, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Fault fault = make_fault(Errc::invalid_value, kBadParam, reason, format, arguments);
  va_end(arguments);
  return fault;
}

Fault not_supported(const char* reason, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Fault fault = make_fault(Errc::not_supported, kNotSupported, reason, format, arguments);
  va_end(arguments);
  return fault;
}

Status check_dims(int rank, const int* dims) {
  if (rank < 3) return bad_param("bad-dimension", "%d dimensions; at least 3 are needed", rank);
  if (rank > kMaxDims)
    return not_supported("too-many-dimensions", "%d dimensions; at most %d are possible", rank, kMaxDims);
  std::int64_t elements = 1;
  for (int i = 0; i < rank; ++i)
    if (dims[i] < 1) return bad_param("bad-dimension", "dimension %d is %d; it must be at least 1", i, dims[i]);
  for (int i = 0; i < rank; ++i) {
    elements *= dims[i];  // below 2^31 * 2^31: never overflows
    if (elements > INT32_MAX)
      return not_supported("too-many-elements", "more than 2^31 - 1 elements up to dimension %d (%d)", i, dims[i]);
  }
  return {};
}

void packed_strides(cudnnTensorFormat_t format, int rank, const int* dims, int* strides) {
  int stride = 1;
  if (format == CUDNN_TENSOR_NHWC && rank > 1) {
    strides[1] = 1;
    stride = dims[1];
    for (int i = rank - 1; i >= 2; --i) {
      strides[i] = stride;
      stride *= dims[i];
    }
    strides[0] = stride;
    return;
  }
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

std::uint64_t extent_bytes(const TensorDescriptor& tensor) {
  std::uint64_t last = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    last +=
        static_cast<std::uint64_t>(tensor.dims[at] - 1) * static_cast<std::uint64_t>(std::llabs(tensor.strides[at]));
  }
  return tensor.rank == 0 ? 0 : (last + 1) * element_bytes(tensor.type);
}

std::uint64_t extent_bytes(const FilterDescriptor& filter) {
  std::uint64_t elements = filter.rank == 0 ? 0 : 1;
  for (int i = 0; i < filter.rank; ++i)
    elements *= static_cast<std::uint64_t>(filter.dims[static_cast<std::size_t>(i)]);
  return elements * element_bytes(filter.type);
}

}  // namespace rb::dnn
