#pragma once

/// \file Rows to records: what the schema says of each feature, done to cells. docs/prepare.md, "Schema".

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/row/row.h"
#include "headrace/prepare/schema/image_converter.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/schema/vocabularies.h"
#include "headrace/record/example.h"

namespace headrace {

/// Why a row gives no record, or what was changed in it. Both texts empty: nothing to tell.
struct RowRemark {
  std::string reason{};  // a short phrase, the same for all of a kind
  std::string detail{};  // the column, and what is in it
  bool is_rejection = false;

  explicit operator bool() const { return !reason.empty(); }
};

struct MadeRecord {
  std::size_t row = 0;  // of those given
  /// The tf.Example; nothing if the row is rejected. Valid until the call returns.
  BytesView example{};
  RowRemark remark{};
  /// Of label features that the row has: which of the schema's label features, and the id. Valid as
  /// `example` is.
  std::span<const std::size_t> label_features{};
  std::span<const std::int64_t> labels{};
  /// Of the first image, as stored; none without.
  std::optional<ConvertedImage> image{};
};

/// Cells hold the bytes that references refer to. One thread at a time. The record depends on the row and the
/// schema alone, not on what other rows are in a call.
class RecordMaker {
 public:
  /// Borrows all. REQUIRES: a vocabulary for each label, an encoder for each vector
  RecordMaker(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders);
  ~RecordMaker();

  /// Makes a record of each row, in their order. `rows[i]` are a row's cells, as `feature_cells` has them.
  /// \error what `take` or an encoder returns
  Status make(std::span<const std::span<const Cell>> rows,
              const std::function<Status(const MadeRecord&)>& take);

 private:
  struct Feature;
  Status encode_texts(std::span<const std::span<const Cell>> rows);
  RowRemark add_feature(Feature& feature, std::size_t row, std::span<const Cell> cells, MadeRecord& record);
  RowRemark add_image(Feature& feature, const Cell& cell, MadeRecord& record);
  void add_of_image(Feature& feature);
  RowRemark add_label(Feature& feature, const Cell& cell);
  RowRemark add_byte_strings(Feature& feature, const Cell& cell, TextEncoding encoding);
  RowRemark decode_texts(Feature& feature, TextEncoding encoding);
  RowRemark add_numbers(Feature& feature, std::span<const Cell> cells);
  RowRemark add_vector(Feature& feature, std::size_t row, const Cell& cell);

  const Schema& schema_;
  std::vector<Feature> features_;
  std::vector<std::size_t> label_features_;
  std::vector<std::int64_t> labels_;
  ExampleBuilder builder_;
  Bytes example_;
};

}  // namespace headrace
