#pragma once

/// \file Makes records from rows, as the schema says. docs/prepare.md, "Schema".

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

/// Why a row has no record, or how its record was changed. Both texts are empty if neither happened.
struct RowRemark {
  std::string reason{};  // a short phrase that is the same for all cases of one kind
  std::string detail{};  // the column, and what is in it
  bool is_rejection = false;

  explicit operator bool() const { return !reason.empty(); }
};

struct MadeRecord {
  std::size_t row = 0;  // index into the given rows
  /// The tf.Example; empty if the row is rejected. Valid until `take` returns.
  BytesView example{};
  RowRemark remark{};
  /// The label features that the row has, as indexes among the schema's label features, and their ids. Valid
  /// as long as `example`.
  std::span<const std::size_t> label_features{};
  std::span<const std::int64_t> labels{};
  /// The first image, as stored; nullopt if the record has no image.
  std::optional<ConvertedImage> image{};
};

/// Cells hold the bytes of their references. Not thread-safe. A record depends only on its row and the
/// schema, not on the other rows of a call.
class RecordMaker {
 public:
  /// Borrows all arguments. `may_change_rules`: the schema is the user's, and messages may advise to change
  /// how it reads cells.
  /// REQUIRES: a vocabulary for each label, and an encoder for each vector
  RecordMaker(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders,
              bool may_change_rules = true);
  ~RecordMaker();

  /// Makes a record from each row, and passes it to `take`, in the order of rows. `rows[i]` has the cells
  /// that `feature_cells` describes.
  /// \error of `take` or an encoder
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
  const bool may_change_rules_;
  std::vector<Feature> features_;
  std::vector<std::size_t> label_features_;
  std::vector<std::int64_t> labels_;
  ExampleBuilder builder_;
  Bytes example_;
};

}  // namespace headrace
