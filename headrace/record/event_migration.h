#pragma once

/// \file Converts older forms of values to the current form, as TensorBoard does: see the table in
/// docs/formats/event-file.md, "Reader".

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/event_reader.h"

namespace headrace {

/// How all values of one tag are read. The tag's first value decides; the caller keeps the result for the
/// later values.
struct SeriesKind {
  DataClass data_class = DataClass::kUnknown;
  /// The blobs are the first column of a tensor of rank 2.
  bool first_column_only = false;
};

/// One value in the current form. Views the event, and the EventMigration until its next call.
struct MigratedValue {
  std::string_view tag{};
  SeriesKind kind{};
  /// Not set for later values of a tag, so keep it from the first. If the file has an older form, the class
  /// and the plugin are filled in.
  MetadataView metadata{};
  double scalar = 0;                   // DataClass::kScalar
  BytesView tensor{};                  // kTensor: a serialized TensorProto that protobuf can parse
  std::span<const BytesView> blobs{};  // kBlobSequence
};

/// Converts values, and holds the bytes of converted values that no event holds. Not thread-safe.
class EventMigration {
 public:
  /// The most blobs of a sequence; further ones are dropped.
  static constexpr std::size_t kMaxBlobs = 10'000;

  /// Converts one value. If neither its metadata nor its plugin tells its class, the kind is kUnknown;
  /// TensorBoard does not show such values either.
  /// \param known  the tag's kind, from its first value; null for the first value
  /// \error kDataLoss  malformed, or in a form that a series of that kind cannot have
  Status migrate(const SummaryValue& value, const SeriesKind* known, MigratedValue& out);

  /// Converts an event that is not a summary but is shown: a graph, or metadata of a run. Returns false, and
  /// leaves `out` unchanged, for every other event.
  bool migrate_event(const EventView& event, MigratedValue& out);

 private:
  Status migrate_histogram(const SummaryValue& value, MigratedValue& out);
  Status migrate_tensor(const SummaryValue& value, MigratedValue& out);
  Status migrate_blobs(const SummaryValue& value, MigratedValue& out);

  Bytes scratch_;
  std::string width_;
  std::string height_;
  std::vector<BytesView> blobs_;
};

/// The class of a TensorBoard plugin's values, for values whose metadata do not tell it. kUnknown for other
/// plugins.
DataClass data_class_of_plugin(std::string_view plugin);

}  // namespace headrace
