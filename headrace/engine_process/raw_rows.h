#pragma once

/// \file Raw rows of requests as a signature of a model: rows of JSON go in, the model's answers come out.

#include <memory>
#include <span>
#include <string_view>

#include "headrace/evaluate/exported_model.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/serve/remote_engine/engine_host.h"
#include "headrace/serve/signature/served_signature.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The signature by which a model of Headrace takes raw rows.
/// \error kFailedPrecondition  the model does not know how its inputs were made: see raw_columns
Result<ServedSignature> raw_rows_signature(const ExportedModel& model);

/// Answers raw rows. One thread.
class RawRows {
 public:
  virtual ~RawRows() = default;
  /// Outputs as raw_rows_signature has them. A row is an object of JSON; the bytes of an image, and of a
  /// column of URLs, are given as {"b64": …}. A row that makes no input, or whose answer holds what is not a
  /// finite number, fails alone.
  virtual Result<HostedOutputs> run(std::span<const std::string_view> rows) = 0;
};

/// Borrows `model` and `stores`. `batch_rows`: rows that the model is given at once.
/// \error as open_raw_input (predict/raw_input.h)
Result<std::unique_ptr<RawRows>> open_raw_rows(const ExportedModel& model, StoreRegistry& stores,
                                               TextEncoders encoders, std::uint64_t batch_rows);

}  // namespace headrace
