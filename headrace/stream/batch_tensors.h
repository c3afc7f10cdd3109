#pragma once

/// \file A batch's columns as the tensors that a model takes.

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

/// Views of a batch's memory, one for each feature in the order given. Use it from one thread at a time.
class BatchTensors {
 public:
  /// A feature may be named twice: a model may learn to return what it is given.
  /// REQUIRES: `check_features` takes them
  explicit BatchTensors(std::vector<ModelFeature> features);

  /// The LoaderOptions::columns that a loader needs: each feature once. Columns of the caller's own may
  /// follow.
  const std::vector<Column>& columns() const { return columns_; }
  /// Those of them that are pixels, in LoaderOptions::images: decoded to the feature's size and channels.
  const std::map<std::string, ImageColumn>& images() const { return images_; }
  /// Those of a loader that reads these columns in the dataset's order, on one thread.
  LoaderOptions options_in_order() const;

  /// The first `rows` rows. Valid until the next call, and as long as the batch. Numbers are not copied,
  /// unless rows have to be filled up.
  /// \error kResourceExhausted  all rows that have to be filled up would take more than 1 GiB together
  /// REQUIRES: the batch is of a loader with these columns, and has as many rows
  Result<std::span<const TensorView>> view(const Batch& batch, std::uint64_t rows);

 private:
  // A feature of the model, as the batch has it.
  struct Source {
    ModelFeature feature;
    std::size_t column = 0;
    bool is_variable = false;                 // rows of the column have any number of values
    std::vector<std::string_view> strings{};  // where it is byte strings
    GatheredBytes filled{};                   // rows of numbers that were filled up, or a mask
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
