// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One convolution layer with its three passes, and the two ways to run a pass through cuDNN.
#pragma once

#include "workload/workload.hpp"

namespace rb::workload {

/// A layer as PyTorch's Conv2d has it: square filter, one stride, padding and dilation for both directions.
struct Layer {
  const char* name;
  int in, out, filter, stride, padding, dilation, groups;
  bool channels_last;
};

enum class Pass : std::uint8_t { forward, backward_data, backward_filter };

/// What a pass needs: sizes in NCHW order, strides in elements, the three tensors on the device.
struct Problem {
  Layer layer;
  Precision precision;
  int x_size[4], w_size[4], y_size[4];
  int x_stride[4], w_stride[4], y_stride[4];
  void *x, *w, *y;  ///< or their gradients: the pass writes one and reads two
};

/// cuDNN's classic functions, as PyTorch uses them: descriptors, algorithm by heuristic, workspace, call.
void run_classic(cudnnHandle_t handle, Pass pass, const Problem& problem);
/// cuDNN's graph functions, as PyTorch uses them: the descriptors of the graph are gone before the plan is built.
void run_graph(cudnnHandle_t handle, Pass pass, const Problem& problem);

}  // namespace rb::workload
