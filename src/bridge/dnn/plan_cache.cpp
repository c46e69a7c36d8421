// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The plans of the process by problem. A thread asks its own small table first, so that programs which make descriptors
// anew for every call (PyTorch's classic path) take no shared lock once warm.
#include <mutex>
#include <unordered_map>

#include "bridge/dnn/thread_cache.hpp"

namespace rb::dnn {
namespace {

/// Above this many problems (dynamic shapes) the older half is let go; made again, a plan is the same.
constexpr std::size_t kMaxPlans = 8192;

struct Hash {
  std::size_t operator()(const Problem& problem) const { return problem.hash(); }
};

struct Shared {
  std::mutex mutex;
  std::unordered_map<Problem, std::pair<std::shared_ptr<const Plan>, std::uint64_t>, Hash> plans;
  std::uint64_t clock = 0;
};
Shared& shared() {
  static Shared& instance = *new Shared;
  return instance;
}

/// Caches of threads that ended serve the next ones: nothing is released at a thread's end, when AMD's library may be
/// gone already.
struct Pool {
  std::mutex mutex;
  std::vector<ThreadCache*> unused;
};
Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

/// Gives the thread's cache back when the thread ends.
struct Lease {
  ~Lease() {
    if (detail::t_cache == nullptr) return;
    Pool& all = pool();
    std::lock_guard lock(all.mutex);
    all.unused.push_back(detail::t_cache);
    detail::t_cache = nullptr;
  }
  void touch() {}
};
thread_local Lease t_lease;

std::shared_ptr<const Plan> find_shared(const Problem& problem) {
  Shared& all = shared();
  std::lock_guard lock(all.mutex);
  const auto found = all.plans.find(problem);
  if (found == all.plans.end()) return nullptr;
  found->second.second = ++all.clock;
  return found->second.first;
}

/// Of two threads that made a plan for the same problem, the first one's counts.
std::shared_ptr<const Plan> keep_shared(const Problem& problem, std::shared_ptr<const Plan> plan) {
  Shared& all = shared();
  std::vector<std::shared_ptr<const Plan>> released;  // destroyed after the lock is given back
  std::lock_guard lock(all.mutex);
  if (all.plans.size() >= kMaxPlans) {
    const std::uint64_t limit = all.clock - kMaxPlans / 2;
    for (auto it = all.plans.begin(); it != all.plans.end();) {
      if (it->second.second > limit) {
        ++it;
        continue;
      }
      released.push_back(std::move(it->second.first));
      it = all.plans.erase(it);
    }
  }
  return all.plans.emplace(problem, std::make_pair(std::move(plan), ++all.clock)).first->second.first;
}

}  // namespace

namespace detail {

thread_local constinit ThreadCache* t_cache = nullptr;

ThreadCache* take_cache() {
  t_lease.touch();  // makes it, so that its destructor runs at the thread's end
  Pool& all = pool();
  std::lock_guard lock(all.mutex);
  if (all.unused.empty()) {
    t_cache = new ThreadCache;
  } else {
    t_cache = all.unused.back();
    all.unused.pop_back();
  }
  return t_cache;
}

}  // namespace detail

Result<std::shared_ptr<const Plan>> plan_for(DnnHandle& handle, const Problem& problem) {
  std::shared_ptr<const Plan>& slot = thread_cache().plans[problem.hash() % ThreadCache::kPlans];
  if (slot != nullptr && slot->problem() == problem) return slot;
  std::shared_ptr<const Plan> plan = find_shared(problem);
  if (plan == nullptr) {
    std::lock_guard lock(handle.lock.mutex);
    DeviceScope device;
    RB_TRY(device.enter(handle.device));
    RB_ASSIGN(plan, Plan::build(handle, problem));
    plan = keep_shared(problem, std::move(plan));
  }
  slot = plan;
  return plan;
}

}  // namespace rb::dnn
