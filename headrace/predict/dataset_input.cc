#include "headrace/predict/dataset_input.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/record_ids.h"

namespace headrace {
namespace {

class ShardReader final : public PieceReader {
 public:
  /// `loader` is null if there are no records. `source` names the shard in answers; it is empty if the
  /// dataset has only one shard.
  ShardReader(std::unique_ptr<BatchLoader> loader, std::optional<std::size_t> id_column, std::string source,
              bool is_lost)
      : loader_(std::move(loader)), id_column_(id_column), source_(std::move(source)), is_lost_(is_lost) {}

  Result<std::optional<PredictRows>> next() override {
    if (loader_ == nullptr) return std::optional<PredictRows>();
    HEADRACE_TRY(std::optional<Batch> batch, loader_->next());
    if (!batch) return std::optional<PredictRows>();
    PredictRows out{.batch = *std::move(batch), .names = {}};
    for (std::size_t row = 0; row < out.batch.rows; ++row) {
      ++records_;
      out.names.push_back(name_of(out.batch, row));
    }
    return std::optional(std::move(out));
  }

  std::uint64_t left_out() const override { return loader_ ? loader_->stats().corrupt_records : 0; }
  std::vector<std::string> remarks() const override {
    // The dataset itself already has a remark about a lost shard.
    return loader_ && !is_lost_ ? loader_->remarks() : std::vector<std::string>();
  }

 private:
  RowName name_of(const Batch& batch, std::size_t row) const {
    std::string_view id = id_column_ ? id_of(batch, *id_column_, row) : std::string_view();
    if (!id.empty()) return {.id = std::string(id)};
    return {.source = source_, .row = records_};
  }

  std::unique_ptr<BatchLoader> loader_;
  std::optional<std::size_t> id_column_;
  std::string source_;
  bool is_lost_;
  std::uint64_t records_ = 0;  // number of records of the shard so far
};

class DatasetInput final : public PredictInput {
 public:
  /// `loader`: options with the columns of the model's inputs.
  DatasetInput(std::shared_ptr<const Dataset> dataset, LoaderOptions loader, DatasetInputOptions options)
      : dataset_(std::move(dataset)),
        loader_(std::move(loader)),
        id_column_(headrace::id_column(*dataset_)),
        options_(std::move(options)) {}

  Configuration configuration() const override {
    return {{"data", dataset_->url()}, {"data manifest", dataset_->digest()}, {"split", options_.split}};
  }
  std::vector<std::string> names() const override {
    if (id_column_) return {"id"};
    return has_one_shard() ? std::vector<std::string>{"row"} : std::vector<std::string>{"source", "row"};
  }
  std::size_t pieces() const override { return dataset_->shards().size(); }
  std::uint64_t records() const override { return dataset_->record_count(); }
  std::vector<std::string> remarks() const override { return dataset_->remarks(); }

  Result<std::unique_ptr<PieceReader>> open(std::size_t piece, std::uint64_t batch_size,
                                            const std::stop_token& stop) const override {
    const auto shard = static_cast<std::uint32_t>(piece);
    const bool is_lost = dataset_->shards()[shard].lost;
    std::unique_ptr<BatchLoader> loader;
    if (dataset_->shards()[shard].record_count > 0) {
      HEADRACE_TRY(loader, BatchLoader::create({{.dataset = dataset_->only(shard)}},
                                               loader_options(batch_size, stop)));
    }
    return std::unique_ptr<PieceReader>(std::make_unique<ShardReader>(
        std::move(loader), id_column_ ? std::optional(place_of_id()) : std::nullopt,
        has_one_shard() ? "" : dataset_->shards()[shard].url(), is_lost));
  }

  // Checks that the first record fits the model. If records that do not fit are left out, one of the first 16
  // records must fit. Damaged records do not show that the data do not fit.
  Status check_first(const std::stop_token& stop) const {
    const auto first = std::ranges::find_if(
        dataset_->shards(), [](const DatasetShard& shard) { return shard.record_count > 0 && !shard.lost; });
    if (first == dataset_->shards().end()) return {};
    const auto shard = static_cast<std::uint32_t>(first - dataset_->shards().begin());
    if (options_.on_corrupt != CorruptionPolicy::kFail) {
      HEADRACE_TRY(const std::unique_ptr<BatchLoader> some,
                   BatchLoader::create({{.dataset = dataset_->only(shard)}}, loader_options(16, stop)));
      const auto fitting = some->next();
      if (fitting && *fitting && (*fitting)->records > 0) return {};
    }
    LoaderOptions options = loader_options(1, stop);
    options.on_corrupt = CorruptionPolicy::kFail;
    HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
                 BatchLoader::create({{.dataset = dataset_->only(shard)}}, options));
    auto batch = loader->next();
    return batch || batch.error().code != Code::kInvalidArgument ? Status() : std::move(batch).error();
  }

 private:
  bool has_one_shard() const { return dataset_->shards().size() == 1; }

  // The ids come last, unless the model takes them as an input.
  std::size_t place_of_id() const {
    const auto found = std::ranges::find(loader_.columns, id_column_->name, &Column::name);
    return static_cast<std::size_t>(found - loader_.columns.begin());
  }

  LoaderOptions loader_options(std::uint64_t batch_size, const std::stop_token& stop) const {
    LoaderOptions out = loader_;
    if (id_column_ && place_of_id() == out.columns.size()) out.columns.push_back(*id_column_);
    out.batch_size = batch_size;
    out.on_corrupt = options_.on_corrupt;
    out.memory_budget_bytes = options_.memory_budget_bytes;
    out.stop = stop;
    return out;
  }

  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions loader_;
  const std::optional<Column> id_column_;
  const DatasetInputOptions options_;
};

}  // namespace

Result<std::unique_ptr<PredictInput>> open_dataset_input(const ExportedModel& model, const Location& data,
                                                         const DatasetInputOptions& options,
                                                         const std::stop_token& stop) {
  HEADRACE_TRY(std::shared_ptr<const Dataset> dataset, Dataset::open(data, {.split = options.split,
                                                                            .version = options.data_version,
                                                                            .on_corrupt = options.on_corrupt,
                                                                            .call = {.stop = stop}}));
  HEADRACE_CHECK(check_dataset(model, *dataset, false));
  LoaderOptions loader = BatchTensors(model.contract.binding.input_features()).options_in_order();
  auto input = std::make_unique<DatasetInput>(std::move(dataset), std::move(loader), options);
  if (options.checks_first) HEADRACE_CHECK(input->check_first(stop));
  return std::unique_ptr<PredictInput>(std::move(input));
}

}  // namespace headrace
