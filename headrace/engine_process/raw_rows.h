#pragma once

/// \file A signature that takes raw rows: JSON rows go in, the model's answers come out.

#include <memory>
#include <span>
#include <string_view>

#include "headrace/evaluate/exported_model.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/serve/remote_engine/engine_host.h"
#include "headrace/serve/signature/served_signature.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The signature with which a model of Headrace takes raw rows.
/// \error kFailedPrecondition  the export does not say how its inputs were made: see raw_columns
Result<ServedSignature> raw_rows_signature(const ExportedModel& model);

/// Answers raw rows. Use it from one thread.
class RawRows {
 public:
  virtual ~RawRows() = default;
  /// Runs the model on rows, and returns the outputs of raw_rows_signature. Each row is a JSON object; the
  /// bytes of an image, and of a column of URLs, are given as {"b64": …}. If a row cannot be turned into
  /// inputs, or if its answer has a number that is not finite, only that row fails.
  virtual Result<HostedOutputs> run(std::span<const std::string_view> rows) = 0;
};

/// `model` and `stores` must outlive the result. The model runs on batches of `batch_rows` rows.
/// \error as open_raw_input (predict/raw_input.h)
Result<std::unique_ptr<RawRows>> open_raw_rows(const ExportedModel& model, StoreRegistry& stores,
                                               TextEncoders encoders, std::uint64_t batch_rows);

}  // namespace headrace
