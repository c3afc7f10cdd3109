#pragma once

/// \file One case: command A is stopped at its n-th call, B runs to its end or is killed at its m-th call,
/// and A goes on.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/interleave/commands.h"
#include "tests/interleave/observe.h"

namespace headrace::interleave {

/// How the stores are before: commands that ran to their end, and then one that was killed.
struct InitialState {
  std::string_view name;
  std::vector<std::string_view> commands{};
  std::string_view killed{};  // empty: none
  bool early = false;         // the first command ran before a file was there that a row refers to
};
std::span<const InitialState> initial_states();

/// One after the other, what may also have happened.
struct SerialOrder {
  std::vector<std::size_t> order;                // 0: A, 1: B
  std::array<std::optional<Status>, 2> ended{};  // of those in `order`
  Seen seen;
  std::array<bool, 2> repeats_well{};  // whether A, or B, succeeds once more
};

/// A pair of commands in an initial state, and what the two make one after the other.
struct Pair {
  const TestCommand* a = nullptr;
  const TestCommand* b = nullptr;
  const InitialState* state = nullptr;
  // Where the command of a half state was killed: after so many quarters of its calls; 4: before the last.
  int quarter = 0;
  World initial{};
  std::array<std::uint64_t, 2> calls{};  // of each, alone
  std::vector<SerialOrder> orders{};
};

Pair make_pair(const TestCommand& a, const TestCommand& b, const InitialState& state, int quarter);

struct Case {
  std::uint64_t stall_a = 0;
  std::uint64_t kill_b = 0;  // 0: B runs to its end
  std::size_t repeated = 0;  // which command runs once more
};

/// "prepare,rm,dataset,0,17,0,1": what --case takes.
std::string name_of(const Pair& pair, const Case& which);

struct Verdict {
  std::vector<std::string> problems;
  std::vector<std::string> trace;  // of both commands, if there are problems
};
Verdict run_case(const Pair& pair, const Case& which);

}  // namespace headrace::interleave
