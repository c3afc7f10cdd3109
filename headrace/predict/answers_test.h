#pragma once

/// \file For tests: answers of a model without a model.

#include <memory>
#include <string>
#include <vector>

#include "headrace/evaluate/answers.h"
#include "headrace/evaluate/evaluation.h"

namespace headrace {

/// The format of a model with one output, which has a score for each class.
inline std::shared_ptr<const AnswerFormat> format_of(std::vector<std::string> classes) {
  const auto values = static_cast<std::int64_t>(classes.size());
  ModelContract contract;
  contract.binding.targets = {
      {.tensor = "labels", .output = "out", .label = {.name = "y"}, .kind = TargetKind::kClasses}};
  contract.binding.outputs = {{"out", "out", {values}}};
  contract.vocabularies["y"] = std::move(classes);
  return std::make_shared<const AnswerFormat>(contract);
}

/// Answers that give the first class the score 0.75, and the second one the rest.
inline Answers answers_of(const std::shared_ptr<const AnswerFormat>& format, std::size_t rows) {
  const auto scores = std::make_shared<std::vector<float>>();
  for (std::size_t row = 0; row < rows; ++row) scores->insert(scores->end(), {0.75F, 0.25F});
  std::vector<Tensor> outputs;
  outputs.emplace_back(DataType::kFloat32, Shape{static_cast<std::int64_t>(rows), 2}, scores->data(), scores);
  return {format, std::move(outputs), rows};
}

}  // namespace headrace
