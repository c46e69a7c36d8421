// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The checker thread: reference, verdict, trace record, refusal. It calls no HIP function, so that it can neither wait
// for the device nor disturb it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "base/log.hpp"
#include "base/os.hpp"
#include "bridge/amd.hpp"
#include "bridge/check_job.hpp"
#include "bridge/pending_checks.hpp"
#include "bridge/trap.hpp"
#include "trace/writer.hpp"

namespace rb::bridge::checks {
namespace {

using integrity::ElementType;
using integrity::Judgement;
using integrity::TensorView;
using integrity::Verdict;

struct Worker {
  std::mutex mutex;
  std::condition_variable arrived;
  std::condition_variable judged;
  std::deque<std::shared_ptr<Job>> queue;
  bool started = false;
};

Worker& worker() {
  static Worker& instance = *new Worker;
  return instance;
}

std::vector<std::int64_t> dims_of(const TensorView& view) {
  return {view.dims.begin(), view.dims.begin() + view.rank};
}

double scalar_at(const void* address, ElementType type, int part) {
  double values[2] = {0, 0};
  integrity::load(type, address, 1, 1, values);
  return values[part];
}

Result<integrity::Reference> reference_of(Job& job, const Convolution& of) {
  integrity::Scaling scaling{of.alpha, 0, of.beta, 0, nullptr};
  TensorView prior = job.output;
  if (job.before != nullptr) {
    prior.data = const_cast<void*>(job.before);
    scaling.prior = &prior;
  }
  const int threads = settings().threads;
  switch (of.direction) {
    case Direction::forward:
      return integrity::convolution_forward(of.problem, of.x, of.w, dims_of(of.y), scaling, threads);
    case Direction::backward_data:
      return integrity::convolution_backward_data(of.problem, of.w, of.y, dims_of(of.x), scaling, threads);
    case Direction::backward_filter:
      return integrity::convolution_backward_filter(of.problem, of.x, of.y, dims_of(of.w), scaling, threads);
  }
  return fail(Errc::internal, "defect", "unknown direction");
}

Result<integrity::Reference> reference_of(Job& job, const Gemm& of) {
  integrity::Scaling scaling{of.alpha, of.alpha_imag, of.beta, of.beta_imag, nullptr};
  const bool complex = integrity::components_of(of.scalar_type) == 2;
  if (job.alpha != nullptr) {
    scaling.alpha = scalar_at(job.alpha, of.scalar_type, 0);
    scaling.alpha_imag = complex ? scalar_at(job.alpha, of.scalar_type, 1) : 0;
  }
  if (job.beta != nullptr) {
    scaling.beta = scalar_at(job.beta, of.scalar_type, 0);
    scaling.beta_imag = complex ? scalar_at(job.beta, of.scalar_type, 1) : 0;
  }
  TensorView prior = job.output;
  if (job.before != nullptr) {
    prior.data = const_cast<void*>(job.before);
    scaling.prior = &prior;
  }
  return integrity::gemm(of.a, of.conjugate_a, of.b, of.conjugate_b, scaling, settings().threads);
}

/// A pattern that the inputs hold too proves nothing.
void doubt_poison(Job& job) {
  const auto holds = [&](const TensorView& input) {
    return integrity::component_of(input.type) == integrity::component_of(job.output.type) &&
           integrity::scan(input, job.poison).elements > 0;
  };
  const bool found = std::visit(
      [&](const auto& of) {
        if constexpr (std::is_same_v<std::decay_t<decltype(of)>, Gemm>) {
          return holds(of.a) || holds(of.b);
        } else {
          return (of.direction != Direction::backward_data && holds(of.x)) ||
                 (of.direction != Direction::backward_filter && holds(of.w)) ||
                 (of.direction != Direction::forward && holds(of.y));
        }
      },
      job.what);
  if (found) job.poison.certain = false;
}

Judgement judge_job(Job& job) {
  const Result<integrity::Reference> reference =
      std::visit([&](const auto& of) { return reference_of(job, of); }, job.what);
  if (!reference.ok()) {
    if (reference.fault().code != Errc::alloc_failed) job.unchecked_reason = "unchecked-type";
    return integrity::verdict_of(Verdict::unchecked, reference.fault().text);
  }
  if (job.poisoned) doubt_poison(job);
  Judgement judgement = integrity::judge(*reference, job.output, job.accuracy(), job.poisoned ? &job.poison : nullptr);
  if (job.compare_gaps && judgement.verdict != Verdict::corrupt) {
    const std::int64_t at = integrity::changed_between_elements(job.output, job.before, job.output.data);
    if (at >= 0) {
      judgement.verdict = Verdict::corrupt;
      judgement.reason = text("byte %lld between the elements was changed", static_cast<long long>(at));
    }
  }
  return judgement;
}

trace::ElementType traced_type(ElementType type) {
  switch (type) {
    case ElementType::fp64:
      return trace::ElementType::float64;
    case ElementType::fp32:
      return trace::ElementType::float32;
    case ElementType::fp16:
      return trace::ElementType::float16;
    case ElementType::bf16:
      return trace::ElementType::bfloat16;
    case ElementType::int8:
      return trace::ElementType::int8;
    case ElementType::int32:
      return trace::ElementType::int32;
    case ElementType::complex64:
      return trace::ElementType::complex32;
    case ElementType::complex128:
      return trace::ElementType::complex64;
  }
  return trace::ElementType::unknown;
}

std::string shape_text(const TensorView& view) {
  std::string shape;
  for (int i = 0; i < view.rank; ++i) {
    if (i > 0) shape += 'x';
    shape += std::to_string(view.dims[static_cast<std::size_t>(i)]);
  }
  shape += ' ';
  shape += integrity::name_of(view.type);
  if (view.rank == 4 && view.dims[1] > 1 && view.strides[1] == 1) shape += " NHWC";
  return shape;
}

void record(const Job& job, std::uint64_t duration_ns) {
  if (!trace::on()) return;
  const Judgement& judgement = job.judgement;
  const std::string shape = shape_text(job.output);
  const std::string tolerance = integrity::class_name(job.family(), job.accuracy());
  const auto total = static_cast<std::uint64_t>(judgement.elements);
  trace::CheckRecord record;
  record.call = job.call;
  record.entry = job.row;
  // The numbers of the two enumerations are the same.
  static_assert(static_cast<int>(Verdict::trapped) == static_cast<int>(trace::Verdict::trapped));
  record.verdict = static_cast<trace::Verdict>(judgement.verdict);
  record.type = traced_type(job.output.type);
  if (judgement.elements > 0) {
    record.level = 4;
    record.reference = trace::Reference::full_fp64;
    record.relative_l1 = judgement.relative_l1;
    record.relative_l2 = judgement.relative_l2;
    record.bound = judgement.bound;
    record.resolution = judgement.resolution;
    record.max_error = 0;
    record.elements = record.compared = total;
    record.outside = static_cast<std::uint64_t>(judgement.failing);
    record.zeros = static_cast<std::uint64_t>(std::llround(judgement.zero_share * static_cast<double>(total)));
    record.not_finite = static_cast<std::uint64_t>(judgement.nans + judgement.infinities);
    record.poisoned = static_cast<std::uint64_t>(judgement.unwritten);
    if (!judgement.worst.empty()) {
      const integrity::WorstElement& worst = judgement.worst.front();
      record.max_error = std::fabs(worst.got - worst.ref);
      record.tolerance = worst.tolerance;
      record.worst = worst.index / judgement.components;
    }
  }
  record.duration_ns = duration_ns;
  record.tensor = job.output_name;
  record.shape = shape;
  record.tolerance_class = tolerance;
  if (judgement.verdict != Verdict::pass) record.reason = reason_of(job);
  record.text = judgement.reason;
  record.reproducer = job.reproducer();
  trace::check(record);
}

void judge_and_report(Job& job) {
  const std::uint64_t begin = os::now_ns();
  try {
    job.judgement = judge_job(job);
  } catch (const std::bad_alloc&) {
    job.judgement = integrity::verdict_of(Verdict::unchecked, "the host has no memory for the reference");
  } catch (const std::exception& error) {
    job.judgement = integrity::verdict_of(Verdict::unchecked, error.what());
  }
  const auto line = [&](const std::string& reproducer) {
    return integrity::verdict_line(job.judgement, job.entry, job.output_name, dims_of(job.output),
                                   integrity::class_name(job.family(), job.accuracy()), job.call, reproducer);
  };
  job.line = line("");
  record(job, os::now_ns() - begin);
  const Verdict verdict = job.judgement.verdict;
  if (verdict == Verdict::drift || verdict == Verdict::corrupt)
    RB_LOG(error, "check", "%s", line(job.reproducer()).c_str());
  else if (verdict != Verdict::pass)
    RB_LOG(info, "check", "%s", job.line.c_str());
  else
    RB_LOG(debug, "check", "%s", job.line.c_str());
}

void release(Job& job) {
  for (const Block& block : job.blocks) give_block(block);
  job.blocks.clear();
}

void work(void*) {
  os::set_thread_name("rb-checker");
  Worker& self = worker();
  std::unique_lock lock(self.mutex);
  for (;;) {
    self.arrived.wait(lock, [&] { return !self.queue.empty(); });
    const std::shared_ptr<Job> job = std::move(self.queue.front());
    self.queue.pop_front();
    lock.unlock();
    // Copies that a device reset took away cannot be judged; whoever reset the device did not want the result.
    for (const Block& block : job->blocks) job->abandoned |= !block_lives(block);
    if (!job->abandoned) judge_and_report(*job);
    release(*job);
    lock.lock();
    job->done = true;
    // A caller that no longer waits is told by the next synchronising call, like everybody.
    if (!job->abandoned && !job->awaited && settings().trap && is_failure(job->judgement.verdict))
      remember_refusal(801, job->device, job->thread);
    detail::g_judged.fetch_add(1, std::memory_order_acq_rel);
    self.judged.notify_all();
  }
}

}  // namespace

const char* reason_of(const Job& job) {
  switch (job.judgement.verdict) {
    case Verdict::drift:
      return "check-drift";
    case Verdict::corrupt:
      return "check-corrupt";
    case Verdict::untrusted:
      return "check-untrusted";
    case Verdict::unchecked:
      return job.unchecked_reason;
    default:
      return "";
  }
}

bool is_failure(Verdict verdict) {
  if (verdict == Verdict::drift || verdict == Verdict::corrupt) return true;
  return settings().strict && (verdict == Verdict::untrusted || verdict == Verdict::unchecked);
}

void record_unchecked(const Job& job, const char* reason, const std::string& text) {
  RB_LOG(info, "check", "UNCHECKED %s %s: %s [%s]", job.entry, job.output_name, text.c_str(), reason);
  if (!trace::on()) return;
  trace::CheckRecord record;
  record.call = job.call;
  record.entry = job.row;
  record.verdict = trace::Verdict::unchecked;
  record.tensor = job.output_name;
  record.reason = reason;
  record.text = text;
  trace::check(record);
}

bool worker_ready() {
  Worker& self = worker();
  const std::lock_guard lock(self.mutex);
  if (!self.started) self.started = os::start_thread(&work, nullptr);
  return self.started;
}

void copies_arrived(void* argument) {
  const std::unique_ptr<std::shared_ptr<Job>> job(static_cast<std::shared_ptr<Job>*>(argument));
  Worker& self = worker();
  const std::lock_guard lock(self.mutex);
  self.queue.push_back(std::move(*job));
  detail::g_arrived.fetch_add(1, std::memory_order_acq_rel);
  self.arrived.notify_one();
}

bool await(Job& job) {
  // Looked at from time to time: a host function of the program may be given to the stream's way meanwhile, and a lost
  // device never completes the copies.
  constexpr auto kLook = std::chrono::milliseconds(2);
  constexpr unsigned kLooksPerQuery = 25;
  Worker& self = worker();
  std::unique_lock lock(self.mutex);
  for (unsigned looks = 1; !job.done; ++looks) {
    bool give_up = host_action_pending();
    if (!give_up && looks % kLooksPerQuery == 0) {
      lock.unlock();
      const hipError_t state = amd().hipStreamQuery(job.stream);
      lock.lock();
      give_up = !job.done && state != hipSuccess && state != hipErrorNotReady;
    }
    if (give_up && !job.done) {
      job.awaited = false;
      return false;
    }
    if (!job.done) self.judged.wait_for(lock, kLook);
  }
  return true;
}

void detail::settle_arrived() {
  Worker& self = worker();
  std::unique_lock lock(self.mutex);
  const std::uint64_t target = g_arrived.load(std::memory_order_acquire);
  self.judged.wait(lock, [&] { return g_judged.load(std::memory_order_acquire) >= target; });
}

}  // namespace rb::bridge::checks
