#pragma once

/// \file The commands that meet at memory://out/x.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/store/layers/testing/stalling.h"
#include "tests/interleave/world.h"

namespace headrace::interleave {

/// The surroundings of a command.
struct Surroundings {
  World world;
  std::shared_ptr<StallControl> control;  // of its calls to `out`
};

struct TestCommand {
  std::string_view name;
  std::function<Status(const Surroundings&)> run;
  /// Whether it makes or removes something where its calls are counted.
  bool is_reader = false;
};

/// All commands. Their names are the arguments of --case.
std::span<const TestCommand> test_commands();
const TestCommand* find_command(std::string_view name);

/// The input: tables, a schema, a dataset to train on. `early`: a file that a row refers to is not there yet.
std::shared_ptr<Store> make_data(bool early);

}  // namespace headrace::interleave
