#include "headrace/serve/protocol/examples_answer.h"

#include <cstring>
#include <functional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/json_writer.h"
#include "headrace/serve/protocol/model_specification.h"

namespace headrace {
namespace {

// One row of the outputs of a classifying signature. An output that does not exist is null.
class ClassRow {
 public:
  ClassRow(const AnswerPart* classes, const AnswerPart* scores, std::uint64_t row)
      : classes_(classes), scores_(scores), row_(row) {}

  std::uint64_t size() const { return (classes_ != nullptr ? classes_ : scores_)->row.elements(); }
  // A row of a rank other than 1 is refused: it has as many labels as scores only by chance.
  bool is_right() const {
    const auto is_list = [](const AnswerPart* part) { return part == nullptr || part->row.rank() == 1; };
    const bool are_equal =
        classes_ == nullptr || scores_ == nullptr || classes_->row.elements() == scores_->row.elements();
    return is_list(classes_) && is_list(scores_) && are_equal;
  }
  std::string_view label(std::uint64_t index) const {
    return classes_ == nullptr ? "" : classes_->tensor.strings[classes_->first_element(row_) + index];
  }
  float score(std::uint64_t index) const {
    return scores_ == nullptr ? 0 : number_at(*scores_, scores_->first_element(row_) + index);
  }
  static float number_at(const AnswerPart& part, std::uint64_t element) {
    float value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(part.tensor.data) + element * sizeof value,
                sizeof value);
    return value;
  }

 private:
  const AnswerPart* classes_;
  const AnswerPart* scores_;
  std::uint64_t row_;
};

Status visit_classes(const std::vector<AnswerOutput>& outputs,
                     const std::function<void(const ClassRow&)>& visit) {
  const AnswerOutput* const classes = find_output(outputs, kClassesOutput);
  const AnswerOutput* const scores = find_output(outputs, kScoresOutput);
  const AnswerOutput& any = classes != nullptr ? *classes : *scores;
  for (std::size_t piece = 0; piece < any.parts.size(); ++piece) {
    for (std::uint64_t row = 0; row < any.parts[piece].rows; ++row) {
      const ClassRow one(classes != nullptr ? &classes->parts[piece] : nullptr,
                         scores != nullptr ? &scores->parts[piece] : nullptr, row);
      if (!one.is_right())
        return Error{Code::kFailedPrecondition,
                     "the model's outputs classes and scores have different numbers of classes"};
      visit(one);
    }
  }
  return {};
}

Status visit_values(const std::vector<AnswerOutput>& outputs, const std::function<void(float)>& visit) {
  for (const AnswerPart& part : find_output(outputs, kRegressOutput)->parts) {
    if (part.row.elements() != 1)
      return Error{Code::kFailedPrecondition, concat("the model's output outputs has rows of the shape ",
                                                     part.row.text(), ", not one value for each example")};
    for (std::uint64_t row = 0; row < part.rows; ++row)
      visit(ClassRow::number_at(part, part.first_element(row)));
  }
  return {};
}

Result<std::vector<AnswerOutput>> example_answers(const BatchAnswers& answers,
                                                  const ServedSignature& signature) {
  return join_answers(answers, signature, "example");
}

// Appends the label as a string, or as {"b64": …}.
Status append_label(std::string& out, std::string_view label) {
  const TensorView one{.type = DataType::kBytes, .shape = {}, .strings = {&label, 1}};
  return append_json_tensor(out, one, 0, {}, JsonBytesForm::kText);
}

}  // namespace

Result<std::string> rest_results(const BatchAnswers& answers, const ServedSignature& signature,
                                 ExamplesMethod method) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs, example_answers(answers, signature));
  std::string out = R"({"results":[)";
  std::string_view separator = "";
  Status written;
  const auto append_row = [&](const ClassRow& row) {
    out += std::exchange(separator, ",");
    out += '[';
    for (std::uint64_t i = 0; i < row.size() && written; ++i) {
      out += i == 0 ? "[" : ",[";
      written = append_label(out, row.label(i));
      out += ',';
      append_json_number(out, row.score(i));
      out += ']';
    }
    out += ']';
  };
  const auto append_value = [&](float value) {
    out += std::exchange(separator, ",");
    append_json_number(out, value);
  };
  HEADRACE_CHECK(method == ExamplesMethod::kClassify ? visit_classes(outputs, append_row)
                                                     : visit_values(outputs, append_value));
  HEADRACE_CHECK(written);
  return out + "]}";
}

Result<Bytes> results_message(const BatchAnswers& answers, const ServedSignature& signature,
                              ExamplesMethod method) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs, example_answers(answers, signature));
  Bytes out;
  WireWriter writer(out);
  const auto write_row = [&](const ClassRow& row) {
    writer.message(1, [&](WireWriter& classifications) {
      for (std::uint64_t i = 0; i < row.size(); ++i) {
        classifications.message(1, [&](WireWriter& one) {
          if (!row.label(i).empty()) one.text(1, row.label(i));
          one.fixed32(2, row.score(i));
        });
      }
    });
  };
  const auto write_value = [&](float value) {
    writer.message(1, [&](WireWriter& regression) { regression.fixed32(1, value); });
  };
  HEADRACE_CHECK(method == ExamplesMethod::kClassify ? visit_classes(outputs, write_row)
                                                     : visit_values(outputs, write_value));
  return out;
}

Bytes results_response(BytesView results, std::string_view model, std::int64_t version,
                       std::string_view signature) {
  Bytes out;
  WireWriter writer(out);
  writer.bytes(1, results);
  write_model_specification(writer, 2, model, version, signature);
  return out;
}

void append_task_result(Bytes& response, BytesView results, ExamplesMethod method, std::string_view model,
                        std::int64_t version, std::string_view signature) {
  WireWriter(response).message(1, [&](WireWriter& result) {
    write_model_specification(result, 1, model, version, signature);
    result.bytes(method == ExamplesMethod::kClassify ? 2 : 3, results);
  });
}

}  // namespace headrace
