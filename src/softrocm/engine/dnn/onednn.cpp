// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Convolution through oneDNN: the layouts that it wants, reorders from and to the tensors' own, everything prepared
// once for a problem and kept.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "softrocm/engine/dnn/convolution.hpp"
#include "softrocm/engine/dnn/layout.hpp"

namespace soft::engine {
namespace {

using dnnl::memory;
using wire::Direction;
using wire::Tensor4;

constexpr std::size_t kPlansKept = 512;

dnnl::engine& cpu() {
  static dnnl::engine& instance = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return instance;
}

/// One tensor of a plan: how it lies in the caller's float memory, how the primitive wants it, and the way between.
struct Side {
  memory::desc outside, inside;
  std::optional<dnnl::reorder> reorder;
};

struct Plan {
  Side x, w, y;
  dnnl::primitive convolution;
  memory::desc scratchpad;
  std::string implementation;
};

memory::dims strides_of(const Tensor4& tensor) {
  return {tensor.strides.begin(), tensor.strides.end()};
}

memory::desc describe(const Tensor4& tensor) {
  return {memory::dims(tensor.lengths.begin(), tensor.lengths.end()), memory::data_type::f32, strides_of(tensor)};
}

/// Filters of grouped convolutions get the group as a dimension of its own.
memory::desc describe_filter(const Tensor4& w, std::int64_t groups) {
  if (groups == 1) return describe(w);
  const auto& l = w.lengths;
  const auto& s = w.strides;
  const std::int64_t group_k = l[0] / groups;
  return {{groups, group_k, l[1], l[2], l[3]}, memory::data_type::f32, {group_k * s[0], s[0], s[1], s[2], s[3]}};
}

memory::desc any(const memory::desc& desc) {
  return {desc.dims(), memory::data_type::f32, memory::format_tag::any};
}

template <class PrimitiveDesc>
void take(Plan& plan, const PrimitiveDesc& desc) {
  plan.scratchpad = desc.scratchpad_desc();
  plan.implementation = desc.impl_info_str();
}

Side side(const memory::desc& outside, const memory::desc& inside, bool is_output) {
  Side result{outside, inside, std::nullopt};
  if (outside == inside) return result;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::library);
  const memory::desc& from = is_output ? inside : outside;
  const memory::desc& to = is_output ? outside : inside;
  result.reorder.emplace(dnnl::reorder::primitive_desc(cpu(), from, cpu(), to, attr));
  return result;
}

std::unique_ptr<Plan> make_plan(const wire::ConvolutionProblem& p) {
  auto plan = std::make_unique<Plan>();
  const memory::desc x = describe(p.x), w = describe_filter(p.w, p.groups), y = describe(p.y);
  const memory::desc any_x = any(x), any_w = any(w), any_y = any(y);
  const memory::dims stride{p.stride[0], p.stride[1]}, pad{p.pad[0], p.pad[1]};
  // oneDNN counts dilation from 0.
  const memory::dims dilation{p.dilation[0] - 1, p.dilation[1] - 1};
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {p.direction == Direction::forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training,
       algorithm, any_x, any_w, any_y, stride, dilation, pad, pad},
      attr, cpu());
  switch (p.direction) {
    case Direction::forward:
      take(*plan, forward);
      plan->convolution = dnnl::convolution_forward(forward);
      plan->x = side(x, forward.src_desc(), false);
      plan->w = side(w, forward.weights_desc(), false);
      plan->y = side(y, forward.dst_desc(), true);
      break;
    case Direction::backward_data: {
      const dnnl::convolution_backward_data::primitive_desc desc(
          {algorithm, any_x, any_w, any_y, stride, dilation, pad, pad}, attr, cpu(), forward);
      take(*plan, desc);
      plan->convolution = dnnl::convolution_backward_data(desc);
      plan->x = side(x, desc.diff_src_desc(), true);
      plan->w = side(w, desc.weights_desc(), false);
      plan->y = side(y, desc.diff_dst_desc(), false);
      break;
    }
    case Direction::backward_weights: {
      const dnnl::convolution_backward_weights::primitive_desc desc(
          {algorithm, any_x, any_w, any_y, stride, dilation, pad, pad}, attr, cpu(), forward);
      take(*plan, desc);
      plan->convolution = dnnl::convolution_backward_weights(desc);
      plan->x = side(x, desc.src_desc(), false);
      plan->w = side(w, desc.diff_weights_desc(), true);
      plan->y = side(y, desc.diff_dst_desc(), false);
      break;
    }
  }
  return plan;
}

/// Plans by problem and number of threads (oneDNN lays out its scratch memory for the threads at creation).
class Plans {
 public:
  std::shared_ptr<const Plan> find(const wire::ConvolutionProblem& problem, unsigned threads) {
    std::string key(reinterpret_cast<const char*>(&problem), sizeof problem);
    key.append(reinterpret_cast<const char*>(&threads), sizeof threads);
    {
      std::lock_guard lock(mutex_);
      if (const auto found = index_.find(key); found != index_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return found->second->plan;
      }
    }
    // Made outside the lock: generating code takes milliseconds. Two threads may make the same plan; one is dropped.
    std::shared_ptr<const Plan> plan = make_plan(problem);
    std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) return found->second->plan;
    order_.push_front({key, plan});
    index_.emplace(std::move(key), order_.begin());
    if (order_.size() > kPlansKept) {
      index_.erase(order_.back().key);
      order_.pop_back();
    }
    return plan;
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::list<Entry> order_;  ///< latest use first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

Plans& plans() {
  static Plans& instance = *new Plans;
  return instance;
}

/// An operand in the caller's memory as a float tensor that oneDNN can describe. 16-bit tensors and strides that oneDNN
/// does not take go through a float copy; a dense one keeps its order of dimensions, so that it is converted in one
/// run.
class Operand {
 public:
  Operand(const Tensor4& tensor, wire::Element element, void* memory)
      : tensor_(tensor), element_(element), memory_(memory) {
    direct_ = element == wire::Element::single && tensor.is_nested();
    linear_ = !direct_ && is_dense(tensor);
    seen_ = direct_ || linear_ ? tensor : packed(tensor);
    // The stride of a dimension of length 1 means nothing; oneDNN wants a sensible one.
    for (int i = 3; i >= 0; --i)
      if (seen_.lengths[i] == 1) seen_.strides[i] = i == 3 ? 1 : seen_.lengths[i + 1] * seen_.strides[i + 1];
  }
  const Tensor4& seen() const { return seen_; }

  float* prepare() {
    if (direct_) return static_cast<float*>(memory_);
    copy_ = Scratch(static_cast<std::size_t>(tensor_.count()) * sizeof(float));
    return copy_.floats();
  }
  float* load(unsigned threads) {
    float* data = prepare();
    if (linear_)
      convert_in(element_, memory_, data, tensor_.count(), threads);
    else if (!direct_)
      pack(tensor_, element_, memory_, data, threads);
    return data;
  }
  void store(unsigned threads) {
    if (linear_)
      convert_out(element_, copy_.floats(), memory_, tensor_.count(), threads);
    else if (!direct_)
      unpack(tensor_, element_, copy_.floats(), memory_, threads);
  }

 private:
  const Tensor4& tensor_;
  wire::Element element_;
  void* memory_;
  Tensor4 seen_;
  bool direct_, linear_;
  Scratch copy_;
};

/// One side's memory in the primitive's layout: the operand itself or kept scratch.
class Inside {
 public:
  Inside(const Side& side, float* outside, const dnnl::stream& stream)
      : side_(side), outside_(side.outside, cpu(), outside), stream_(stream) {
    if (side.reorder) {
      scratch_ = Scratch(side.inside.get_size());
      inside_ = memory(side.inside, cpu(), scratch_.get());
    } else {
      inside_ = outside_;
    }
  }
  memory& load() {
    if (side_.reorder) side_.reorder->execute(stream_, outside_, inside_);
    return inside_;
  }
  memory& get() { return inside_; }
  void store() {
    if (side_.reorder) side_.reorder->execute(stream_, inside_, outside_);
  }

 private:
  const Side& side_;
  memory outside_, inside_;
  dnnl::stream stream_;
  Scratch scratch_;
};

/// The problem with its tensors as oneDNN sees them.
wire::ConvolutionProblem seen_problem(const wire::ConvolutionProblem& problem, const Operand& x, const Operand& w,
                                      const Operand& y) {
  wire::ConvolutionProblem seen = problem;
  seen.element = wire::Element::single;
  seen.x = x.seen();
  seen.w = w.seen();
  seen.y = y.seen();
  return seen;
}

}  // namespace

void convolve_onednn(const wire::ConvolutionProblem& problem, const ConvolutionMemory& memory, unsigned threads) {
  threads = std::max(threads, 1u);
  if (omp_get_max_threads() != static_cast<int>(threads)) omp_set_num_threads(static_cast<int>(threads));
  Operand x(problem.x, problem.element, memory.x), w(problem.w, problem.element, memory.w),
      y(problem.y, problem.element, memory.y);
  const auto plan = plans().find(seen_problem(problem, x, w, y), threads);
  thread_local dnnl::stream stream(cpu());
  const Scratch pad(plan->scratchpad.get_size());
  dnnl::memory scratchpad(plan->scratchpad, cpu(), pad.get());
  switch (problem.direction) {
    case Direction::forward: {
      Inside in_x(plan->x, x.load(threads), stream), in_w(plan->w, w.load(threads), stream),
          in_y(plan->y, y.prepare(), stream);
      plan->convolution.execute(stream, {{DNNL_ARG_SRC, in_x.load()},
                                         {DNNL_ARG_WEIGHTS, in_w.load()},
                                         {DNNL_ARG_DST, in_y.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad}});
      in_y.store();
      return y.store(threads);
    }
    case Direction::backward_data: {
      Inside in_x(plan->x, x.prepare(), stream), in_w(plan->w, w.load(threads), stream),
          in_y(plan->y, y.load(threads), stream);
      plan->convolution.execute(stream, {{DNNL_ARG_DIFF_DST, in_y.load()},
                                         {DNNL_ARG_WEIGHTS, in_w.load()},
                                         {DNNL_ARG_DIFF_SRC, in_x.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad}});
      in_x.store();
      return x.store(threads);
    }
    case Direction::backward_weights: {
      Inside in_x(plan->x, x.load(threads), stream), in_w(plan->w, w.prepare(), stream),
          in_y(plan->y, y.load(threads), stream);
      plan->convolution.execute(stream, {{DNNL_ARG_SRC, in_x.load()},
                                         {DNNL_ARG_DIFF_DST, in_y.load()},
                                         {DNNL_ARG_DIFF_WEIGHTS, in_w.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad}});
      in_w.store();
      return w.store(threads);
    }
  }
}

std::string onednn_implementation(const wire::ConvolutionProblem& problem, unsigned threads) {
  const Operand x(problem.x, problem.element, nullptr), w(problem.w, problem.element, nullptr),
      y(problem.y, problem.element, nullptr);
  return plans().find(seen_problem(problem, x, w, y), threads)->implementation;
}

}  // namespace soft::engine
