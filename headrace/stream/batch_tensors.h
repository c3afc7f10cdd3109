#pragma once

/// \file Turns a batch's columns into the tensors that a model takes.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/record/example_decoder.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/image_options.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Views of a batch's memory: one tensor for each feature, in the given order. Not thread-safe.
class BatchTensors {
 public:
  /// A feature may occur twice, because a model may learn to reproduce its input.
  /// REQUIRES: `check_features` accepts the features.
  explicit BatchTensors(std::vector<ModelFeature> features);

  /// The columns that a loader needs (LoaderOptions::columns): each feature once. The caller may add columns
  /// after them.
  const std::vector<Column>& columns() const { return columns_; }
  /// The image columns among them (ImageOptions::columns): decoded to the feature's size and channels.
  const std::map<std::string, ImageColumn>& images() const { return images_; }
  /// Options for a loader that reads these columns in dataset order, on one thread.
  LoaderOptions options_in_order() const;

  /// The tensors of the first `rows` rows. Valid until the next call, and as long as the batch exists. Copies
  /// numbers only if rows must be filled up. REQUIRES: the batch comes from a loader with these columns, and
  /// has at least `rows` rows.
  /// \error kResourceExhausted  the rows that must be filled up would take more than 1 GiB in total
  Result<std::span<const TensorView>> view(const Batch& batch, std::uint64_t rows);

 private:
  // A feature of the model, and the batch's column that holds it.
  struct Source {
    ModelFeature feature;
    std::size_t column = 0;
    bool is_variable = false;                 // rows of the column have any number of values
    std::vector<std::string_view> strings{};  // for byte strings
    GatheredBytes filled{};                   // filled-up rows of numbers, or a mask
  };
  static Status fill(Source& source, const ColumnData& data, std::uint64_t rows, std::uint64_t& left_bytes,
                     TensorView& view);
  static void view_strings(Source& source, const ColumnData& data, std::uint64_t rows, TensorView& view);

  std::vector<Source> sources_;
  std::vector<Column> columns_;
  std::map<std::string, ImageColumn> images_;
  std::vector<TensorView> views_;
};

}  // namespace headrace
