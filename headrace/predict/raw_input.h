#pragma once

/// \file Raw rows as the input of predictions: tables, texts and images, streams. The schema by which the
/// model's training data were made turns them into records, and the loader's own code turns these into
/// batches. A piece is a slice of the input. Batches are smaller where rows are large: 64 MiB of records, and
/// 256 MiB of the numbers that the model takes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/evaluate/exported_model.h"
#include "headrace/predict/predict_input.h"
#include "headrace/predict/row_stream.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/prepare/source/input.h"
#include "headrace/store/registry.h"
#include "headrace/stream/dataset.h"

namespace headrace {

struct RawInputOptions {
  /// kFail: a row that makes no record is an error. Else it is left out, and a remark names it.
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
};

/// Borrows `model` and `stores`. `encoders`: each that the model's inputs name, by its name. An answer begins
/// with the row's `id`, if the schema names a column for it that the input has, or the row is a file, in a
/// folder or in an archive, a WebDataset sample, or a row of another kind of input than stores; else with
/// `row`, the number of the row in its file, and `source`, the file's URL, if the input has several. A
/// table may lack columns of features that are optional or have a default; the reader's remarks name them.
/// \error kFailedPrecondition  the model does not know how its inputs were made: its training data have no
///                             schema, or it takes features that the schema does not have
/// \error kInvalidArgument     the schema cannot be read; the input has no rows; its rows are files, and the
///                             model needs a column that files do not have
Result<std::unique_ptr<PredictInput>> open_raw_input(const ExportedModel& model, Input input,
                                                     StoreRegistry& stores, TextEncoders encoders,
                                                     const RawInputOptions& options);

/// Rows that come one after another, as the rows of `stream`; one piece. Its reader ends where no row has
/// come, and goes on if it is asked again once there are more: see RowStream::wait. Borrows `model`, `stream`
/// and `stores`.
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_row_stream(const ExportedModel& model, RowStream& stream,
                                                      InputFormat format, StoreRegistry& stores,
                                                      TextEncoders encoders, const RawInputOptions& options);

/// Told of a row that makes no record, and why. Rows are numbered as their source does.
using OnLeftOut = std::function<void(std::uint64_t row, std::string_view why)>;

/// Rows that `source` has each time that the reader is asked: as open_row_stream. Columns of URLs hold the
/// bytes of the objects instead. Rows that make no record are left out, and `on_left_out` is told of them;
/// where the record is not as the model takes it, the row has the weight 0 instead. Borrows `model`, `source`
/// and `stores`.
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_given_rows(const ExportedModel& model, RowSource& source,
                                                      StoreRegistry& stores, TextEncoders encoders,
                                                      OnLeftOut on_left_out);

/// Reads the first of the rows, up to 256, to see whether they fit the model. `input`: of raw rows.
/// \error kInvalidArgument  they do not, or there is none; and what reading them gives
Status check_first_rows(const PredictInput& input, const std::stop_token& stop);

/// A column of raw rows that the model's inputs are made from.
struct RawColumn {
  std::string name;
  bool is_url = false;     // of an object, whose bytes are the value
  bool is_image = false;   // the value is an image
  bool is_needed = false;  // every row must have it
};
/// All of them, by name.
/// \error as open_raw_input
Result<std::vector<RawColumn>> raw_columns(const ExportedModel& model);

/// Images that are given by their URLs, as rows of a model whose only input is an image; one piece. An answer
/// begins with the image's URL as its `id`. Borrows `model` and `stores`.
/// \error kInvalidArgument  the model takes something else: says what
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_image_input(const ExportedModel& model,
                                                       std::vector<std::string> urls, StoreRegistry& stores,
                                                       const RawInputOptions& options);

}  // namespace headrace
