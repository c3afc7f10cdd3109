#pragma once

/// \file The process that acts on an output.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// A process that acts on an output. Every ownership entry names one, so that a process that has lost its
/// output can say which process has it now.
struct Actor {
  std::string command{};  // "train"
  std::string run{};      // id of its run; empty: none
  std::string host{};
  std::uint64_t process = 0;
  std::string time{};  // when it began: "2026-11-24T10:00:00Z"
  std::string id{};    // random: no two actors have the same
};

/// Describes this process, with a new random id. `now` becomes `time`.
Actor this_process(std::string_view command, std::string_view run, std::chrono::system_clock::time_point now);

/// For people: "headrace train, run r-17 (process 4711 on node-3, since 2026-11-24T10:00:00Z)".
std::string describe(const Actor& actor);

}  // namespace headrace
