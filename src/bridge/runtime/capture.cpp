// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Captures are refused, so the questions about them have one answer: none is running.
#include "bridge/runtime_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::runtime {

using namespace bridge;

Status stream_get_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus* captureStatus_out,
                               unsigned long long* id_out) {
  RB_TRY(stream_is_capturing(stream, captureStatus_out));
  if (id_out != nullptr) *id_out = 0;
  return {};
}

Status stream_get_capture_info_v2(cudaStream_t stream, enum cudaStreamCaptureStatus* captureStatus_out,
                                  unsigned long long* id_out, cudaGraph_t* graph_out,
                                  const cudaGraphNode_t** dependencies_out, size_t* numDependencies_out) {
  RB_TRY(stream_get_capture_info(stream, captureStatus_out, id_out));
  if (graph_out != nullptr) *graph_out = nullptr;
  if (dependencies_out != nullptr) *dependencies_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  return {};
}

Status thread_exchange_stream_capture_mode(enum cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return fail(Errc::invalid_value, "null-output", "mode is null");
  const int wanted = static_cast<int>(*mode);
  if (wanted < 0 || wanted > 2) return fail(Errc::invalid_value, "bad-mode", "there is no capture mode %d", wanted);
  *mode = static_cast<cudaStreamCaptureMode>(exchange_capture_mode(wanted));
  return {};
}

}  // namespace rb::runtime
