// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Each handle argument of each mapped or emulated entry in turn null, freed, foreign and of the wrong kind, with the
// other arguments valid.
#include <map>
#include <set>

#include "abi/cublas_functions.h"
#include "abi/cuda_driver_functions.h"
#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"
#include "tests/api/generic_call.hpp"

namespace {

using generic::Export;
using generic::exports;
using generic::Outcome;

enum Variant : std::size_t { kNull, kFreed, kSmall, kMemory, kWrongKind, kVariants };
constexpr const char* kVariantNames[] = {"null", "freed", "a small number", "memory of the program", "another kind"};

struct Case {
  std::size_t entry;
  std::size_t argument;
  Variant variant;
};

/// "const cudnnTensorDescriptor_t" and the like without const.
std::string bare(const std::string& type) {
  return type.rfind("const ", 0) == 0 ? type.substr(6) : type;
}

bool is_stream(const std::string& type) {
  return type == "cudaStream_t" || type == "CUstream";
}

bool is_known(const std::string& type) {
  static const std::set<std::string> known = {"cudnnHandle_t",
                                              "cudnnTensorDescriptor_t",
                                              "cudnnFilterDescriptor_t",
                                              "cudnnConvolutionDescriptor_t",
                                              "cublasHandle_t",
                                              "cudaStream_t",
                                              "CUstream",
                                              "cudaEvent_t",
                                              "CUevent",
                                              "CUcontext",
                                              "cudnnBackendDescriptor_t"};
  return known.count(type) != 0;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < exports().size(); ++i) {
      const Export& entry = exports()[i];
      if (!entry.built || !entry.returns_status()) continue;
      // One library of a generation stands for the others: they share the code.
      if (!seen.insert(entry.name).second) continue;
      const std::vector<std::string> types = entry.split(entry.types, '|');
      for (std::size_t at = 0; at < types.size(); ++at)
        if ((entry.letters[at] == 'h' || entry.letters[at] == 'd') && is_known(bare(types[at])))
          for (std::size_t variant = 0; variant < kVariants; ++variant)
            out.push_back({i, at, static_cast<Variant>(variant)});
    }
    return out;
  }();
  return all;
}

template <class Handle>
std::uint64_t word(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

struct Values {
  std::uint64_t valid = 0, freed = 0;
};

/// One valid and one freed object of each kind.
std::map<std::string, Values> g_values;
std::map<std::string, void*> g_libraries;
generic::Scratch* g_scratch = nullptr;
void* g_device = nullptr;
CUcontext g_context = nullptr;

void host_function(void*) {}

template <class Handle, class Create, class Destroy>
void make(const char* type, Create create, Destroy destroy) {
  Handle valid = nullptr;
  Handle freed = nullptr;
  create(&valid);
  create(&freed);
  destroy(freed);
  g_values[type] = {word(valid), word(freed)};
}

void prepare() {
  g_scratch = new generic::Scratch;
  cuInit(0);
  cudaMalloc(&g_device, std::size_t{1} << 20);
  cuCtxGetCurrent(&g_context);
  make<cudnnHandle_t>("cudnnHandle_t", cudnnCreate, cudnnDestroy);
  make<cudnnTensorDescriptor_t>(
      "cudnnTensorDescriptor_t",
      [](cudnnTensorDescriptor_t* out) {
        cudnnCreateTensorDescriptor(out);
        cudnnSetTensor4dDescriptor(*out, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 4, 4);
      },
      cudnnDestroyTensorDescriptor);
  make<cudnnFilterDescriptor_t>(
      "cudnnFilterDescriptor_t",
      [](cudnnFilterDescriptor_t* out) {
        cudnnCreateFilterDescriptor(out);
        cudnnSetFilter4dDescriptor(*out, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1, 1, 1);
      },
      cudnnDestroyFilterDescriptor);
  make<cudnnConvolutionDescriptor_t>(
      "cudnnConvolutionDescriptor_t",
      [](cudnnConvolutionDescriptor_t* out) {
        cudnnCreateConvolutionDescriptor(out);
        cudnnSetConvolution2dDescriptor(*out, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
      },
      cudnnDestroyConvolutionDescriptor);
  make<cudnnBackendDescriptor_t>(
      "cudnnBackendDescriptor_t",
      [](cudnnBackendDescriptor_t* out) { cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, out); },
      cudnnBackendDestroyDescriptor);
  make<cublasHandle_t>("cublasHandle_t", cublasCreate_v2, cublasDestroy_v2);
  make<cudaStream_t>(
      "cudaStream_t", [](cudaStream_t* out) { cudaStreamCreate(out); }, cudaStreamDestroy);
  make<cudaEvent_t>(
      "cudaEvent_t", [](cudaEvent_t* out) { cudaEventCreate(out); }, cudaEventDestroy);
  g_values["CUstream"] = g_values["cudaStream_t"];
  g_values["CUevent"] = g_values["cudaEvent_t"];
  CUcontext freed = nullptr;
  cuCtxCreate_v2(&freed, 0, 0);
  cuCtxDestroy_v2(freed);
  g_values["CUcontext"] = {word(g_context), word(freed)};
  cuCtxSetCurrent(g_context);
}

std::uint64_t bad_value(const std::string& type, Variant variant) {
  static std::uint64_t garbage[64];
  switch (variant) {
    case kNull:
      return 0;
    case kFreed:
      return g_values[type].freed;
    case kSmall:
      return 0x1234;
    case kMemory:
      for (std::uint64_t& one : garbage) one = 0xDEADBEEFCAFEF00Dull;
      return word(garbage);
    default:
      return g_values[type == "cudnnHandle_t" ? "cudnnTensorDescriptor_t" : "cudnnHandle_t"].valid;
  }
}

Outcome run(std::size_t index) {
  const Case& one = cases()[index];
  const Export& entry = exports()[one.entry];
  void*& library = g_libraries[entry.soname];
  if (library == nullptr) library = generic::open_library(entry.soname);
  void* const function = library != nullptr ? dlsym(library, entry.name) : nullptr;
  if (function == nullptr) return {Outcome::missing, 0};
  cuCtxSetCurrent(g_context);
  g_scratch->reset();
  const float unit = 1;
  std::memcpy(reinterpret_cast<void*>(g_scratch->address()), &unit, sizeof unit);  // for alpha and beta
  const std::vector<std::string> types = entry.split(entry.types, '|');
  std::vector<std::uint64_t> words;
  for (std::size_t at = 0; entry.letters[at] != '\0'; ++at) {
    const std::string type = bare(types[at]);
    if (at == one.argument)
      words.push_back(bad_value(type, one.variant));
    else if (is_known(type))
      words.push_back(g_values[type].valid);
    else if (type.find("ostFn") != std::string::npos || type.find("Fn_t") != std::string::npos ||
             type.find("allback") != std::string::npos)
      words.push_back(word(&host_function));
    else if (entry.letters[at] == 'D' || type == "CUdeviceptr")
      words.push_back(word(g_device) + 4096 * at);
    else if (entry.letters[at] == 'v' || entry.letters[at] == 'h')
      words.push_back(1);
    else if (entry.letters[at] == 's')
      words.push_back(g_scratch->address());
    else
      words.push_back(g_scratch->address(256 * (at + 1)));
  }
  const long value = generic::call(function, entry, words);
  return {g_scratch->intact() ? Outcome::done : Outcome::damaged, static_cast<int>(value)};
}

std::string describe(std::size_t index) {
  const Case& one = cases()[index];
  return std::string(exports()[one.entry].name) + ", argument " + std::to_string(one.argument + 1) + " " +
         kVariantNames[one.variant];
}

/// Successes that CUDA documents or that were measured with the genuine libraries.
bool may_succeed(const Case& one) {
  const Export& entry = exports()[one.entry];
  const std::string name = entry.name;
  const std::string type = bare(entry.split(entry.types, '|')[one.argument]);
  if (one.variant == kNull) {
    if (is_stream(type)) return true;  // the default stream
    // Destroying null succeeds in cuDNN 8 and 9 (measured).
    static const std::set<std::string> nulls = {"cudnnDestroy",
                                                "cudnnDestroyTensorDescriptor",
                                                "cudnnDestroyFilterDescriptor",
                                                "cudnnDestroyConvolutionDescriptor",
                                                "cudnnBackendDestroyDescriptor",
                                                "cublasGetVersion_v2",  // a version needs no handle
                                                "cuCtxSetCurrent",      // null takes the context away
                                                "cuCtxGetApiVersion",   // null: the current one
                                                "cuCtxGetId"};
    return nulls.count(name) != 0;
  }
  // The description of the copy is all zeros here: a copy of nothing succeeds whatever the rest says (measured).
  return name == "cuMemcpy2DAsync_v2" || name == "cuMemcpy2DAsync_v2_ptsz";
}

TEST(Handles, rejects_each_bad_handle_of_each_entry) {
  ASSERT_FALSE(cases().empty());
  const std::vector<Outcome> outcomes = generic::run_isolated(cases().size(), prepare, run, describe);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].state == Outcome::not_run) continue;  // reported when its child died
    EXPECT_EQ(outcomes[i].state, Outcome::done) << describe(i);
    if (outcomes[i].value == 0) {
      EXPECT_TRUE(may_succeed(cases()[i])) << describe(i) << ": success";
    }
  }
}

}  // namespace
