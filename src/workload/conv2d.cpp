// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Preset conv2d: layers of ResNet (and its grouped and dilated relatives), forward and both gradients.
#include "workload/conv2d.hpp"

#include <algorithm>
#include <chrono>

namespace rb::workload {
namespace {

// He et al., "Deep Residual Learning for Image Recognition", table 1; groups as in ResNeXt, dilation as in DeepLab.
constexpr Layer kLayers[] = {
    {"stem-7x7-s2", 3, 64, 7, 2, 3, 1, 1, false},   {"basic-3x3", 64, 64, 3, 1, 1, 1, 1, false},
    {"down-3x3-s2", 64, 128, 3, 2, 1, 1, 1, false}, {"project-1x1-s2", 128, 256, 1, 2, 0, 1, 1, false},
    {"deep-3x3", 256, 256, 3, 1, 1, 1, 1, false},   {"grouped-3x3", 128, 128, 3, 1, 1, 1, 32, false},
    {"dilated-3x3", 64, 64, 3, 1, 2, 2, 1, false},  {"channels-last-3x3", 64, 64, 3, 1, 1, 1, 1, true},
};

int output_size(int size, const Layer& layer) {
  return (size + 2 * layer.padding - layer.dilation * (layer.filter - 1) - 1) / layer.stride + 1;
}

void set_sizes(int (&size)[4], int (&stride)[4], int n, int c, int h, int w, bool channels_last) {
  const int sizes[4] = {n, c, h, w};
  const int packed[4] = {c * h * w, h * w, w, 1};
  const int last[4] = {c * h * w, 1, w * c, c};
  std::copy_n(sizes, 4, size);
  std::copy_n(channels_last ? last : packed, 4, stride);
}

std::size_t count(const int (&size)[4]) {
  std::size_t product = 1;
  for (const int value : size) product *= static_cast<std::size_t>(value);
  return product;
}

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "backward-data";
    case Pass::backward_filter:
      break;
  }
  return "backward-filter";
}

class Handle {
 public:
  Handle() { RB_CHECK(cudnnCreate(&handle_)); }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

std::vector<Done> run_conv2d(const Settings& settings) {
  const int size = settings.size;
  const Precision precision = settings.precision;
  Random random(settings.seed);
  Handle handle;
  RB_CHECK(cudnnSetStream(handle.get(), nullptr));
  std::vector<Done> report;
  for (const Layer& layer : kLayers) {
    const int out = output_size(size, layer);
    if (out < 1) stop(std::string("--size is too small for layer ") + layer.name);
    Problem problem{};
    problem.layer = layer;
    problem.precision = precision;
    set_sizes(problem.x_size, problem.x_stride, settings.batch, layer.in, size, size, layer.channels_last);
    set_sizes(problem.w_size, problem.w_stride, layer.out, layer.in / layer.groups, layer.filter, layer.filter,
              layer.channels_last);
    set_sizes(problem.y_size, problem.y_stride, settings.batch, layer.out, out, out, layer.channels_last);
    const DeviceMemory x(random_values(precision, count(problem.x_size), 1.0f, random));
    const DeviceMemory w(random_values(precision, count(problem.w_size), 0.25f, random));
    const DeviceMemory dy(random_values(precision, count(problem.y_size), 1.0f, random));
    const std::size_t bytes = bytes_of(precision);
    const DeviceMemory y(count(problem.y_size) * bytes);
    const DeviceMemory dx(count(problem.x_size) * bytes);
    const DeviceMemory dw(count(problem.w_size) * bytes);
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      problem.x = pass == Pass::backward_data ? dx.get() : x.get();
      problem.w = pass == Pass::backward_filter ? dw.get() : w.get();
      problem.y = pass == Pass::forward ? y.get() : dy.get();
      attempt(report, std::string(layer.name) + " " + name_of(pass), [&](Done& done) {
        const auto begin = std::chrono::steady_clock::now();
        if (settings.graph)
          run_graph(handle.get(), pass, problem);
        else
          run_classic(handle.get(), pass, problem);
        RB_CHECK(cudaDeviceSynchronize());
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        const DeviceMemory& result = pass == Pass::forward ? y : pass == Pass::backward_data ? dx : dw;
        done.milliseconds = took.count();
        done.sum = sum_of(precision, result.read());
      });
    }
  }
  return report;
}

}  // namespace rb::workload
