// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/os_launch.hpp"

extern char** environ;

namespace rb::os {
namespace {

std::atomic<int> g_child{0};

void pass_on(int signal) {
  const int child = g_child.load();
  if (child > 0) kill(child, signal);
}

/// Signal dispositions while a program runs in the foreground; restored at the end.
class ForegroundSignals {
 public:
  ForegroundSignals() {
    set(SIGINT, SIG_IGN, &old_[0]);
    set(SIGQUIT, SIG_IGN, &old_[1]);
    set(SIGTERM, pass_on, &old_[2]);
    set(SIGHUP, pass_on, &old_[3]);
  }
  ~ForegroundSignals() {
    g_child = 0;
    restore();
  }
  void restore() const {
    const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (int i = 0; i < 4; ++i) sigaction(signals[i], &old_[i], nullptr);
  }

 private:
  static void set(int signal, void (*handler)(int), struct sigaction* old) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, old);
  }
  struct sigaction old_[4]{};
};

std::vector<std::string> environment(const Launch& options) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : options.variables) replaced = replaced || key == name;
    if (!replaced) all.push_back(text);
  }
  for (const auto& [key, value] : options.variables) all.push_back(key + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string read_all(int fd) {
  std::string text;
  char block[65536];
  for (;;) {
    const ssize_t got = read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<Ended> launch(const Launch& options, const std::function<void(int)>& started) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> variables = environment(options);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  int failed[2];  // the child tells errno if exec fails; closed by a successful exec
  int output[2] = {-1, -1};
  if (pipe2(failed, O_CLOEXEC) != 0) return fail(Errc::internal, "missing-program", "pipe: %s", std::strerror(errno));
  if (options.capture_output && pipe2(output, O_CLOEXEC) != 0) {
    const int error = errno;
    close(failed[0]);
    close(failed[1]);
    return fail(Errc::internal, "missing-program", "pipe: %s", std::strerror(error));
  }

  ForegroundSignals signals;
  const pid_t child = fork();
  if (child == 0) {
    signals.restore();
    if (options.capture_output) dup2(output[1], STDOUT_FILENO);
    if (options.quiet) {
      const int null = open("/dev/null", O_WRONLY);
      if (null >= 0) dup2(null, STDERR_FILENO);
    }
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    const ssize_t ignored = write(failed[1], &error, sizeof error);
    _exit(ignored < 0 ? 126 : 127);
  }
  close(failed[1]);
  if (output[1] >= 0) close(output[1]);
  int error = child < 0 ? errno : 0;
  if (child > 0) {
    g_child = child;
    int told = 0;
    ssize_t got = 0;
    do got = read(failed[0], &told, sizeof told);
    while (got < 0 && errno == EINTR);
    if (got == sizeof told) error = told;
  }
  close(failed[0]);

  Ended ended;
  if (error == 0 && started) started(child);
  if (error == 0 && output[0] >= 0) ended.output = read_all(output[0]);
  if (output[0] >= 0) close(output[0]);
  int status = 0;
  if (child > 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (error != 0) {
    Fault fault = fail(Errc::not_found, "missing-program", "cannot start %s: %s", options.arguments.front().c_str(),
                       std::strerror(error));
    fault.remedy = "give the program's path, or a name that PATH finds";
    return fault;
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.code = ended.signal != 0 ? 128 + ended.signal : WEXITSTATUS(status);
  return ended;
}

}  // namespace rb::os
