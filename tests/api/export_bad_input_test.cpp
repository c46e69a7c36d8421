// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Every export of every library, called with nulls and with foreign handles: the refused status of the library, or an
// error, never a crash, a hang, damaged memory, or a success for work that was not done.
#include <fstream>
#include <map>
#include <set>

#include "tests/api/generic_call.hpp"

namespace {

using generic::Export;
using generic::exports;
using generic::Outcome;

/// Names that may succeed in a case, with the reason after each: lines of tests/data/bad_input_success.txt are
/// "nulls|foreign NAME reason".
std::set<std::string> may_succeed(const std::string& wanted) {
  std::ifstream file(ROCBRIDGE_TEST_DATA "/bad_input_success.txt");
  EXPECT_TRUE(file.good());
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string which;
    std::string name;
    std::string reason;
    words >> which >> name >> reason;
    if (which == wanted) {
      EXPECT_FALSE(reason.empty()) << "no reason for " << name;
      out.insert(name);
    }
  }
  return out;
}

std::map<std::string, void*> g_libraries;
generic::Scratch* g_scratch = nullptr;

void prepare() {
  g_scratch = new generic::Scratch;
}

void* function_of(const Export& entry) {
  void*& library = g_libraries[entry.soname];
  if (library == nullptr) library = generic::open_library(entry.soname);
  return library != nullptr ? dlsym(library, entry.name) : nullptr;
}

Outcome finish(long value) {
  return {g_scratch->intact() ? Outcome::done : Outcome::damaged, static_cast<int>(value)};
}

std::string describe(std::size_t i) {
  return std::string(exports()[i].soname) + ": " + exports()[i].name;
}

/// What must hold for every call: it ran, memory is whole, an export that is not built gives the refused status.
bool is_plain_failure(const Export& entry, const Outcome& outcome, const std::string& what) {
  if (outcome.state == Outcome::not_run) return true;  // reported when its child died
  EXPECT_NE(outcome.state, Outcome::missing) << what << ": not in the library";
  EXPECT_NE(outcome.state, Outcome::damaged) << what << ": wrote behind its arguments";
  if (outcome.state != Outcome::done || !entry.returns_status()) return true;
  if (!entry.built) {
    EXPECT_EQ(outcome.value, entry.refused) << what << ": not built, yet not the library's not-supported status";
    return true;
  }
  return outcome.value != 0;
}

TEST(BadInput, rejects_nulls_in_every_export) {
  const std::vector<Outcome> outcomes = generic::run_isolated(
      exports().size(), prepare,
      [](std::size_t i) {
        const Export& entry = exports()[i];
        void* const function = function_of(entry);
        if (function == nullptr) return Outcome{Outcome::missing, 0};
        g_scratch->reset();
        return finish(generic::call(function, entry, {}));
      },
      describe);
  const std::set<std::string> allowed = may_succeed("nulls");
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (!is_plain_failure(exports()[i], outcomes[i], describe(i))) {
      EXPECT_EQ(allowed.count(exports()[i].name), 1u) << describe(i) << ": success for nothing but zeros";
    }
}

/// Values that are no handles of ours: a small number, memory of the program, a number in our own range.
std::uint64_t foreign(std::size_t variant) {
  static std::uint64_t garbage[64];
  for (std::uint64_t& word : garbage) word = 0xDEADBEEFCAFEF00Dull;
  switch (variant) {
    case 0:
      return 0x1234;
    case 1:
      return reinterpret_cast<std::uint64_t>(garbage);
    default:
      return 0x5B01000000100007ull;
  }
}
constexpr std::size_t kVariants = 3;

TEST(BadInput, rejects_foreign_handles_in_every_export) {
  const std::vector<Outcome> outcomes = generic::run_isolated(
      exports().size() * kVariants, prepare,
      [](std::size_t i) {
        const Export& entry = exports()[i / kVariants];
        void* const function = function_of(entry);
        if (function == nullptr) return Outcome{Outcome::missing, 0};
        g_scratch->reset();
        std::vector<std::uint64_t> words;
        for (std::size_t at = 0; entry.letters[at] != '\0'; ++at) switch (entry.letters[at]) {
            case 'h':
            case 'd':
            case 'p':
              words.push_back(foreign(i % kVariants));
              break;
            case 'v':
              words.push_back(1);
              break;
            default:  // memory: host memory, also where the device should have its own
              words.push_back(g_scratch->address(256 * at));
          }
        return finish(generic::call(function, entry, words));
      },
      [](std::size_t i) { return describe(i / kVariants) + ", variant " + std::to_string(i % kVariants); });
  const std::set<std::string> allowed = may_succeed("foreign");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Export& entry = exports()[i / kVariants];
    const std::string what = describe(i / kVariants) + ", variant " + std::to_string(i % kVariants);
    const bool failed = is_plain_failure(entry, outcomes[i], what);
    const bool has_handle = std::strpbrk(entry.letters, "hd") != nullptr;
    if (!failed && has_handle) {
      EXPECT_EQ(allowed.count(entry.name), 1u) << what << ": success with a foreign handle";
    }
  }
}

}  // namespace
