// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// How the libraries behave in a process: nothing before the first device use, fork, bad AMD directories, foreign CUDA
// libraries, exit. The tests named DISABLED_ run in a fresh copy of this program, in an environment that the others
// set.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "abi/cudart_functions.h"

namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string said;
};

/// Runs one disabled test of this program in a process of its own.
Ended run_fresh(const std::string& test, const std::string& variables = "") {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const std::string command = "env " + variables + " " + program +
                              " --gtest_also_run_disabled_tests --gtest_filter=Fresh.DISABLED_" + test + " 2>&1";
  Ended ended;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.said.append(buffer, got);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

/// A folder that goes with the test.
struct Folder {
  Folder()
      : path(fs::temp_directory_path() /
             ("rocbridge-test-" + std::to_string(getpid()) + "-" + std::to_string(counter++))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
  static inline int counter = 0;
};

const fs::path kSoft = ROCBRIDGE_BUILD "/lib/rocm/6";

void copy_device(const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(kSoft))
    if (!entry.is_symlink()) fs::copy_file(entry.path(), to / entry.path().filename());
}

std::string in_directory(const fs::path& path) {
  return "ROCBRIDGE_ROCM_DIR=" + path.string();
}

std::string maps() {
  std::ifstream file("/proc/self/maps");
  return {std::istreambuf_iterator<char>(file), {}};
}

long threads() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

// ---- run in a fresh process -----------------------------------------------------------------------------------------

TEST(Fresh, DISABLED_quiet_before_first_use) {
  int version = 0;
  ASSERT_EQ(static_cast<int>(cudaRuntimeGetVersion(&version)), 0);
  int wrapper = 0;
  __cudaRegisterFatBinary(&wrapper);
  static_cast<void>(cudaGetLastError());
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(maps().find("libamdhip64"), std::string::npos);
  EXPECT_EQ(maps().find("memfd"), std::string::npos);
  void* device = nullptr;
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
  const std::string after = maps();
  EXPECT_NE(after.find("libamdhip64.so.6"), std::string::npos);
  for (const char* theirs : {"libdnnl", "openblas", "libgomp", "libomp", "libLLVM"})
    EXPECT_EQ(after.find(theirs), std::string::npos) << theirs;
}

TEST(Fresh, DISABLED_device_is_refused) {
  void* device = nullptr;
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 3);
  EXPECT_EQ(static_cast<int>(cudaGetLastError()), 3);
  int count = 9;
  EXPECT_EQ(static_cast<int>(cudaGetDeviceCount(&count)), 3) << "the same answer again";
  EXPECT_EQ(count, 0);
}

TEST(Fresh, DISABLED_device_works) {
  void* device = nullptr;
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
  ASSERT_EQ(static_cast<int>(cudaMemset(device, 1, 4096)), 0);
  ASSERT_EQ(static_cast<int>(cudaFree(device)), 0);
}

TEST(Fresh, DISABLED_foreign_library_first) {
  ASSERT_NE(dlopen(std::getenv("DECOY"), RTLD_NOW), nullptr) << dlerror();
  void* device = nullptr;
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 3);
}

TEST(Fresh, DISABLED_foreign_library_later) {
  void* device = nullptr;
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
  ASSERT_NE(dlopen(std::getenv("DECOY"), RTLD_NOW), nullptr) << dlerror();
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 3);
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 3) << "it is still there";
}

TEST(Fresh, DISABLED_hip_from_elsewhere) {
  ASSERT_NE(dlopen(std::getenv("DECOY"), RTLD_NOW), nullptr) << dlerror();
  void* device = nullptr;
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 3);
}

/// Code of a child that uses the device.
int use_in_child() {
  const pid_t child = fork();
  if (child == 0) {
    void* memory = nullptr;
    _exit(static_cast<int>(cudaMalloc(&memory, 4096)) + 10 * static_cast<int>(cudaDeviceSynchronize()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fresh, DISABLED_fork_before_first_use) {
  EXPECT_EQ(use_in_child(), 0) << "nothing was inherited yet";
  void* device = nullptr;
  EXPECT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
}

TEST(Fresh, DISABLED_fork_after_use) {
  void* device = nullptr;
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
  EXPECT_EQ(use_in_child(), 33) << "3 from each call";
  EXPECT_EQ(static_cast<int>(cudaMemset(device, 1, 4096)), 0) << "the parent goes on";
}

/// The device process of this process: its command line ends with "--parent PID". 0 if there is none.
pid_t engine_of_this_process() {
  std::string wanted = "--parent";
  wanted += '\0' + std::to_string(getpid()) + '\0';
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.find("rocbridge-device") != std::string::npos && line.find(wanted) != std::string::npos)
      return static_cast<pid_t>(std::atol(entry.path().filename().c_str()));
  }
  return 0;
}

TEST(Fresh, DISABLED_engine_is_killed) {
  void* device = nullptr;
  char host[64];
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 4096)), 0);
  ASSERT_EQ(static_cast<int>(cudaMemset(device, 1, 4096)), 0);
  const pid_t engine = engine_of_this_process();
  ASSERT_NE(engine, 0);
  kill(engine, SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(cudaMemset(device, 2, 4096));
  const int code = static_cast<int>(cudaDeviceSynchronize());
  EXPECT_NE(code, 0);
  EXPECT_STRNE(cudaGetErrorName(static_cast<cudaError_t>(code)), "unrecognized error code") << code;
  EXPECT_NE(static_cast<int>(cudaMemcpy(host, device, 64, cudaMemcpyDeviceToHost)), 0) << "lost for good";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Fresh, DISABLED_exit_with_live_objects) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* device = nullptr;
  ASSERT_EQ(static_cast<int>(cudaStreamCreate(&stream)), 0);
  ASSERT_EQ(static_cast<int>(cudaEventCreate(&event)), 0);
  ASSERT_EQ(static_cast<int>(cudaMalloc(&device, 1 << 20)), 0);
  ASSERT_EQ(static_cast<int>(cudaMemsetAsync(device, 1, 1 << 20, stream)), 0);
}

// ---- what they must show --------------------------------------------------------------------------------------------

#define PASSES(ended) EXPECT_EQ((ended).code, 0) << (ended).said
#define SAYS(ended, text) \
  EXPECT_NE((ended).said.find(text), std::string::npos) << "no '" << (text) << "' in:\n" << (ended).said

TEST(Process, does_nothing_before_the_first_device_use) {
  PASSES(run_fresh("quiet_before_first_use"));
}

TEST(Process, maps_fork) {
  PASSES(run_fresh("fork_before_first_use"));
  const Ended after = run_fresh("fork_after_use");
  PASSES(after);
  SAYS(after, "after-fork");
}

TEST(Process, reports_a_killed_device) {
  PASSES(run_fresh("engine_is_killed"));
}

TEST(Process, exits_with_live_objects) {
  PASSES(run_fresh("exit_with_live_objects"));
}

TEST(Process, maps_a_directory_of_links) {
  Folder links;
  for (const auto& entry : fs::directory_iterator(kSoft))
    fs::create_symlink(entry.path(), links.path / entry.path().filename());
  PASSES(run_fresh("device_works", in_directory(links.path)));
  PASSES(run_fresh("device_works", in_directory(kSoft)));
}

TEST(Process, rejects_a_missing_directory) {
  const Ended ended = run_fresh("device_is_refused", in_directory("/nowhere/rocm"));
  PASSES(ended);
  SAYS(ended, "directory-missing");
  SAYS(ended, "/nowhere/rocm");
  SAYS(ended, "ROCBRIDGE_ROCM_DIR");
}

TEST(Process, rejects_an_incomplete_directory) {
  Folder folder;
  const Ended empty = run_fresh("device_is_refused", in_directory(folder.path));
  PASSES(empty);
  SAYS(empty, "library-missing");
  copy_device(folder.path);
  fs::remove(folder.path / "libMIOpen.so.1");
  const Ended without = run_fresh("device_is_refused", in_directory(folder.path));
  PASSES(without);
  SAYS(without, "library-missing");
  SAYS(without, "libMIOpen.so.1");
}

TEST(Process, rejects_damaged_libraries) {
  for (const char* name : {"libamdhip64.so.6", "librocblas.so.4", "libhipsolver.so.0"}) {
    Folder folder;
    copy_device(folder.path);
    const auto size = fs::file_size(folder.path / name);
    for (const std::uintmax_t left :
         {std::uintmax_t{0}, std::uintmax_t{3}, std::uintmax_t{100}, size / 2, size - size / 8}) {
      fs::remove(folder.path / name);
      fs::copy_file(kSoft / name, folder.path / name);
      fs::resize_file(folder.path / name, left);
      const Ended ended = run_fresh("device_is_refused", in_directory(folder.path));
      PASSES(ended);
      SAYS(ended, "library-damaged");
      SAYS(ended, name);
    }
    std::ofstream(folder.path / name)
        << "this is no library, but a text that is long enough to hold an ELF header if it were one";
    const Ended ended = run_fresh("device_is_refused", in_directory(folder.path));
    PASSES(ended);
    SAYS(ended, "library-damaged");
  }
}

TEST(Process, rejects_another_generation) {
  Folder folder;
  fs::copy_file(kSoft / "libamdhip64.so.6", folder.path / "libamdhip64.so.7");
  const Ended ended = run_fresh("device_is_refused", in_directory(folder.path));
  PASSES(ended);
  SAYS(ended, "wrong-generation");
  SAYS(ended, "libamdhip64.so.7");
}

TEST(Process, rejects_a_mixed_directory) {
  Folder folder;
  copy_device(folder.path);
  fs::remove(folder.path / "libMIOpen.so.1");
  fs::create_symlink(kSoft / "libMIOpen.so.1", folder.path / "libMIOpen.so.1");
  const Ended ended = run_fresh("device_is_refused", in_directory(folder.path));
  PASSES(ended);
  SAYS(ended, "mixed-directories");
}

TEST(Process, rejects_a_hip_runtime_from_elsewhere) {
  Folder folder;
  copy_device(folder.path);
  const Ended ended = run_fresh("hip_from_elsewhere", "DECOY=" + (folder.path / "libamdhip64.so.6").string());
  PASSES(ended);
  SAYS(ended, "hip-already-loaded");
}

TEST(Process, rejects_foreign_cuda_libraries) {
  Folder folder;
  fs::copy_file(ROCBRIDGE_BUILD "/lib/cuda/libcurand.so.10", folder.path / "libcurand.so.10");
  const std::string decoy = "DECOY=" + (folder.path / "libcurand.so.10").string();
  for (const char* test : {"foreign_library_first", "foreign_library_later"}) {
    const Ended ended = run_fresh(test, decoy);
    PASSES(ended);
    SAYS(ended, "foreign-cuda-library");
    SAYS(ended, folder.path.string());
    SAYS(ended, "rocbridge run");
  }
}

}  // namespace
