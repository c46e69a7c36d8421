// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/device_options.hpp"

#include <cstdlib>

#include "inspect/coverage.hpp"

namespace rb::cli {
namespace {

const inspect::DeviceRow* find_device(const std::string& gfx) {
  for (std::size_t i = 0; i < inspect::kDeviceCount; ++i)
    if (gfx.empty() ? inspect::kDevices[i].is_default : gfx == inspect::kDevices[i].gfx) return &inspect::kDevices[i];
  return nullptr;
}

std::string device_names() {
  std::string names;
  for (std::size_t i = 0; i < inspect::kDeviceCount; ++i)
    names += std::string(i ? ", " : "") + inspect::kDevices[i].gfx;
  return names;
}

}  // namespace

void DeviceOptions::add_to(CLI::App& app) {
  app.add_option("--arch", arch, "profile of the software device: " + device_names())->option_text("GFX");
  app.add_option("--wave", wave, "wavefront size of the software device: 32 or 64")->option_text("N");
  app.add_option("--policy", policy, "what a failed check does: trap (the program sees an error) or warn")
      ->check(CLI::IsMember({"trap", "warn"}))
      ->option_text("NAME");
  app.add_flag("--strict", strict, "refuse what no check can vouch for");
}

std::string DeviceOptions::problem() const {
  std::string gfx = arch;
  if (const char* set = std::getenv("ROCBRIDGE_ARCH"); gfx.empty() && set != nullptr) gfx = set;
  const auto* device = find_device(gfx);
  if (device == nullptr) return "there is no device profile \"" + gfx + "\"; known are " + device_names();
  if (wave == 0) return "";
  std::string allowed;
  for (const auto& size : inspect::split_list(device->waves)) {
    if (size == std::to_string(wave)) return "";
    allowed += (allowed.empty() ? "" : " or ") + size;
  }
  return "wave " + std::to_string(wave) + " is impossible on " + device->gfx + " (" + device->name +
         "): its wavefronts have " + allowed + " lanes";
}

std::string DeviceOptions::effective_policy() const {
  if (!policy.empty()) return policy;
  const char* set = std::getenv("ROCBRIDGE_POLICY");
  return set != nullptr && std::string(set) == "warn" ? "warn" : "trap";
}

void DeviceOptions::set(inspect::Variables& variables) const {
  if (!arch.empty()) inspect::set_variable(variables, "ROCBRIDGE_ARCH", arch);
  if (wave != 0) inspect::set_variable(variables, "ROCBRIDGE_WAVE", std::to_string(wave));
  if (!policy.empty()) inspect::set_variable(variables, "ROCBRIDGE_POLICY", policy);
  if (strict) inspect::set_variable(variables, "ROCBRIDGE_STRICT", "1");
}

}  // namespace rb::cli
