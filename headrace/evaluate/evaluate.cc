#include "headrace/evaluate/evaluate.h"

#include <array>

#include "headrace/base/text.h"
#include "headrace/evaluate/predictor.h"

namespace headrace {
namespace {

LoaderOptions loader_options(const ExportAttributes& attributes, const EvaluateOptions& options,
                             const std::stop_token& stop) {
  LoaderOptions out;
  out.columns = {{.name = attributes.features,
                  .type = DataType::kFloat32,
                  .length = static_cast<std::uint32_t>(attributes.features_width)},
                 {.name = attributes.label_feature,
                  .type = DataType::kInt64,
                  .length = static_cast<std::uint32_t>(attributes.labels.size())}};
  out.batch_size = options.batch_size;
  out.shuffle = ShuffleMode::kNone;
  out.on_corrupt = options.on_corrupt;
  out.threads = 1;
  out.memory_budget_bytes = options.memory_budget_bytes;
  out.stop = stop;
  return out;
}

class Evaluator {
 public:
  Evaluator(const ExportedModel& model, std::unique_ptr<Call> call)
      : attributes_(model.attributes),
        call_(std::move(call)),
        confusion_(attributes_.labels.size()),
        sums_(attributes_.metrics.size()) {}

  Status add(const Batch& batch, const BatchLoader& loader) {
    if (batch.records == 0) return {};
    const auto rows = static_cast<std::int64_t>(batch.rows);
    const auto width = static_cast<std::int64_t>(attributes_.features_width);
    const auto classes = static_cast<std::int64_t>(confusion_.classes());
    const auto* labels = reinterpret_cast<const std::int64_t*>(batch.column(1));
    const std::array inputs = {TensorView::of(reinterpret_cast<const float*>(batch.column(0)), {rows, width}),
                               TensorView::of(labels, {rows, classes}),
                               TensorView::of(batch.weights(), {rows})};
    std::array<Tensor, 3> outputs;
    HEADRACE_CHECK(call_->run(inputs, outputs));
    HEADRACE_CHECK(add_sums(outputs[0], outputs[1], batch.records));
    HEADRACE_CHECK(check_predictions(outputs[2], batch.records, confusion_.classes()));
    return add_answers(batch, labels, outputs[2].values<float>(), loader);
  }

  const ConfusionMatrix& confusion() const { return confusion_; }
  std::map<std::string, double> metrics() const {
    const double records = sums_.front() > 0 ? sums_.front() : 1;
    std::map<std::string, double> out = {{"loss", loss_sum_ / records}};
    for (std::size_t i = 1; i < sums_.size(); ++i) out[attributes_.metrics[i]] = sums_[i] / records;
    return out;
  }

 private:
  Status add_sums(const Tensor& loss, const Tensor& metrics, std::uint64_t records) {
    const std::span<const float> sums = metrics.values<float>();
    if (loss.values<float>().size() != 1 || sums.size() != sums_.size())
      return Error{Code::kInvalidArgument,
                   "the model's eval_step gives another loss or other metrics than its manifest says; export "
                   "it again"};
    loss_sum_ += static_cast<double>(loss.values<float>()[0]) * static_cast<double>(records);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += sums[i];
    return {};
  }

  // Predictions hold only the rows that are records.
  Status add_answers(const Batch& batch, const std::int64_t* labels, std::span<const float> predictions,
                     const BatchLoader& loader) {
    const std::size_t classes = confusion_.classes();
    std::size_t answer = 0;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (batch.weights()[row] == 0) continue;
      const auto truth = one_hot_class({labels + row * classes, classes});
      if (!truth) return not_one_hot(batch, row, loader);
      confusion_.add(*truth, *highest(predictions.subspan(classes * answer++, classes)));
    }
    return {};
  }

  Error not_one_hot(const Batch& batch, std::size_t row, const BatchLoader& loader) const {
    const std::vector<RecordPlace> places = loader.where(batch.epoch, batch.number);
    const std::string where =
        row < places.size() ? concat("record ", places[row].record, " of ", places[row].object) : "a record";
    return {Code::kInvalidArgument,
            concat("the feature ", attributes_.label_feature, " of ", where, " is not one-hot: of its ",
                   confusion_.classes(), " values one must be 1 and the others 0")};
  }

  const ExportAttributes& attributes_;
  std::unique_ptr<Call> call_;
  ConfusionMatrix confusion_;
  double loss_sum_ = 0;
  std::vector<double> sums_;  // as eval_step's metrics
};

}  // namespace

Result<Evaluation> evaluate(const ExportedModel& model, const Location& data, const EvaluateOptions& options,
                            const OnRecords& on_records, const std::stop_token& stop) {
  HEADRACE_TRY(const std::shared_ptr<const Dataset> dataset,
               Dataset::open(data, {.split = options.split,
                                    .version = options.data_version,
                                    .on_corrupt = options.on_corrupt,
                                    .call = {.stop = stop}}));
  HEADRACE_CHECK(check_dataset(model, *dataset));
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({{.dataset = dataset}}, loader_options(model.attributes, options, stop)));
  HEADRACE_TRY(std::unique_ptr<Call> call,
               model.model->prepare("eval_step", {"features", "labels", "weights"},
                                    {"loss", "metrics", "predictions"}));
  Evaluator evaluator(model, std::move(call));
  for (std::uint64_t done = 0;;) {
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch) break;
    HEADRACE_CHECK(evaluator.add(*batch, *loader));
    done += batch->records;
    on_records(done, dataset->record_count());
  }
  if (evaluator.confusion().records() == 0) {
    return Error{Code::kDataLoss, concat("no record of split ", options.split, " of ", data.describe(),
                                         " could be read; headrace verify says what is damaged")};
  }
  Evaluation out{.model = {model.folder.url.text(), model.digest},
                 .data = {data.url.text(), dataset->digest()},
                 .split = options.split,
                 .labels = model.attributes.labels,
                 .confusion = evaluator.confusion(),
                 .metrics = evaluator.metrics(),
                 .corrupt_records = loader->stats().corrupt_records,
                 .fetched_bytes = loader->stats().fetched_bytes,
                 .remarks = dataset->remarks()};
  for (std::string& remark : loader->remarks()) add_remark(out.remarks, std::move(remark));
  return out;
}

}  // namespace headrace
