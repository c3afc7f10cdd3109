#include "headrace/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "headrace/base/text.h"
#include "headrace/engine/metric_states.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/stream/one_hot.h"
#include "headrace/stream/record_weights.h"

namespace headrace {
namespace {

LoaderOptions loader_options(const ModelBinding& binding, const EvaluateOptions& options,
                             const std::stop_token& stop) {
  LoaderOptions out = BatchTensors(binding.step_features()).options_in_order();
  out.batch_size = options.batch_size;
  out.on_corrupt = options.on_corrupt;
  out.memory_budget_bytes = options.memory_budget_bytes;
  out.stop = stop;
  return out;
}

// Reads the numbers of one row of a label.
void read_row(const TensorView& labels, std::size_t row, std::span<double> out) {
  const std::size_t size = out.size();
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = labels.type == DataType::kInt64
                 ? static_cast<double>(static_cast<const std::int64_t*>(labels.data)[row * size + i])
                 : static_cast<double>(static_cast<const float*>(labels.data)[row * size + i]);
  }
}

// The class that a row of a label names.
std::optional<std::size_t> class_of(std::span<const double> row, std::size_t classes) {
  if (row.size() > 1) {
    const std::optional<std::int64_t> place = place_of_one(row);
    const bool is_class = place && *place >= 0 && static_cast<std::size_t>(*place) < classes;
    return is_class ? std::optional(static_cast<std::size_t>(*place)) : std::nullopt;
  }
  const bool is_class = row[0] >= 0 && row[0] < static_cast<double>(classes) && row[0] == std::floor(row[0]);
  return is_class ? std::optional(static_cast<std::size_t>(row[0])) : std::nullopt;
}

double probability_of(TargetScores scores, float value) {
  const auto number = static_cast<double>(value);
  return scores == TargetScores::kLogit ? 1 / (1 + std::exp(-number)) : number;
}

// Returns how far a number of a binary or multi-label output is from its label, which is 0 or 1.
double error_of(TargetScores scores, double truth, float value) {
  if (scores != TargetScores::kMargin) return std::abs(truth - probability_of(scores, value));
  return std::max(0.0, 1 - (truth == 1 ? 1 : -1) * static_cast<double>(value));
}

// Returns how far an answer is from its label; 0 if it is right. REQUIRES: `truth` is valid for the target
double error_of(const ModelTarget& target, std::span<const double> truth, std::span<const float> answer) {
  double largest = 0;
  if (target.kind == TargetKind::kClasses)
    return static_cast<double>(answer[*highest(answer)] - answer[*class_of(truth, answer.size())]);
  if (target.kind == TargetKind::kBinary)
    return error_of(target.scores, static_cast<double>(*class_of(truth, 2)), answer.front());
  const bool is_multi_label = target.kind == TargetKind::kMultiLabel;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = is_multi_label ? error_of(target.scores, truth[i], answer[i])
                                        : std::abs(truth[i] - static_cast<double>(answer[i]));
    largest = std::max(largest, error);
  }
  return largest;
}

// Compares one output with its label.
class TargetEvaluator {
 public:
  TargetEvaluator(const ModelContract& contract, const ModelTarget& target)
      : target_(target), evaluation_(TargetEvaluation::of(target, class_names(contract, target))) {}

  // Returns false if the label is not valid for the target. REQUIRES: predictions are finite
  bool add(std::span<const double> truth, std::span<const float> predictions) {
    switch (target_.kind) {
      case TargetKind::kClasses:
        return add_class(truth, *highest(predictions));
      case TargetKind::kBinary:
        return add_binary(truth, predictions.front());
      case TargetKind::kMultiLabel:
        return add_labels(truth, predictions);
      case TargetKind::kRegression:
        return add_numbers(truth, predictions);
    }
    return false;
  }

  const ModelTarget& target() const { return target_; }
  TargetEvaluation& evaluation() { return evaluation_; }

  std::string wanted() const {
    switch (target_.kind) {
      case TargetKind::kClasses:
      case TargetKind::kBinary:
        return concat("one of ", evaluation_.classes.size(), " classes");
      case TargetKind::kMultiLabel:
        return concat(evaluation_.classes.size(), " values, each 0 or 1");
      case TargetKind::kRegression:
        break;
    }
    return "finite numbers";
  }

 private:
  bool add_class(std::span<const double> truth, std::size_t predicted) {
    ConfusionMatrix& confusion = evaluation_.confusion.front();
    const std::optional<std::size_t> of = class_of(truth, confusion.classes());
    if (of) confusion.add(*of, predicted);
    return of.has_value();
  }

  bool add_binary(std::span<const double> truth, float score) {
    const std::optional<std::size_t> of = class_of(truth, 2);
    if (!of) return false;
    BinaryScores& scores = evaluation_.scores.front();
    scores.add(score, *of == 1);
    scores.add_probability(static_cast<float>(probability_of(target_.scores, score)), *of == 1);
    return add_class(truth, score > yes_threshold(target_.scores) ? 1 : 0);
  }

  bool add_labels(std::span<const double> truth, std::span<const float> scores) {
    for (const double value : truth) {
      if (value != 0 && value != 1) return false;
    }
    const float threshold = yes_threshold(target_.scores);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      evaluation_.scores[i].add(scores[i], truth[i] == 1);
      evaluation_.confusion[i].add(truth[i] == 1 ? 1 : 0, scores[i] > threshold ? 1 : 0);
    }
    return true;
  }

  bool add_numbers(std::span<const double> truth, std::span<const float> predicted) {
    for (const double value : truth) {
      if (!std::isfinite(value)) return false;
    }
    for (std::size_t i = 0; i < truth.size(); ++i) evaluation_.numbers[i].add(predicted[i], truth[i]);
    return true;
  }

  const ModelTarget& target_;
  TargetEvaluation evaluation_;
};

// Limits the number of classes, because the confusion matrix grows with its square.
Status check_classes(const ModelContract& contract) {
  constexpr std::size_t kMostClasses = 2000;
  for (const ModelTarget& target : contract.binding.targets) {
    const std::size_t classes = class_names(contract, target).size();
    if (target.kind != TargetKind::kClasses || classes <= kMostClasses) continue;
    return Error{
        Code::kUnimplemented,
        concat("the output ", target.output, " has ", classes, " classes; evaluation counts at most ",
               kMostClasses, ". headrace predict --data writes the answers to every record")};
  }
  return {};
}

// Returns the model's binding, without the weights of records if the data have none.
ModelBinding binding_for(const ModelContract& contract, const Dataset& dataset) {
  ModelBinding out = contract.binding;
  const auto& data = dataset.attributes();
  if (out.weights && data && !data->features.contains(out.weights->name)) out.weights.reset();
  return out;
}

class Evaluator {
 public:
  /// `read`: the binding of the features that the batches have.
  static Result<Evaluator> create(const ExportedModel& model, const ModelBinding& read) {
    const ModelContract& contract = model.contract;
    std::vector<std::string> inputs = contract.binding.step_tensors(), outputs = {"loss", "metrics"};
    const std::vector<std::string> states = MetricStates::tensors(*model.model);
    inputs.insert(inputs.end(), states.begin(), states.end());
    outputs.insert(outputs.end(), states.begin(), states.end());
    for (const ModelTarget& target : contract.binding.targets)
      outputs.push_back(contract.binding.find_output(target.output)->tensor);
    HEADRACE_TRY(std::unique_ptr<Call> call,
                 model.model->prepare("eval_step", std::move(inputs), std::move(outputs)));
    HEADRACE_TRY(MetricStates started, MetricStates::start(*model.model));
    return Evaluator(contract, read, std::move(call), std::move(started));
  }

  Status add(const Batch& batch, const BatchLoader& loader) {
    if (batch.records == 0) return {};
    HEADRACE_TRY(const std::span<const TensorView> columns, tensors_.view(batch, batch.rows));
    if (reads_weights_)
      HEADRACE_CHECK(check_record_weights(*contract_.binding.weights, columns.back(), batch, loader));
    std::vector<TensorView> inputs(columns.begin(), columns.end());
    if (contract_.binding.weights && !reads_weights_) inputs.push_back(equal_weights(batch.rows));
    inputs.push_back(TensorView::of(batch.weights(), {static_cast<std::int64_t>(batch.rows)}));
    std::ranges::copy(states_.views(), std::back_inserter(inputs));
    std::vector<Tensor> outputs(2 + states_.count() + targets_.size());
    HEADRACE_CHECK(call_->run(inputs, outputs));
    HEADRACE_CHECK(add_sums(outputs[0], outputs[1], batch.records));
    states_.take(std::span(outputs).subspan(2, states_.count()));
    for (std::size_t i = 0; i < targets_.size(); ++i)
      HEADRACE_CHECK(
          add_answers(batch, columns[inputs_ + i], outputs[2 + states_.count() + i], targets_[i], loader));
    records_ += batch.records;
    return {};
  }

  std::uint64_t records() const { return records_; }
  std::vector<TargetEvaluation> take_targets() {
    std::vector<TargetEvaluation> out;
    for (TargetEvaluator& target : targets_) out.push_back(std::move(target.evaluation()));
    return out;
  }
  Result<std::map<std::string, double>> metrics() const {
    if (sums_.empty()) return std::map<std::string, double>();
    const double records = sums_.front() > 0 ? sums_.front() : 1;
    HEADRACE_TRY(auto out, states_.results());
    out["loss"] = loss_sum_ / records;
    for (std::size_t i = 1; i < sums_.size(); ++i) out[contract_.metrics[i]] = sums_[i] / records;
    return out;
  }

 private:
  Evaluator(const ModelContract& contract, const ModelBinding& read, std::unique_ptr<Call> call,
            MetricStates states)
      : contract_(contract),
        call_(std::move(call)),
        states_(std::move(states)),
        tensors_(read.step_features()),
        reads_weights_(read.weights.has_value()),
        inputs_(contract.binding.inputs.size()),
        sums_(contract.metrics.size()) {
    for (const ModelTarget& target : contract.binding.targets) targets_.emplace_back(contract, target);
  }

  // Returns a weight of 1 for each row, in the type and shape of the model's weights.
  TensorView equal_weights(std::uint64_t rows) {
    const ModelFeature& weights = *contract_.binding.weights;
    std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
    sizes.insert(sizes.end(), weights.shape.begin(), weights.shape.end());
    if (weights.type == DataType::kInt64) {
      integers_of_one_.assign(rows, 1);
      return TensorView::of(integers_of_one_.data(), Shape(sizes));
    }
    floats_of_one_.assign(rows, 1);
    return TensorView::of(floats_of_one_.data(), Shape(sizes));
  }

  Status add_sums(const Tensor& loss, const Tensor& metrics, std::uint64_t records) {
    if (sums_.empty()) return {};  // a model without a loss
    const std::span<const float> sums = metrics.values<float>();
    if (loss.values<float>().size() != 1 || sums.size() != sums_.size())
      return Error{Code::kInvalidArgument,
                   "the model's eval_step returns a loss or metrics that do not match its manifest; export "
                   "the model again"};
    loss_sum_ += static_cast<double>(loss.values<float>()[0]) * static_cast<double>(records);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += sums[i];
    return {};
  }

  // `predictions` has only the rows of the batch that are records.
  Status add_answers(const Batch& batch, const TensorView& labels, const Tensor& predictions,
                     TargetEvaluator& target, const BatchLoader& loader) const {
    const ModelOutput& output = *contract_.binding.find_output(target.target().output);
    HEADRACE_CHECK(check_predictions(predictions, output, batch.records));
    const std::span<const float> values = predictions.values<float>();
    const std::size_t size = values.size() / batch.records;
    std::vector<double> truth(target.target().label.size());
    std::size_t answer = 0;
    std::vector<RecordPlace> places;  // filled once they are needed
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (batch.weights()[row] == 0) continue;
      read_row(labels, row, truth);
      if (target.target().scores == TargetScores::kMargin) std::ranges::replace(truth, -1.0, 0.0);
      const std::span<const float> given = values.subspan(size * answer++, size);
      if (!target.add(truth, given)) return wrong_label(batch, row, target, loader);
      const double error = error_of(target.target(), truth, given);
      WorstRecords& worst = target.evaluation().worst;
      if (!worst.would_keep(error)) continue;
      if (places.empty()) {
        HEADRACE_TRY(places, loader.where(batch.epoch, batch.number, {}));
      }
      if (row >= places.size()) continue;
      worst.add({places[row].object,
                 places[row].record,
                 error,
                 truth,
                 {given.begin(), given.end()},
                 places[row].shard});
    }
    return {};
  }

  static Error wrong_label(const Batch& batch, std::size_t row, const TargetEvaluator& target,
                           const BatchLoader& loader) {
    return {Code::kInvalidArgument, concat("the feature ", describe(target.target().label), " of ",
                                           describe_record(loader, batch, row), " is not ", target.wanted())};
  }

  const ModelContract& contract_;
  std::unique_ptr<Call> call_;
  MetricStates states_;
  BatchTensors tensors_;
  bool reads_weights_;
  std::vector<float> floats_of_one_;
  std::vector<std::int64_t> integers_of_one_;
  std::size_t inputs_;  // number of inputs
  std::vector<TargetEvaluator> targets_;
  std::uint64_t records_ = 0;
  double loss_sum_ = 0;
  std::vector<double> sums_;  // in the order of eval_step's metrics
};

}  // namespace

Result<Evaluation> evaluate(const ExportedModel& model, const Location& data, const EvaluateOptions& options,
                            const OnRecords& on_records, const std::stop_token& stop) {
  HEADRACE_TRY(const std::shared_ptr<const Dataset> dataset,
               Dataset::open(data, {.split = options.split,
                                    .version = options.data_version,
                                    .on_corrupt = options.on_corrupt,
                                    .call = {.stop = stop}}));
  HEADRACE_CHECK(check_dataset(model, *dataset, true));
  HEADRACE_CHECK(check_classes(model.contract));
  const ModelBinding read = binding_for(model.contract, *dataset);
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({{.dataset = dataset}}, loader_options(read, options, stop)));
  HEADRACE_TRY(Evaluator evaluator, Evaluator::create(model, read));
  for (std::uint64_t done = 0;;) {
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch) break;
    HEADRACE_CHECK(evaluator.add(*batch, *loader));
    done += batch->records;
    on_records(done, dataset->record_count());
  }
  if (evaluator.records() == 0) {
    return Error{Code::kDataLoss, concat("no record of split ", options.split, " of ", data.describe(),
                                         " could be read; headrace verify shows what is damaged")};
  }
  HEADRACE_TRY(auto metrics, evaluator.metrics());
  Evaluation out{.model = {model.folder.url.text(), model.digest},
                 .data = {data.url.text(), dataset->digest()},
                 .split = options.split,
                 .targets = evaluator.take_targets(),
                 .records = evaluator.records(),
                 .metrics = std::move(metrics),
                 .weights = read.weights ? read.weights->name : "",
                 .corrupt_records = loader->stats().corrupt_records,
                 .fetched_bytes = loader->stats().fetched_bytes,
                 .remarks = dataset->remarks()};
  if (model.contract.binding.weights && !read.weights)
    add_remark(out.remarks, concat(data.describe(), " has no ", model.contract.binding.weights->name,
                                   ", by which the model's loss weighs records: each record counts once"));
  if (options.shows_records) {
    for (TargetEvaluation& target : out.targets) {
      HEADRACE_TRY(std::vector<std::string> failures, target.worst.read_previews(*dataset, {.stop = stop}));
      for (std::string& failure : failures) add_remark(out.remarks, std::move(failure));
    }
  }
  for (std::string& remark : loader->remarks()) add_remark(out.remarks, std::move(remark));
  return out;
}

}  // namespace headrace
