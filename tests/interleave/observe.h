#pragma once

/// \file Looks at a world as readers do, and checks that it is whole.

#include <map>
#include <string>
#include <vector>

#include "tests/interleave/world.h"

namespace headrace::interleave {

/// All that readers see, by place, without what differs between equal results: ids, times, entries, digests
/// of what holds them, and names of owners.
using Seen = std::map<std::string, std::string>;
Seen observe(const World& world);

enum class Strictness : std::uint8_t {
  kCopies,   // what readers take: a copy that is under way may lack an entry whose manifest has come already
  kReaders,  // what readers take, and what its generation has published
  kAll,      // also what is superseded: nobody was killed, or whoever came after has cleaned up
};

/// Describes all that is wrong; empty: all that is published is whole, no published part was ever replaced,
/// the alias of a named model has only advanced, an exported run has the events of its epochs, and logs have
/// what their writers were promised (check_logs.h).
std::vector<std::string> find_damage(const World& world, Strictness strictness);

}  // namespace headrace::interleave
