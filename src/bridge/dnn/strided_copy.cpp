// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/strided_copy.hpp"

#include <algorithm>

#include "bridge/amd.hpp"

namespace rb::dnn {
namespace {

struct Axis {
  std::int64_t length = 1;
  std::int64_t from = 0, to = 0;  ///< strides in elements
  bool flip = false;
};

constexpr std::int64_t kMaxPitch = 0x7fffffff;  // hipDeviceProp_t.memPitch of AMD's devices

/// Neighbours that follow each other without a gap on both sides become one axis. Axes are sorted, smallest target
/// stride first.
void merge(std::vector<Axis>& axes) {
  for (std::size_t i = 0; i + 1 < axes.size();) {
    const Axis& inner = axes[i];
    const Axis& outer = axes[i + 1];
    if (!inner.flip && !outer.flip && outer.from == inner.from * inner.length && outer.to == inner.to * inner.length) {
      axes[i].length *= outer.length;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

}  // namespace

std::vector<CopyStep> plan_copy(const Tensor4& from, const Tensor4& to, std::size_t element, bool flip) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < 4; ++i)
    if (from.dims[i] > 1) axes.push_back({from.dims[i], from.strides[i], to.strides[i], flip && i >= 2});
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.to < b.to; });
  merge(axes);

  const std::int64_t bytes = static_cast<std::int64_t>(element);
  std::int64_t width = bytes;
  if (!axes.empty() && !axes[0].flip && axes[0].from == 1 && axes[0].to == 1) {
    width = axes[0].length * bytes;
    axes.erase(axes.begin());
  }
  // The longest axis that a pitch can express becomes the rows; the others are loops.
  CopyStep step;
  step.width = static_cast<std::size_t>(width);
  std::size_t rows = axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t from_pitch = axes[i].from * bytes;
    const std::int64_t to_pitch = axes[i].to * bytes;
    if (axes[i].flip || from_pitch < width || to_pitch < width || from_pitch > kMaxPitch || to_pitch > kMaxPitch)
      continue;
    if (rows == axes.size() || axes[i].length > axes[rows].length) rows = i;
  }
  if (rows < axes.size()) {
    step.rows = static_cast<std::size_t>(axes[rows].length);
    step.from_pitch = static_cast<std::size_t>(axes[rows].from * bytes);
    step.to_pitch = static_cast<std::size_t>(axes[rows].to * bytes);
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(rows));
  } else {
    step.from_pitch = step.to_pitch = step.width;
  }

  std::vector<CopyStep> steps(1, step);
  for (const Axis& axis : axes) {
    const std::vector<CopyStep> before = std::move(steps);
    steps.clear();
    steps.reserve(before.size() * static_cast<std::size_t>(axis.length));
    for (std::int64_t i = 0; i < axis.length; ++i)
      for (CopyStep next : before) {
        next.from += i * axis.from * bytes;
        next.to += (axis.flip ? axis.length - 1 - i : i) * axis.to * bytes;
        steps.push_back(next);
      }
  }
  return steps;
}

Status copy_strided(const Tensor4& from, const void* source, const Tensor4& to, void* target, std::size_t element,
                    bool flip, hipStream_t stream) {
  for (const CopyStep& step : plan_copy(from, to, element, flip)) {
    const void* read = static_cast<const char*>(source) + step.from;
    void* write = static_cast<char*>(target) + step.to;
    if (step.rows == 1)
      RB_TRY(RB_HIP(hipMemcpyAsync, write, read, step.width, hipMemcpyDeviceToDevice, stream));
    else
      RB_TRY(RB_HIP(hipMemcpy2DAsync, write, step.to_pitch, read, step.from_pitch, step.width, step.rows,
                    hipMemcpyDeviceToDevice, stream));
  }
  return {};
}

}  // namespace rb::dnn
