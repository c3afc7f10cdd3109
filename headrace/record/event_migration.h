#pragma once

/// \file Older forms of values as today's, the way TensorBoard reads them: the table in
/// docs/formats/event-file.md, "Reader".

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/event_reader.h"

namespace headrace {

/// How all values of one tag are read; the first one decides, and the caller keeps it with the tag.
struct SeriesKind {
  DataClass data_class = DataClass::kUnknown;
  /// Tensors of rank 2 whose first column are the blobs.
  bool first_column_only = false;
};

/// One value of today's form. Views the event and the EventMigration, until that is called again.
struct MigratedValue {
  std::string_view tag{};
  SeriesKind kind{};
  /// Class and plugin filled in where the file has an older form. Worth keeping of the first value of a tag.
  MetadataView metadata{};
  double scalar = 0;                   // DataClass::kScalar
  BytesView tensor{};                  // kTensor: a serialized TensorProto that protobuf accepts
  std::span<const BytesView> blobs{};  // kBlobSequence
};

/// Holds what a value needs that is in no event. One thread at a time.
class EventMigration {
 public:
  /// A blob sequence is cut off after so many.
  static constexpr std::size_t kMaxBlobs = 10'000;

  /// \param known  of the tag, if a value of it came before; else null
  /// A value whose class nobody tells, since it has no metadata or an unknown plugin, is of kUnknown, and is
  /// what TensorBoard does not show either.
  /// \error kDataLoss  malformed, or of a form that a series of that kind cannot have
  Status migrate(const SummaryValue& value, const SeriesKind* known, MigratedValue& out);

  /// An event that is not a summary, but is shown: true for a graph and for metadata of a run.
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

/// The class of the values of a plugin of TensorBoard's whose metadata do not tell; kUnknown for others.
DataClass data_class_of_plugin(std::string_view plugin);

}  // namespace headrace
