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
constexpr std::string_view kBadRecord = "the row has another type or shape than the model takes";

Shape with_open_rows(const std::vector<std::int64_t>& row_shape) {
  std::vector<std::int64_t> sizes = {-1};
  sizes.insert(sizes.end(), row_shape.begin(), row_shape.end());
  return Shape(sizes);
}

// One output of the answer while rows are added.
struct AnswerColumn {
  AnswerTensor about;
  std::vector<std::string> texts{};
  std::vector<float> numbers{};

  std::size_t row_size() const {
    return about.row_shape.empty() ? 1
                                   : static_cast<std::size_t>(std::max<std::int64_t>(about.row_shape[0], 0));
  }
};

class RawRowsOfModel final : public RawRows {
 public:
  RawRowsOfModel(const ExportedModel& model, std::unique_ptr<Call> call)
      : format_(model.contract), call_(std::move(call)), tensors_(model.contract.binding.input_features()) {
    for (const ModelOutput& output : model.contract.binding.outputs) sizes_.push_back(output.size());
  }

  Status open(const ExportedModel& model, StoreRegistry& stores, TextEncoders encoders,
              std::uint64_t batch_rows) {
    const auto fail = [this](std::uint64_t row, std::string_view why) { failed_[row - 1] = why; };
    HEADRACE_TRY(input_, open_given_rows(model, given_, stores, std::move(encoders), fail));
    HEADRACE_TRY(reader_, input_->open(0, batch_rows, {}));
    return {};
  }

  Result<HostedOutputs> run(std::span<const std::string_view> rows) override {
    failed_.clear();
    given_.give(rows);
    columns_.clear();
    for (AnswerTensor& about : format_.tensors()) columns_.push_back({std::move(about)});
    std::uint64_t next = 0;
    while (true) {
      HEADRACE_TRY(const std::optional<PredictRows> made, reader_->next());
      if (!made) break;
      HEADRACE_CHECK(answer(*made, next));
    }
    while (next < rows.size()) add_nothing(next);
    return HostedOutputs{finished(static_cast<std::int64_t>(rows.size())), std::move(failed_)};
  }

 private:
  // The rows of a batch are the next ones that have not failed. A name tells a row from one that fills up.
  Status answer(const PredictRows& made, std::uint64_t& next) {
    const auto is_row = [](const RowName& name) { return name.row > 0 || !name.id.empty(); };
    const auto count = static_cast<std::uint64_t>(std::ranges::count_if(made.names, is_row));
    if (count == 0) return {};
    HEADRACE_TRY(const std::span<const TensorView> inputs, tensors_.view(made.batch, count));
    std::vector<Tensor> outputs(sizes_.size());
    HEADRACE_CHECK(call_->run(inputs, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) HEADRACE_CHECK(check_output(outputs[i], i, count));
    HEADRACE_CHECK(settle_open_sizes(outputs, count, next));
    for (std::uint64_t i = 0; i < count; ++i) {
      while (failed_.contains(next)) add_nothing(next);
      if (made.batch.weights()[i] == 0) {
        failed_[next] = kBadRecord;
        add_nothing(next);
      } else {
        add(outputs, i, count, next++);
      }
    }
    return {};
  }

  Status check_output(const Tensor& output, std::size_t index, std::uint64_t rows) const {
    const bool has_rows = output.shape().rank() > 0 && output.shape()[0] == static_cast<std::int64_t>(rows);
    const bool is_right = output.type() == DataType::kFloat32 && has_rows &&
                          (!sizes_[index] || output.shape().elements() == rows * *sizes_[index]);
    if (is_right) return {};
    return Error{Code::kInternal, concat("the model's output ", index, " is ", data_type_name(output.type()),
                                         output.shape().text(), " for ", rows, " rows")};
  }

  // Rows of an output whose size is open have the size that the model gives to the first.
  Status settle_open_sizes(const std::vector<Tensor>& outputs, std::uint64_t rows, std::uint64_t next) {
    for (AnswerColumn& column : columns_) {
      if (column.about.row_shape.empty() || column.about.is_label) continue;
      const auto size = static_cast<std::int64_t>(outputs[column.about.output].shape().elements() / rows);
      std::int64_t& known = column.about.row_shape[0];
      if (known >= 0 && known != size) {
        return Error{Code::kInvalidArgument, concat("the model gives rows of ", known, " and of ", size,
                                                    " numbers: ask for them one by one")};
      }
      if (known < 0) column.numbers.resize(column.numbers.size() + next * static_cast<std::size_t>(size));
      known = size;
    }
    return {};
  }

  // A row that failed has a value, too, which means nothing.
  void add_nothing(std::uint64_t& next) {
    ++next;
    for (AnswerColumn& column : columns_) {
      if (column.about.is_label) {
        column.texts.emplace_back();
      } else {
        column.numbers.resize(column.numbers.size() + column.row_size());
      }
    }
  }

  void add(const std::vector<Tensor>& outputs, std::uint64_t row, std::uint64_t rows, std::uint64_t number) {
    for (AnswerColumn& column : columns_) {
      const Tensor& output = outputs[column.about.output];
      const std::size_t size = output.shape().elements() / rows;
      const std::span<const float> values = output.values<float>().subspan(row * size, size);
      if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        failed_[number] = "the model's answer holds what is not a finite number";
      if (column.about.is_label) {
        column.texts.emplace_back(format_.label(column.about.output, values).value_or(""));
      } else {
        column.numbers.insert(column.numbers.end(), values.begin(), values.end());
      }
    }
  }

  std::vector<Tensor> finished(std::int64_t rows) {
    std::vector<Tensor> out;
    for (AnswerColumn& column : columns_) {
      std::vector<std::int64_t> sizes = {rows};
      if (!column.about.row_shape.empty()) sizes.push_back(static_cast<std::int64_t>(column.row_size()));
      if (column.about.is_label) {
        out.emplace_back(Shape(sizes), std::move(column.texts));
        continue;
      }
      auto numbers = std::make_shared<const std::vector<float>>(std::move(column.numbers));
      out.emplace_back(DataType::kFloat32, Shape(sizes), numbers->data(), numbers);
    }
    return out;
  }

  const AnswerFormat format_;
  const std::unique_ptr<Call> call_;
  BatchTensors tensors_;
  std::vector<std::optional<std::uint64_t>> sizes_;  // values of a row of each output; none: open
  GivenRows given_;
  std::unique_ptr<PredictInput> input_;
  std::unique_ptr<PieceReader> reader_;
  std::map<std::uint64_t, std::string> failed_;
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
  auto made = std::make_unique<RawRowsOfModel>(model, std::move(call));
  HEADRACE_CHECK(made->open(model, stores, std::move(encoders), batch_rows));
  return std::unique_ptr<RawRows>(std::move(made));
}

}  // namespace headrace
