// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The calling side of checks: which uses are checked, copies ordered on the stream, poison, and what the caller is
// told.
#include "bridge/checks.hpp"

#include <algorithm>
#include <new>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "bridge/amd.hpp"
#include "bridge/check_job.hpp"
#include "bridge/context.hpp"
#include "bridge/live_table.hpp"
#include "bridge/pending_checks.hpp"
#include "bridge/trap.hpp"
#include "integrity/contracts.hpp"
#include "trace/writer.hpp"

namespace rb::bridge::checks {

using integrity::ElementType;
using integrity::TensorView;

// ---- which uses ---------------------------------------------------------------------------------------------------

namespace {

/// Products whose reference takes about ten seconds on two threads: above that only integrity.mode=all checks.
constexpr double kMostProducts = 4e10;

/// Uses of each (problem, solution). Open addressing without a lock; a full neighbourhood leaves its calls unchecked.
constexpr unsigned kSlots = 1u << 14;
constexpr unsigned kProbes = 32;
struct Use {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> count{0};
};
constinit Use g_uses[kSlots];

std::uint64_t spread(std::uint64_t key) {
  key = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15u;
  return key ^ (key >> 29);
}

bool count_use(std::uint64_t key) {
  const unsigned first = settings().first;
  const std::uint64_t place = spread(key);
  for (unsigned i = 0; i < kProbes; ++i) {
    Use& use = g_uses[(place + i) & (kSlots - 1)];
    std::uint64_t held = use.key.load(std::memory_order_relaxed);
    if (held == 0 && use.key.compare_exchange_strong(held, key, std::memory_order_relaxed)) held = key;
    if (held != key) continue;
    return use.count.load(std::memory_order_relaxed) < first &&
           use.count.fetch_add(1, std::memory_order_relaxed) < first;
  }
  return false;
}

}  // namespace

const Settings& settings() {
  static const Settings& instance = *new Settings([] {
    Settings read;
    read.trap = controls::text("integrity.policy") != "warn";
    read.strict = controls::flag("integrity.strict");
    read.wait = controls::text("integrity.wait") == "call";
    read.all = controls::text("integrity.mode") == "all";
    read.first = static_cast<unsigned>(std::clamp<long long>(controls::number("integrity.first"), 0, 1 << 30));
    read.threads = static_cast<int>(std::clamp<long long>(controls::number("integrity.threads"), 1, 64));
    return read;
  }());
  return instance;
}

bool detail::wanted_slow(std::uint64_t key) {
  Mode mode = g_mode.load(std::memory_order_relaxed);
  if (mode == Mode::unread) {
    const std::string text = controls::text("integrity.mode");
    mode = text == "off" ? Mode::off : text == "all" ? Mode::all : Mode::first;
    g_mode.store(mode, std::memory_order_relaxed);
  }
  return mode == Mode::all || (mode == Mode::first && count_use(key));
}

// ---- copies and poison --------------------------------------------------------------------------------------------

namespace {

/// A HIP call of ours: not traced as the program's, and its failure leaves no last error behind.
template <class... Parameters, class... Arguments>
bool quiet(hipError_t (*function)(Parameters...), Arguments... arguments) {
  if (function == nullptr) return false;
  if (function(arguments...) == hipSuccess) return true;
  if (amd().hipGetLastError != nullptr) static_cast<void>(amd().hipGetLastError());
  return false;
}

/// Why a check could not be set up; reason null: it could.
struct Trouble {
  const char* reason = nullptr;
  std::string text;
};

Trouble no_memory(std::size_t bytes) {
  return {"unchecked-memory", text("no staging memory for %zu bytes", bytes)};
}
Trouble refused(const char* what) {
  return {"unchecked-device", text("%s failed", what)};
}

Trouble stage(Job& job, const void* device, std::size_t bytes, void** host) {
  const Block block = take_block(bytes);
  if (block.data == nullptr) return no_memory(bytes);
  job.blocks.push_back(block);
  *host = block.data;
  if (!quiet(amd().hipMemcpyAsync, block.data, device, bytes, hipMemcpyDeviceToHost, job.stream))
    return refused("the copy of an operand");
  return {};
}

/// Copies an input and points its view at the copy.
Trouble stage_view(Job& job, TensorView& view) {
  return stage(job, view.data, view.bytes, &view.data);
}

/// Writes the pattern into an output that has no gaps. False: not possible on this device.
bool fill_device(Job& job, const TensorView& view) {
  const auto count = view.bytes;
  const std::uint64_t bits = job.poison.bits;
  switch (integrity::size_of(integrity::component_of(view.type))) {
    case 1:
      return quiet(amd().hipMemsetD8Async, view.data, static_cast<unsigned char>(bits), count, job.stream);
    case 2:
      return quiet(amd().hipMemsetD16Async, view.data, static_cast<unsigned short>(bits), count / 2, job.stream);
    case 4:
      return quiet(amd().hipMemsetD32Async, view.data, static_cast<int>(static_cast<std::uint32_t>(bits)), count / 4,
                   job.stream);
    default:
      break;
  }
  // Eight-byte patterns: written on the host side, into the block that takes the result later.
  TensorView host = view;
  host.data = job.output.data;
  integrity::fill(host, job.poison);
  return quiet(amd().hipMemcpyAsync, view.data, static_cast<const void*>(host.data), count, hipMemcpyHostToDevice,
               job.stream);
}

bool overlaps(const TensorView& a, const TensorView& b) {
  return integrity::ranges_overlap(reinterpret_cast<std::uint64_t>(a.data), a.bytes,
                                   reinterpret_cast<std::uint64_t>(b.data), b.bytes);
}

/// The output's block, a copy from before where one is needed, and poison where every element is due to be written and
/// nobody else owns a byte in between.
Trouble prepare_output(Job& job, const TensorView& device, bool reads_prior, bool aliased) {
  const bool gapless = device.bytes == static_cast<std::size_t>(device.elements()) * integrity::size_of(device.type);
  // Gaps may be other tensors' elements, which other streams may write meanwhile: compared only when there are none.
  job.compare_gaps = !gapless && !aliased && live_streams().count() == 0;
  if (reads_prior || job.compare_gaps) {
    void* before = nullptr;
    if (Trouble trouble = stage(job, device.data, device.bytes, &before); trouble.reason != nullptr) return trouble;
    job.before = before;
  }
  const Block block = take_block(device.bytes);
  if (block.data == nullptr) return no_memory(device.bytes);
  job.blocks.push_back(block);
  job.output = device;
  job.device_output = device.data;
  job.output.data = block.data;
  if (reads_prior || aliased || !gapless) return {};
  static constinit std::atomic<std::uint64_t> serial{0};
  job.poison = integrity::choose_poison(device.type, serial.fetch_add(1, std::memory_order_relaxed), {});
  job.poisoned = fill_device(job, device);
  return {};
}

Trouble check_inputs(std::initializer_list<const TensorView*> views) {
  for (const TensorView* view : views)
    if (const Status status = integrity::check_view(*view, "operand"); !status.ok())
      return {"unchecked-type", status.fault().text};
  return {};
}

Trouble set_up(Job& job, Convolution& of) {
  TensorView* const output = of.direction == Direction::forward         ? &of.y
                             : of.direction == Direction::backward_data ? &of.x
                                                                        : &of.w;
  if (Trouble trouble = check_inputs({&of.x, &of.w, &of.y}); trouble.reason != nullptr) return trouble;
  const double products = integrity::convolution_products({of.w.dims.begin(), of.w.dims.begin() + of.w.rank},
                                                          {of.y.dims.begin(), of.y.dims.begin() + of.y.rank});
  if (!settings().all && products > kMostProducts) return {"unchecked-size", text("%.3g products", products)};
  bool aliased = false;
  for (const TensorView* input : {&of.x, &of.w, &of.y}) aliased |= input != output && overlaps(*input, *output);
  const TensorView device = *output;
  for (TensorView* input : {&of.x, &of.w, &of.y})
    if (input != output)
      if (Trouble trouble = stage_view(job, *input); trouble.reason != nullptr) return trouble;
  return prepare_output(job, device, of.beta != 0, aliased);
}

Trouble set_up(Job& job, Gemm& of) {
  if (of.no_reference != nullptr) return {"unchecked-type", of.no_reference};
  if (Trouble trouble = check_inputs({&of.c}); trouble.reason != nullptr) return trouble;
  if (of.reads_inputs) {
    const double products = static_cast<double>(of.c.elements()) * static_cast<double>(of.a.dims[2]) *
                            static_cast<double>(integrity::components_of(of.c.type) * 2 - 1);
    if (!settings().all && products > kMostProducts) return {"unchecked-size", text("%.3g products", products)};
  } else {
    // alpha times nothing: a product of depth 1 with zeros, which the reference does not multiply.
    static const double zero[2] = {0, 0};
    of.alpha = of.alpha_imag = 0;
    of.a = integrity::strided_view(of.c.type, {of.c.dims[0], of.c.dims[1], 1}, {0, 0, 0}, zero, sizeof zero);
    of.b = integrity::strided_view(of.c.type, {of.c.dims[0], 1, of.c.dims[2]}, {0, 0, 0}, zero, sizeof zero);
  }
  if (of.device_alpha != nullptr) {
    const std::size_t bytes = integrity::size_of(of.scalar_type);
    void* host = nullptr;
    if (Trouble trouble = stage(job, of.device_alpha, bytes, &host); trouble.reason != nullptr) return trouble;
    job.alpha = host;
    if (Trouble trouble = stage(job, of.device_beta, bytes, &host); trouble.reason != nullptr) return trouble;
    job.beta = host;
  }
  bool aliased = false;
  for (TensorView* input : {&of.a, &of.b}) {
    if (!of.reads_inputs) break;
    if (Trouble trouble = check_inputs({input}); trouble.reason != nullptr) return trouble;
    aliased |= overlaps(*input, of.c);
    if (Trouble trouble = stage_view(job, *input); trouble.reason != nullptr) return trouble;
  }
  return prepare_output(job, of.c, of.device_beta != nullptr || of.beta != 0 || of.beta_imag != 0, aliased);
}

/// A check that finds no memory is no reason to fail the call.
Trouble set_up_safely(Job& job) {
  try {
    return std::visit([&](auto& of) { return set_up(job, of); }, job.what);
  } catch (const std::bad_alloc&) {
    return {"unchecked-memory", "the host has no memory"};
  }
}

const char* output_name(const Convolution& of) {
  return of.direction == Direction::forward ? "y" : of.direction == Direction::backward_data ? "dx" : "dw";
}
const char* output_name(const Gemm&) {
  return "C";
}

TensorView output_view(const Convolution& of) {
  return of.direction == Direction::forward ? of.y : of.direction == Direction::backward_data ? of.x : of.w;
}
TensorView output_view(const Gemm& of) {
  return of.c;
}

Fault refusal(const char* reason, std::string line, const std::string& reproducer) {
  Fault fault;
  fault.code = Errc::not_supported;
  fault.reason = reason;
  fault.text = std::move(line);
  if (!reproducer.empty()) fault.remedy = "reproduce with: " + reproducer;
  return fault;
}

/// Gives the job to the checker once the stream has come here. The copies must not be released before that, so without
/// a host function the stream is waited for.
bool hand_over(std::shared_ptr<Job> job) {
  auto argument = std::make_unique<std::shared_ptr<Job>>(std::move(job));
  Job& of = **argument;
  if (worker_ready() && quiet(amd().hipLaunchHostFunc, of.stream, static_cast<hipHostFn_t>(&copies_arrived),
                              static_cast<void*>(argument.get()))) {
    static_cast<void>(argument.release());  // copies_arrived takes it
    return true;
  }
  if (quiet(amd().hipStreamSynchronize, of.stream))
    for (const Block& block : of.blocks) give_block(block);
  of.blocks.clear();  // a device that does not answer may still write: those blocks are lost
  return false;
}

}  // namespace

void before_reset() {
  // Nothing was ever checked: nothing to wait for.
  if (detail::g_mode.load(std::memory_order_relaxed) == detail::Mode::unread ||
      detail::g_mode.load(std::memory_order_relaxed) == detail::Mode::off)
    return;
  static_cast<void>(quiet(amd().hipDeviceSynchronize));
  settle();
  static_cast<void>(forget_staging());
}

// ---- the scope ----------------------------------------------------------------------------------------------------

Scope::~Scope() {
  if (job_ != nullptr) [[unlikely]]
    abandon();
}

void Scope::abandon() {
  job_->abandoned = true;
  if (job_->blocks.empty())
    job_.reset();
  else
    hand_over(std::move(job_));
}

Status Scope::begin(hipStream_t stream, Convolution convolution) {
  auto job = std::make_shared<Job>();
  job->output_name = output_name(convolution);
  job->output = output_view(convolution);
  job->what = std::move(convolution);
  return start(stream, std::move(job));
}

Status Scope::begin(hipStream_t stream, Gemm gemm) {
  auto job = std::make_shared<Job>();
  job->output_name = output_name(gemm);
  job->output = output_view(gemm);
  job->what = std::move(gemm);
  return start(stream, std::move(job));
}

Status Scope::start(hipStream_t stream, std::shared_ptr<Job> started) {
  job_ = std::move(started);
  Job& job = *job_;
  job.stream = stream;
  job.device = current_device();
  job.thread = refusal_thread();
  if (const EntryInfo* info = call().info; info != nullptr) {
    job.entry = info->name;
    job.row = info->row;
    job.call = call().record.id;
  }
  Trouble trouble;
  hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
  if (amd().hipStreamIsCapturing != nullptr && quiet(amd().hipStreamIsCapturing, stream, &capture) &&
      capture != hipStreamCaptureStatusNone)
    trouble = {"unchecked-capture", "the stream is being captured"};
  else
    trouble = set_up_safely(job);
  if (trouble.reason == nullptr) return {};
  record_unchecked(job, trouble.reason, trouble.text);
  const bool refuse = settings().strict && settings().trap;
  abandon();
  if (refuse) return refusal(trouble.reason, "no check can vouch for this call: " + trouble.text, "");
  return {};
}

Status Scope::finish() {
  if (job_ == nullptr) return {};
  const std::shared_ptr<Job> job = std::move(job_);
  const bool copied = quiet(amd().hipMemcpyAsync, job->output.data, job->device_output, job->output.bytes,
                            hipMemcpyDeviceToHost, job->stream);
  if (!copied) job->abandoned = true;
  job->awaited = settings().wait;
  const bool handed = hand_over(job);
  if (!copied || !handed) {
    record_unchecked(*job, "unchecked-device", copied ? "the host function failed" : "the copy of the output failed");
    if (settings().strict && settings().trap)
      return refusal("unchecked-device", "no check can vouch for this call", "");
    return {};
  }
  if (!settings().wait) return {};
  if (!await(*job)) {
    RB_LOG(info, "check", "%s %s is judged late: its stream waits for the host", job->entry, job->output_name);
    return {};
  }
  if (!settings().trap || !is_failure(job->judgement.verdict)) return {};
  return refusal(reason_of(*job), job->line, job->reproducer());
}

}  // namespace rb::bridge::checks
