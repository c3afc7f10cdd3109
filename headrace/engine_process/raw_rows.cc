#include "headrace/engine_process/raw_rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/engine_process/given_rows.h"
#include "headrace/evaluate/answers.h"
#include "headrace/predict/raw_input.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {
namespace {

constexpr std::string_view kPredict = "predict";
constexpr std::string_view kNoAnswer = "the row yields no input for the model";
constexpr std::string_view kBadRecord =
    "the row has a different type or shape from the one that the model takes";

Shape with_open_rows(const std::vector<std::int64_t>& row_shape) {
  std::vector<std::int64_t> sizes = {-1};
  sizes.insert(sizes.end(), row_shape.begin(), row_shape.end());
  return Shape(sizes);
}

// One output of the answer to a batch. A row without an answer has a placeholder value.
struct AnswerColumn {
  AnswerTensor about;
  std::vector<std::string> texts{};  // one for each row
  std::vector<float> numbers{};      // of all rows; empty while the size of a row is open
};

class RawRowsOfModel final : public RawRows {
 public:
  RawRowsOfModel(const ExportedModel& model, std::unique_ptr<Call> call, std::uint64_t batch_rows)
      : format_(model.contract),
        call_(std::move(call)),
        tensors_(model.contract.binding.input_features()),
        batch_rows_(batch_rows) {
    for (const ModelOutput& output : model.contract.binding.outputs) sizes_.push_back(output.size());
  }

  Status open(const ExportedModel& model, StoreRegistry& stores, TextEncoders encoders) {
    const auto fail = [this](std::uint64_t number, std::string_view why) { states_[number - 1] = why; };
    HEADRACE_TRY(input_, open_given_rows(model, given_, stores, std::move(encoders), fail));
    return reopen();
  }

  Result<HostedOutputs> run(std::span<const std::string_view> rows) override {
    if (!reader_) HEADRACE_CHECK(reopen());
    auto outputs = answer_all(rows);
    // A reader that stopped halfway still has rows of this batch, which no other batch may get.
    if (!outputs) reader_.reset();
    return outputs;
  }

 private:
  Status reopen() {
    HEADRACE_TRY(reader_, input_->open(0, batch_rows_, {}));
    return {};
  }

  Result<HostedOutputs> answer_all(std::span<const std::string_view> rows) {
    states_.assign(rows.size(), std::string(kNoAnswer));
    columns_.clear();
    for (AnswerTensor& about : format_.tensors()) {
      AnswerColumn& column = columns_.emplace_back(AnswerColumn{std::move(about)});
      if (column.about.is_label) column.texts.resize(rows.size());
    }
    given_.give(rows);
    while (true) {
      HEADRACE_TRY(const std::optional<PredictRows> made, reader_->next());
      if (!made) break;
      HEADRACE_CHECK(answer(*made));
    }
    HostedOutputs out{.tensors = finished(rows.size())};
    for (std::size_t row = 0; row < states_.size(); ++row) {
      if (!states_[row].empty()) out.failed_rows.emplace(row, std::move(states_[row]));
    }
    return out;
  }

  Status answer(const PredictRows& made) {
    const std::uint64_t count = made.numbers.size();
    HEADRACE_TRY(const std::span<const TensorView> inputs, tensors_.view(made.batch, count));
    std::vector<Tensor> outputs(sizes_.size());
    HEADRACE_CHECK(call_->run(inputs, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) HEADRACE_CHECK(check_output(outputs[i], i, count));
    HEADRACE_CHECK(settle_sizes(outputs, count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t row = made.numbers[i] - 1;
      states_[row] = made.batch.weights()[i] == 0 ? std::string(kBadRecord) : std::string();
      if (states_[row].empty()) set(outputs, i, count, row);
    }
    return {};
  }

  Status check_output(const Tensor& output, std::size_t index, std::uint64_t rows) const {
    const bool has_rows = output.shape().rank() > 0 && output.shape()[0] == static_cast<std::int64_t>(rows);
    const bool is_right = output.type() == DataType::kFloat32 && has_rows &&
                          (!sizes_[index] || output.shape().elements() == rows * *sizes_[index]);
    if (is_right) return {};
    return Error{Code::kFailedPrecondition,
                 concat("the model's output ", index, " is ", data_type_name(output.type()),
                        output.shape().text(), " for ", rows, " rows")};
  }

  // Where the size of an output's rows is open, all rows must have the size of the first answered rows.
  Status settle_sizes(const std::vector<Tensor>& outputs, std::uint64_t rows) {
    for (AnswerColumn& column : columns_) {
      if (column.about.is_label) continue;
      const std::uint64_t size = outputs[column.about.output].shape().elements() / rows;
      const std::uint64_t wanted = states_.size() * size;
      if (column.numbers.empty()) column.numbers.resize(wanted);
      if (column.numbers.size() == wanted) continue;
      return Error{Code::kInvalidArgument,
                   concat("the model gives rows of ", column.numbers.size() / states_.size(), " and of ",
                          size, " numbers: send them one by one")};
    }
    return {};
  }

  void set(const std::vector<Tensor>& outputs, std::uint64_t at, std::uint64_t rows, std::uint64_t row) {
    for (AnswerColumn& column : columns_) {
      const Tensor& output = outputs[column.about.output];
      const std::size_t size = output.shape().elements() / rows;
      const std::span<const float> values = output.values<float>().subspan(at * size, size);
      if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        states_[row] = "the model's answer has a number that is not finite";
      if (column.about.is_label) {
        column.texts[row] = format_.label(column.about.output, values).value_or("");
      } else {
        std::copy(values.begin(), values.end(),
                  column.numbers.begin() + static_cast<std::ptrdiff_t>(row * size));
      }
    }
  }

  std::vector<Tensor> finished(std::size_t rows) {
    std::vector<Tensor> out;
    for (AnswerColumn& column : columns_) {
      std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
      if (column.about.is_label) {
        out.emplace_back(Shape(sizes), std::move(column.texts));
        continue;
      }
      if (!column.about.row_shape.empty()) {
        // No row has an answer: any size that the signature allows will do.
        const auto open = static_cast<std::int64_t>(column.numbers.size() / rows);
        sizes.push_back(column.numbers.empty() ? std::max<std::int64_t>(column.about.row_shape[0], 0) : open);
      }
      column.numbers.resize(Shape(sizes).elements());
      auto numbers = std::make_shared<const std::vector<float>>(std::move(column.numbers));
      out.emplace_back(DataType::kFloat32, Shape(sizes), numbers->data(), numbers);
    }
    return out;
  }

  const AnswerFormat format_;
  const std::unique_ptr<Call> call_;
  BatchTensors tensors_;
  const std::uint64_t batch_rows_;
  std::vector<std::optional<std::uint64_t>> sizes_;  // each output's number of values in a row; nullopt: open
  GivenRows given_;
  std::unique_ptr<PredictInput> input_;
  std::unique_ptr<PieceReader> reader_;  // null: must be opened again
  std::vector<std::string> states_;      // for each row, why it has no answer; empty: it has one
  std::vector<AnswerColumn> columns_;
};

}  // namespace

Result<ServedSignature> raw_rows_signature(const ExportedModel& model) {
  HEADRACE_TRY(const std::vector<RawColumn> columns, raw_columns(model));
  ServedSignature out{.name = std::string(kDefaultSignature),
                      .inputs = {{std::string(kRawRowsInput), DataType::kBytes, {-1}}},
                      .is_batched = true};
  for (const AnswerTensor& tensor : AnswerFormat(model.contract).tensors()) {
    out.outputs.push_back({tensor.name, tensor.is_label ? DataType::kBytes : DataType::kFloat32,
                           with_open_rows(tensor.row_shape)});
  }
  for (const RawColumn& column : columns) {
    out.columns.push_back(
        {.name = column.name, .is_image = column.is_image || column.is_url, .is_needed = column.is_needed});
  }
  return out;
}

Result<std::unique_ptr<RawRows>> open_raw_rows(const ExportedModel& model, StoreRegistry& stores,
                                               TextEncoders encoders, std::uint64_t batch_rows) {
  std::vector<std::string> inputs, outputs;
  for (const ModelInput& input : model.contract.binding.inputs) inputs.push_back(input.tensor);
  for (const ModelOutput& output : model.contract.binding.outputs) outputs.push_back(output.tensor);
  HEADRACE_TRY(std::unique_ptr<Call> call,
               model.model->prepare(kPredict, std::move(inputs), std::move(outputs)));
  auto made = std::make_unique<RawRowsOfModel>(model, std::move(call), batch_rows);
  HEADRACE_CHECK(made->open(model, stores, std::move(encoders)));
  return std::unique_ptr<RawRows>(std::move(made));
}

}  // namespace headrace
