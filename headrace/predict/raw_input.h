#pragma once

/// \file Raw rows as the input of predictions: tables, texts and images, streams. The schema of the model's
/// training data turns the rows into records, and the loader's own code turns the records into batches. A
/// piece is a slice of the input. Batches are smaller if rows are large: some 64 MiB of records, and
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
  /// kFail: a row that makes no record is an error. Otherwise it is left out, and a remark names it.
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
};

/// Opens raw rows. Borrows `model` and `stores`. `encoders` holds every encoder that the model's inputs name,
/// by name. An answer begins with the row's `id` if the schema names a column for it that the input has; or
/// if the row is a file in a folder or archive, a WebDataset sample, or comes from another kind of input than
/// stores. Otherwise, it begins with `row`, the number of the row in its file, and, if the input has several
/// files, with `source`, the file's URL. A table may lack columns of features that are optional or have a
/// default; the reader's remarks name them.
/// \error kFailedPrecondition  it is not known how the model's inputs are made: its training data have no
///                             schema, the schema lacks a feature that the model takes, or the model names
///                             no encoder or vocabulary for a feature
/// \error kInvalidArgument     the schema cannot be read; or the input's rows are files, and the model needs
///                             a column that files do not have
Result<std::unique_ptr<PredictInput>> open_raw_input(const ExportedModel& model, Input input,
                                                     StoreRegistry& stores, TextEncoders encoders,
                                                     const RawInputOptions& options);

/// Opens the rows of `stream` as they come, as one piece. The reader returns nullopt if no row has come, and
/// continues if it is called again after RowStream::wait. Borrows `model`, `stream` and `stores`.
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_row_stream(const ExportedModel& model, RowStream& stream,
                                                      InputFormat format, StoreRegistry& stores,
                                                      TextEncoders encoders, const RawInputOptions& options);

/// Called for a row from which no record can be made, with the reason. Rows have the numbers of their source.
using OnLeftOut = std::function<void(std::uint64_t row, std::string_view why)>;

/// Opens the rows that `source` has each time that the reader is called, like open_row_stream. In columns of
/// URLs, the cells hold the bytes of the objects instead. A row from which no record can be made is left out,
/// and `on_left_out` is called for it; if the model does not accept the record, the row has the weight 0
/// instead. Borrows `model`, `source` and `stores`.
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_given_rows(const ExportedModel& model, RowSource& source,
                                                      StoreRegistry& stores, TextEncoders encoders,
                                                      OnLeftOut on_left_out);

/// Reads the first rows, until one becomes an input of the model. `input`: of raw rows.
/// \error kInvalidArgument  no row does
/// \error as PieceReader::next
Status check_first_rows(const PredictInput& input, const std::stop_token& stop);

/// A column of raw rows from which the model's inputs are made.
struct RawColumn {
  std::string name;
  bool is_url = false;     // the value is the bytes of the object at this URL
  bool is_image = false;   // the value is an image
  bool is_needed = false;  // every row must have it
};
/// All columns from which the model's inputs are made, by name.
/// \error as open_raw_input
Result<std::vector<RawColumn>> raw_columns(const ExportedModel& model);

/// Opens images by their URLs, as rows of a model whose only input is an image; one piece. An answer begins
/// with the image's URL as its `id`. Borrows `model` and `stores`.
/// \error kInvalidArgument  the model takes something else; the message says what
/// \error as open_raw_input
Result<std::unique_ptr<PredictInput>> open_image_input(const ExportedModel& model,
                                                       std::vector<std::string> urls, StoreRegistry& stores,
                                                       const RawInputOptions& options);

}  // namespace headrace
