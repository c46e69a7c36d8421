// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocbridge-workload PRESET [options]: runs a preset and prints one line of JSON. Exit codes: 0 fine, 1 a CUDA call
// failed, 2 usage.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "workload/workload.hpp"

namespace {

using namespace rb::workload;

constexpr const char kUsage[] =
    "usage: rocbridge-workload conv2d|gemm [--precision fp32|fp16|bf16] [--batch N] [--size N] [--seed S]\n"
    "                          [--api classic|graph]\n"
    "  --size  H = W of conv2d, M = N = K of gemm; 0 or absent: the preset's own\n"
    "  --api   conv2d through cuDNN's classic or graph functions\n";

int usage(const char* what, const char* value) {
  std::fprintf(stderr, "rocbridge-workload: %s '%s'\n%s", what, value, kUsage);
  return 2;
}

bool number(const char* text, long long low, long long high, long long* out) {
  char* end = nullptr;
  *out = std::strtoll(text, &end, 10);
  return end != text && *end == '\0' && *out >= low && *out <= high;
}

/// 0, or the exit code.
int parse(int argc, char** argv, Settings* settings) {
  if (argc < 2) return usage("a preset is missing", "");
  settings->preset = argv[1];
  if (settings->preset == "--help" || settings->preset == "-h") {
    std::fputs(kUsage, stdout);
    std::exit(0);
  }
  if (settings->preset != "conv2d" && settings->preset != "gemm") return usage("unknown preset", argv[1]);
  for (int i = 2; i < argc; ++i) {
    const char* option = argv[i];
    if (i + 1 >= argc) return usage("an option without its value, or an unknown one:", option);
    const char* value = argv[++i];
    long long parsed = 0;
    if (std::strcmp(option, "--precision") == 0) {
      if (std::strcmp(value, "fp32") == 0)
        settings->precision = Precision::fp32;
      else if (std::strcmp(value, "fp16") == 0)
        settings->precision = Precision::fp16;
      else if (std::strcmp(value, "bf16") == 0)
        settings->precision = Precision::bf16;
      else
        return usage("unknown precision", value);
    } else if (std::strcmp(option, "--batch") == 0) {
      if (!number(value, 1, 4096, &parsed)) return usage("--batch must be 1 to 4096, not", value);
      settings->batch = static_cast<int>(parsed);
    } else if (std::strcmp(option, "--size") == 0) {
      if (!number(value, 0, 16384, &parsed)) return usage("--size must be 0 to 16384, not", value);
      settings->size = static_cast<int>(parsed);
    } else if (std::strcmp(option, "--seed") == 0) {
      if (!number(value, 0, INT64_MAX, &parsed)) return usage("--seed must be a number from 0, not", value);
      settings->seed = static_cast<std::uint64_t>(parsed);
    } else if (std::strcmp(option, "--api") == 0) {
      if (std::strcmp(value, "classic") != 0 && std::strcmp(value, "graph") != 0) return usage("unknown --api", value);
      settings->graph = std::strcmp(value, "graph") == 0;
      if (settings->preset != "conv2d") return usage("--api belongs to conv2d, not to", argv[1]);
    } else {
      return usage("unknown option", option);
    }
  }
  if (settings->size == 0) settings->size = settings->preset == "conv2d" ? kConv2dSize : kGemmSize;
  return 0;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

/// Prints the report; 0, or 1 if an operation failed.
int print(const Settings& settings, const std::vector<Done>& report) {
  int code = 0;
  std::printf("{\"workload\": \"%s\", \"precision\": \"%s\", \"batch\": %d, \"size\": %d, \"seed\": %llu, ",
              settings.preset.c_str(), name_of(settings.precision), settings.batch, settings.size,
              static_cast<unsigned long long>(settings.seed));
  if (settings.preset == "conv2d") std::printf("\"api\": \"%s\", ", settings.graph ? "graph" : "classic");
  std::printf("\"operations\": [");
  const char* separator = "";
  for (const Done& done : report) {
    std::printf("%s{\"name\": %s, ", separator, quoted(done.name).c_str());
    if (done.error.empty()) {
      std::printf("\"milliseconds\": %.3f, \"sum\": %.9g}", done.milliseconds, done.sum);
    } else {
      std::printf("\"error\": %s}", quoted(done.error).c_str());
      std::fprintf(stderr, "rocbridge-workload: %s: %s\n", done.name.c_str(), done.error.c_str());
      code = 1;
    }
    separator = ", ";
  }
  std::printf("]}\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (const int code = parse(argc, argv, &settings); code != 0) return code;
  try {
    return print(settings, settings.preset == "conv2d" ? run_conv2d(settings) : run_gemm(settings));
  } catch (const Failure& failure) {
    std::fprintf(stderr, "rocbridge-workload: %s\n", failure.message.c_str());
    return 1;
  }
}
