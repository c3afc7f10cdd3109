#pragma once

/// \file Raw texts, one after another, from an archive or a folder in a store.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/codec/archive/archive_reader.h"
#include "headrace/store/registry.h"

namespace headrace {

struct SourceEntry {
  std::string path;  // within the archive or folder: the record's id
  EntryKind kind = EntryKind::kFile;
};

/// Not thread-safe. Entries come in a fixed order: the archive's, or ascending keys.
class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual Result<std::optional<SourceEntry>> next() = 0;
  /// Replaces `text` by the data of the entry that `next` gave last. False if they are larger than
  /// `limit_bytes`: then `text` is of no use.
  virtual Result<bool> read_text(std::string& text, std::uint64_t limit_bytes) = 0;
  /// For progress; total 0 if unknown.
  virtual std::uint64_t consumed_bytes() const = 0;
  virtual std::uint64_t total_bytes() const = 0;
};

/// What the input is, before it is read: enough to tell whether it is the same another time.
struct SourceIdentity {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string version;
  bool is_folder = false;
};

/// An object is taken for an archive, a prefix with objects below it for a folder (its identity is a digest
/// over the keys, sizes and versions below).
/// \error kNotFound  neither is there
Result<SourceIdentity> identify_source(const Location& location);

Result<std::unique_ptr<TextSource>> open_source(const Location& location, const SourceIdentity& identity);

}  // namespace headrace
