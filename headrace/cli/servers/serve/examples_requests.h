#pragma once

/// \file Classify, Regress and MultiInference of a version that was found: see model_request.h.

#include <functional>
#include <memory>

#include "headrace/base/bytes.h"
#include "headrace/cli/servers/serve/model_request.h"
#include "headrace/serve/protocol/examples_request.h"

namespace headrace {

/// As ServingMetrics::count has it.
std::string_view api_name(ExamplesMethod method);

/// Hands the examples to the batches of their signature. When their answers come, `answer` sends them, as for
/// run_rows; errors are sent. REQUIRES: the version was found
void run_examples(const std::shared_ptr<ModelRequest>& request, const ExamplesRequest& examples,
                  ExamplesMethod method, AnswerEncoding encoding,
                  std::function<Status(const BatchAnswers&)> answer);

/// Runs the tasks one after another; then `send` gets a MultiInferenceResponse. An error of one task is sent
/// in place of all. REQUIRES: the version was found
void run_tasks(const std::shared_ptr<ModelRequest>& request, MultiInferenceRequest tasks,
               std::function<void(Bytes)> send);

}  // namespace headrace
