// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/plan.hpp"

#include <algorithm>
#include <limits>

#include "bridge/amd.hpp"

namespace rb::dnn {
namespace {

constexpr std::size_t kAlignment = 256;  ///< of the workspace's parts, as hipMalloc gives

std::size_t align(std::size_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

miopenDataType_t amd_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return miopenHalf;
    case CUDNN_DATA_BFLOAT16:
      return miopenBFloat16;
    default:
      return miopenFloat;  // check_problem lets no other type pass
  }
}

bool is_transform(miopenConvAlgorithm_t algorithm) {
  return algorithm == miopenConvolutionAlgoFFT || algorithm == miopenConvolutionAlgoWinograd;
}

/// The `nth` fastest solution of a kind, -1 if there are fewer. Solutions are sorted by time.
template <class Predicate>
int nth_of(const std::vector<Solution>& solutions, int nth, Predicate&& predicate) {
  for (std::size_t i = 0; i < solutions.size(); ++i)
    if (predicate(solutions[i]) && nth-- == 0) return static_cast<int>(i);
  return -1;
}

int nth_of(const std::vector<Solution>& solutions, int nth, miopenConvAlgorithm_t algorithm) {
  return nth_of(solutions, nth, [&](const Solution& solution) { return solution.algorithm == algorithm; });
}

int fastest_exact(const std::vector<Solution>& solutions) {
  const int found = nth_of(solutions, 0, [](const Solution& solution) { return !is_transform(solution.algorithm); });
  return found >= 0 ? found : solutions.empty() ? -1 : 0;
}

int smallest_exact(const std::vector<Solution>& solutions) {
  int best = -1;
  for (const bool exact : {true, false}) {
    for (std::size_t i = 0; i < solutions.size(); ++i) {
      if (exact && is_transform(solutions[i].algorithm)) continue;
      if (best < 0 || solutions[i].workspace < solutions[static_cast<std::size_t>(best)].workspace)
        best = static_cast<int>(i);
    }
    if (best >= 0) return best;
  }
  return best;
}

Status set_tensor(miopenTensorDescriptor_t* target, cudnnDataType_t type, const Tensor4& tensor) {
  int dims[4];
  int strides[4];
  for (std::size_t i = 0; i < 4; ++i) {
    dims[i] = static_cast<int>(tensor.dims[i]);
    strides[i] = static_cast<int>(tensor.strides[i]);
  }
  RB_TRY(RB_MIOPEN(miopenCreateTensorDescriptor, target));
  return RB_MIOPEN(miopenSetTensorDescriptor, *target, amd_type(type), 4, dims, strides);
}

}  // namespace

int algorithm_count(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
    case Direction::backward_data:
      return CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
    case Direction::backward_filter:
      return CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  }
  return 0;
}

const char* algorithm_name(Direction direction, int algorithm) {
  static const char* const forward[] = {"IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
                                        "WINOGRAD",      "WINOGRAD_NONFUSED"};
  static const char* const data[] = {"ALGO_0", "ALGO_1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
  static const char* const filter[] = {"ALGO_0",    "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED",
                                       "FFT_TILING"};
  if (algorithm < 0 || algorithm >= algorithm_count(direction)) return "unknown";
  return (direction == Direction::forward ? forward : direction == Direction::backward_data ? data : filter)[algorithm];
}

std::array<int, kMaxAlgorithms> bind_algorithms(Direction direction, const std::vector<Solution>& solutions) {
  std::array<int, kMaxAlgorithms> bound;
  bound.fill(-1);
  const int smallest = smallest_exact(solutions);
  const int fastest = fastest_exact(solutions);
  const int gemm = nth_of(solutions, 0, miopenConvolutionAlgoGEMM);
  const int fft = nth_of(solutions, 0, miopenConvolutionAlgoFFT);
  const int fft2 = nth_of(solutions, 1, miopenConvolutionAlgoFFT);
  const int winograd = nth_of(solutions, 0, miopenConvolutionAlgoWinograd);
  const int winograd2 = nth_of(solutions, 1, miopenConvolutionAlgoWinograd);
  switch (direction) {
    case Direction::forward:
      bound[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM] = smallest;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM] = fastest;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_GEMM] = gemm;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_DIRECT] = nth_of(solutions, 0, miopenConvolutionAlgoDirect);
      bound[CUDNN_CONVOLUTION_FWD_ALGO_FFT] = fft;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING] = fft2;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD] = winograd;
      bound[CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED] = winograd2;
      break;
    case Direction::backward_data:
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_0] = smallest;
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_1] = fastest;
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT] = fft;
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING] = fft2;
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD] = winograd;
      bound[CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED] = winograd2;
      break;
    case Direction::backward_filter:
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0] = smallest;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1] = fastest;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT] = fft;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3] = gemm;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD] = winograd;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED] = winograd2;
      bound[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING] = fft2;
      break;
  }
  return bound;
}

bool is_trusted(const Problem& problem, const Solution& solution) {
  return !(problem.groups > 1 && problem.type != CUDNN_DATA_FLOAT &&
           solution.algorithm == miopenConvolutionAlgoWinograd);
}

void Plan::choose_layout() {
  const Tensor4* const tensors[3] = {&problem_.x, &problem_.w, &problem_.y};
  std::int64_t copied[2] = {};  // elements that must be copied if AMD is given NCHW, NHWC
  for (const Tensor4* tensor : tensors) {
    if (!tensor->is_nchw()) copied[0] += tensor->elements();
    if (!tensor->is_nhwc()) copied[1] += tensor->elements();
  }
  nhwc_ = copied[1] < copied[0];
  Tensor4* const targets[3] = {&amd_x_, &amd_w_, &amd_y_};
  const std::int64_t element = static_cast<std::int64_t>(problem_.element());
  for (std::size_t i = 0; i < 3; ++i) {
    *targets[i] = Tensor4::packed(tensors[i]->dims, nhwc_);
    copies_[i] = nhwc_ ? !tensors[i]->is_nhwc() : !tensors[i]->is_nchw();
    bytes_[i] = static_cast<std::size_t>(tensors[i]->extent() * element);
    packed_[i] = static_cast<std::size_t>(tensors[i]->elements() * element);
  }
  if (problem_.flip != 0 && problem_.w.dims[2] * problem_.w.dims[3] > 1) copies_[1] = true;
}

Status Plan::make_descriptors() {
  RB_TRY(set_tensor(&x_, problem_.type, amd_x_));
  RB_TRY(set_tensor(&w_, problem_.type, amd_w_));
  RB_TRY(set_tensor(&y_, problem_.type, amd_y_));
  RB_TRY(RB_MIOPEN(miopenCreateConvolutionDescriptor, &conv_));
  // MIOpen's plain mode is cross-correlation (facts of AMD's ABI, section 2.1); groups are a number beside it.
  RB_TRY(RB_MIOPEN(miopenInitConvolutionNdDescriptor, conv_, 2, problem_.pad.data(), problem_.stride.data(),
                   problem_.dilation.data(), miopenConvolution));
  RB_TRY(RB_MIOPEN(miopenSetConvolutionGroupCount, conv_, problem_.groups));
  // Programs are told which results repeat bit by bit, so only such solutions are asked for. A library without the
  // attribute leaves the answer at "not deterministic".
  deterministic_ = RB_AMD_RAW(miopenSetConvolutionAttribute, conv_, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1) ==
                   miopenStatusSuccess;
  return {};
}

Status Plan::ask_solutions(DnnHandle& handle) {
  std::size_t count = 0;
  miopenStatus_t asked = miopenStatusUnknownError;
  switch (problem_.direction) {
    case Direction::forward:
      asked = RB_AMD_RAW(miopenConvolutionForwardGetSolutionCount, handle.miopen, w_, x_, conv_, y_, &count);
      break;
    case Direction::backward_data:
      asked = RB_AMD_RAW(miopenConvolutionBackwardDataGetSolutionCount, handle.miopen, y_, w_, conv_, x_, &count);
      break;
    case Direction::backward_filter:
      asked = RB_AMD_RAW(miopenConvolutionBackwardWeightsGetSolutionCount, handle.miopen, y_, x_, conv_, w_, &count);
      break;
  }
  if (asked == miopenStatusNotImplemented || asked == miopenStatusUnsupportedOp) return {};
  RB_TRY(bridge::miopen_status(asked, "miopenConvolution*GetSolutionCount"));
  if (count == 0) return {};
  std::vector<miopenConvSolution_t> found(count);
  std::size_t given = 0;
  switch (problem_.direction) {
    case Direction::forward:
      asked = RB_AMD_RAW(miopenConvolutionForwardGetSolution, handle.miopen, w_, x_, conv_, y_, count, &given,
                         found.data());
      break;
    case Direction::backward_data:
      asked = RB_AMD_RAW(miopenConvolutionBackwardDataGetSolution, handle.miopen, y_, w_, conv_, x_, count, &given,
                         found.data());
      break;
    case Direction::backward_filter:
      asked = RB_AMD_RAW(miopenConvolutionBackwardWeightsGetSolution, handle.miopen, y_, x_, conv_, w_, count, &given,
                         found.data());
      break;
  }
  RB_TRY(bridge::miopen_status(asked, "miopenConvolution*GetSolution"));
  for (std::size_t i = 0; i < given && i < count; ++i) {
    Solution solution{found[i].solution_id, found[i].time, found[i].workspace_size, found[i].algorithm};
    if (!is_trusted(problem_, solution)) continue;
    // What the list says of the workspace can be a rounded figure; the query for one id is what it must have.
    miopenStatus_t sized = miopenStatusUnknownError;
    std::size_t needed = 0;
    switch (problem_.direction) {
      case Direction::forward:
        sized = RB_AMD_RAW(miopenConvolutionForwardGetSolutionWorkspaceSize, handle.miopen, w_, x_, conv_, y_,
                           solution.id, &needed);
        break;
      case Direction::backward_data:
        sized = RB_AMD_RAW(miopenConvolutionBackwardDataGetSolutionWorkspaceSize, handle.miopen, y_, w_, conv_, x_,
                           solution.id, &needed);
        break;
      case Direction::backward_filter:
        sized = RB_AMD_RAW(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize, handle.miopen, y_, x_, conv_, w_,
                           solution.id, &needed);
        break;
    }
    if (sized != miopenStatusSuccess) continue;  // not applicable after all
    solution.workspace = needed;
    solutions_.push_back(solution);
  }
  std::stable_sort(solutions_.begin(), solutions_.end(),
                   [](const Solution& a, const Solution& b) { return a.time < b.time; });
  return {};
}

Result<std::shared_ptr<const Plan>> Plan::build(DnnHandle& handle, const Problem& problem) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->problem_ = problem;
  plan->element_ = problem.element();
  plan->key_ = problem.hash();
  plan->bound_.fill(-1);
  plan->choose_layout();
  RB_TRY(plan->make_descriptors());
  RB_TRY(plan->ask_solutions(handle));
  plan->bound_ = bind_algorithms(problem.direction, plan->solutions_);
  return std::shared_ptr<const Plan>(std::move(plan));
}

Plan::~Plan() {
  if (x_ != nullptr) RB_AMD_RAW(miopenDestroyTensorDescriptor, x_);
  if (w_ != nullptr) RB_AMD_RAW(miopenDestroyTensorDescriptor, w_);
  if (y_ != nullptr) RB_AMD_RAW(miopenDestroyTensorDescriptor, y_);
  if (conv_ != nullptr) RB_AMD_RAW(miopenDestroyConvolutionDescriptor, conv_);
}

bool Plan::copies_output() const {
  return copies_[problem_.direction == Direction::forward ? 2 : problem_.direction == Direction::backward_data ? 0 : 1];
}

const Tensor4& Plan::amd_output() const {
  return problem_.direction == Direction::forward         ? amd_y_
         : problem_.direction == Direction::backward_data ? amd_x_
                                                          : amd_w_;
}

std::size_t Plan::scaling_bytes() const {
  return align(static_cast<std::size_t>(amd_output().elements()) * problem_.element()) + kAlignment;
}

WorkspaceParts Plan::parts(int solution, bool scaled) const {
  WorkspaceParts parts;
  std::size_t end = solutions_[static_cast<std::size_t>(solution)].workspace;
  std::size_t* const offsets[3] = {&parts.x, &parts.w, &parts.y};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!copies_[i]) continue;
    *offsets[i] = align(end);
    end = *offsets[i] + packed_[i];
  }
  if (scaled) {
    parts.result = align(end);
    parts.one = parts.result + scaling_bytes() - kAlignment;
    end = parts.result + scaling_bytes();
  }
  parts.total = end;
  return parts;
}

Status Plan::compile(DnnHandle& handle, int solution) const {
  const std::uint64_t id = solutions_[static_cast<std::size_t>(solution)].id;
  switch (problem_.direction) {
    case Direction::forward:
      return RB_MIOPEN(miopenConvolutionForwardCompileSolution, handle.miopen, w_, x_, conv_, y_, id);
    case Direction::backward_data:
      return RB_MIOPEN(miopenConvolutionBackwardDataCompileSolution, handle.miopen, y_, w_, conv_, x_, id);
    case Direction::backward_filter:
      return RB_MIOPEN(miopenConvolutionBackwardWeightsCompileSolution, handle.miopen, y_, x_, conv_, w_, id);
  }
  return {};
}

Status Plan::launch(DnnHandle& handle, int solution, void* x, void* w, void* y, void* workspace) const {
  const Solution& chosen = solutions_[static_cast<std::size_t>(solution)];
  if (chosen.workspace == 0) workspace = nullptr;  // the program's pointer was not looked at then
  switch (problem_.direction) {
    case Direction::forward:
      return RB_MIOPEN(miopenConvolutionForwardImmediate, handle.miopen, w_, w, x_, x, conv_, y_, y, workspace,
                       chosen.workspace, chosen.id);
    case Direction::backward_data:
      return RB_MIOPEN(miopenConvolutionBackwardDataImmediate, handle.miopen, y_, y, w_, w, conv_, x_, x, workspace,
                       chosen.workspace, chosen.id);
    case Direction::backward_filter:
      return RB_MIOPEN(miopenConvolutionBackwardWeightsImmediate, handle.miopen, y_, y, x_, x, conv_, w_, w, workspace,
                       chosen.workspace, chosen.id);
  }
  return {};
}

}  // namespace rb::dnn
