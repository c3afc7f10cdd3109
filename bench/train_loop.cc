/// How fast is the native training loop fed from shards, beside the same loop on one batch that lies in
/// memory?
///
///   headrace_bench_train_loop MODEL_FOLDER DATA_URL BATCH_SIZE EPOCHS INTRA_OP_THREADS
///
/// MODEL_FOLDER is the traced model of a run, RUN/model; the data have the features that it takes. Epochs of
/// as many steps on one cached batch, then epochs from shards; the first of each is not measured. Writes JSON
/// to standard output: steps of an epoch, wall seconds of each, and anonymous memory before the first batch
/// was read and at the end. bench/train_loop.py and bench/train_images.py pin it and run peers beside it.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/store/registry.h"
#include "headrace/train/step_loop.h"

namespace headrace {
namespace {

double wall_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::uint64_t anonymous_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  }
  return 0;
}

/// Wall seconds of each epoch but the first; the loader goes on through all of them, as in training.
Result<std::vector<double>> from_shards(StepCall& step, const std::shared_ptr<const Dataset>& dataset,
                                        LoaderOptions options, std::uint64_t epochs) {
  options.seed = 44;
  options.epochs = epochs + 1;
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({{.dataset = dataset}}, options));
  std::vector<double> seconds;
  for (std::uint64_t epoch = 0; epoch <= epochs; ++epoch) {
    const double start = wall_seconds();
    for (std::uint64_t i = 0; i < loader->batches_per_epoch(); ++i) {
      HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
      if (!batch) return Error{Code::kInternal, "the loader ended before the epoch did"};
      HEADRACE_CHECK(step.run(*batch, *loader));
    }
    if (epoch > 0) seconds.push_back(wall_seconds() - start);
  }
  return seconds;
}

/// The same with the first batch again and again, which lies in memory. `steps`: of an epoch.
Result<std::vector<double>> from_memory(StepCall& step, const std::shared_ptr<const Dataset>& dataset,
                                        const LoaderOptions& options, std::uint64_t epochs,
                                        std::uint64_t& steps) {
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({{.dataset = dataset}}, options));
  steps = loader->batches_per_epoch();
  HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
  if (!batch) return Error{Code::kInvalidArgument, "the dataset is empty"};
  loader->close();
  std::vector<double> seconds;
  for (std::uint64_t epoch = 0; epoch <= epochs; ++epoch) {
    const double start = wall_seconds();
    for (std::uint64_t i = 0; i < steps; ++i) HEADRACE_CHECK(step.run(*batch, *loader));
    if (epoch > 0) seconds.push_back(wall_seconds() - start);
  }
  return seconds;
}

LoaderOptions columns_of(const ModelBinding& binding, std::uint64_t batch_size, int threads) {
  const BatchTensors tensors(binding.step_features());
  LoaderOptions options;
  options.columns = tensors.columns();
  options.images.columns = tensors.images();
  options.batch_size = batch_size;
  options.is_in_background = threads > 1;  // as in `headrace train`
  return options;
}

Status run(const std::string& model_folder, const std::string& data, std::uint64_t batch_size,
           std::uint64_t epochs, int threads) {
  const Environment environment = Environment::capture();
  StoreRegistry registry(environment);
  HEADRACE_TRY(const Location folder, registry.open(data));
  HEADRACE_TRY(const TensorFlowLibrary library, find_tensorflow("", environment));
  HEADRACE_TRY(const std::shared_ptr<Engine> engine, open_tensorflow(library));
  HEADRACE_TRY(const TracedModel traced, read_traced_model(model_folder));
  HEADRACE_TRY(const std::unique_ptr<Model> model,
               engine->load(traced.saved_model_folder, {.intra_op_threads = threads}));
  HEADRACE_TRY(StepCall step, StepCall::prepare(*model, "train_step", traced.binding, traced.metric_names));
  const LoaderOptions options = columns_of(traced.binding, batch_size, threads);
  const std::uint64_t before_kib = anonymous_kib();

  HEADRACE_TRY(const std::shared_ptr<const Dataset> dataset, Dataset::open(folder, {}));
  std::uint64_t steps = 0;
  HEADRACE_TRY(const std::vector<double> cached_s, from_memory(step, dataset, options, epochs, steps));
  HEADRACE_TRY(const std::vector<double> shards_s, from_shards(step, dataset, options, epochs));
  std::cout << Json{{"steps", steps},
                    {"shards_s", shards_s},
                    {"cached_s", cached_s},
                    {"anonymous_before_kib", before_kib},
                    {"anonymous_kib", anonymous_kib()}}
                   .dump()
            << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  const auto batch_size = headrace::parse_number<std::uint64_t>(argc == 6 ? argv[3] : "");
  const auto epochs = headrace::parse_number<std::uint64_t>(argc == 6 ? argv[4] : "");
  const auto threads = headrace::parse_number<int>(argc == 6 ? argv[5] : "");
  if (!batch_size || *batch_size == 0 || !epochs || *epochs == 0 || !threads) return 2;
  headrace::set_tensorflow_environment();
  const headrace::Status status = headrace::run(argv[1], argv[2], *batch_size, *epochs, *threads);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
