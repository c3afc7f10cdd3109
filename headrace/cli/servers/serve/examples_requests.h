#pragma once

/// \file Runs Classify, Regress and MultiInference requests. See model_request.h.

#include <functional>
#include <memory>

#include "headrace/base/bytes.h"
#include "headrace/cli/servers/serve/model_request.h"
#include "headrace/serve/protocol/examples_request.h"

namespace headrace {

/// The name of the method in ServingMetrics::count.
std::string_view api_name(ExamplesMethod method);

/// Passes the examples to the batches of their signature. When the results arrive, `answer` sends them, as
/// for run_rows; errors are sent. REQUIRES: the version was found
void run_examples(const std::shared_ptr<ModelRequest>& request, const ExamplesRequest& examples,
                  ExamplesMethod method, AnswerEncoding encoding,
                  std::function<Status(const BatchAnswers&)> answer);

/// Runs the tasks one after another, then calls `send` with a MultiInferenceResponse. If a task fails, its
/// error is sent as the answer to all. REQUIRES: the version was found
void run_tasks(const std::shared_ptr<ModelRequest>& request, MultiInferenceRequest tasks,
               std::function<void(Bytes)> send);

}  // namespace headrace
