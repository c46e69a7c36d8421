// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/dnn/convolution.hpp"

#include <new>
#include <string_view>

#include "base/log.hpp"

namespace soft::engine {

Outcome run_convolution(const wire::ConvolutionProblem& problem, std::uint64_t id, const ConvolutionMemory& memory,
                        unsigned threads) try {
  const wire::Solution* solution = wire::find_solution(id);
  if (!solution || !wire::is_applicable(*solution, problem)) return Outcome::unsupported;
  if (memory.workspace_bytes < wire::workspace_bytes(*solution, problem)) return Outcome::unsupported;
  const std::string_view name = solution->name;
  if (name.starts_with("ConvImplicitGemmOneDnn"))
    convolve_onednn(problem, memory, threads);
  else if (name.starts_with("GemmIm2Col"))
    convolve_im2col(problem, memory, threads);
  else
    convolve_portable(problem, memory, threads);
  return Outcome::ok;
} catch (const std::bad_alloc&) {
  return Outcome::out_of_memory;
} catch (const std::exception& error) {
  RB_LOG(error, "device", "convolution, solution %#llx: %s", static_cast<unsigned long long>(id), error.what());
  return Outcome::internal;
}

}  // namespace soft::engine
