#pragma once

/// \file Entries of ownership: who makes an output, and since when. Format: docs/formats/ownership.md. Bytes
/// in, bytes out; chain.h reads and appends the objects.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/configuration.h"

namespace headrace {

enum class OwnershipAction : std::uint8_t {
  kBegin,      // nothing is there
  kTakeOver,   // goes on with the same configuration
  kOverwrite,  // begins anew; what is published stays until the owner publishes
  kContinue,   // adds to what is published
  kRemove,     // removes everything: nothing is published any more, and nobody owns it
};

struct OwnershipEntry {
  OwnershipAction action = OwnershipAction::kBegin;
  /// Number of the entry that began the present content; of kBegin, kOverwrite and kRemove its own number. 0:
  /// the content is older than ownership.
  std::uint64_t generation = 0;
  /// Number of the manifest that readers take until the owner publishes; 0: none.
  std::uint64_t published = 0;
  /// In the chain of a folder inside an output: number of the owner's entry in the chain of the output. Else
  /// 0.
  std::uint64_t output_entry = 0;
  /// The configuration that the output is begun with; empty in the chain of a folder inside an output.
  Configuration configuration{};
  Actor actor{};
};

/// Larger entries are not written. A schema with its vocabularies is part of a configuration.
inline constexpr std::uint64_t kOwnershipEntryLimitBytes = 256 << 20;

/// Whether an entry with this action begins a generation.
bool begins_generation(OwnershipAction action);

/// The object's bytes.
std::string serialize_entry(const OwnershipEntry& entry);

/// Whether the bytes begin as an entry does; a chain holds entries and manifests.
bool is_entry(BytesView data);

/// The entry that has this number in a chain.
/// \error kDataLoss       not an entry, damaged, or a member is missing or of another type; `generation` or
///                        `published` is no number that an entry can have there
/// \error kUnimplemented  a newer version than this reader knows
Result<OwnershipEntry> parse_entry(BytesView data, std::uint64_t number);

}  // namespace headrace
