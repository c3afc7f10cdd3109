#pragma once

/// \file Ownership entries: who makes an output, and since when. Format: docs/formats/ownership.md. This file
/// only converts entries to bytes and back; chain.h reads and appends the objects.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/configuration.h"

namespace headrace {

enum class OwnershipAction : std::uint8_t {
  kBegin,      // begins an output where nothing is
  kTakeOver,   // continues an unfinished output with the same configuration
  kOverwrite,  // begins again; the published manifest stays until the owner publishes
  kContinue,   // adds to the published output
  kRemove,     // removes everything: nothing is published, and the output has no owner
};

struct OwnershipEntry {
  OwnershipAction action = OwnershipAction::kBegin;
  /// Number of the entry that began the present content: its own number for kBegin, kOverwrite and kRemove.
  /// 0: the content is older than ownership entries.
  std::uint64_t generation = 0;
  /// Number of the manifest that readers use until the owner publishes; 0: none.
  std::uint64_t published = 0;
  /// In the chain of a folder inside an output: number of the owner's entry in the chain of that output.
  /// Otherwise 0.
  std::uint64_t output_entry = 0;
  /// The configuration of the output; empty in the chain of a folder inside an output.
  Configuration configuration{};
  Actor actor{};
};

/// Largest entry that is written. It is large because a configuration contains a schema with its
/// vocabularies.
inline constexpr std::uint64_t kOwnershipEntryLimitBytes = 256 << 20;

/// Whether an entry with this action begins a generation.
bool begins_generation(OwnershipAction action);

/// The bytes of the entry's object.
std::string serialize_entry(const OwnershipEntry& entry);

/// Whether the bytes begin like an entry. A chain holds entries and manifests.
bool is_entry(BytesView data);

/// Parses the entry with this number in a chain.
/// \error kDataLoss       the bytes are damaged or not an entry; a member is missing or has another type;
///                        `generation` or `published` is impossible for this number
/// \error kUnimplemented  the format version is newer than this reader
Result<OwnershipEntry> parse_entry(BytesView data, std::uint64_t number);

}  // namespace headrace
