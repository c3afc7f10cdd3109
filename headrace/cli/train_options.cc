#include "headrace/cli/train_options.h"

#include "headrace/base/text.h"
#include "headrace/cli/model_options.h"

namespace headrace {

Result<TrainOptions> shared_train_options(const OptionValues& values) {
  TrainOptions options;
  options.model = values.text("model");
  options.data_version = data_version(values);
  options.split = values.text("split");
  if (values.has("features")) options.features = values.text("features");
  if (values.has("labels")) options.labels = values.text("labels");
  if (values.has("balance")) options.balance = values.text("balance");
  if (values.has("bucket")) options.bucket = values.text("bucket");
  if (values.has("weights")) options.weights = values.text("weights");
  if (values.has("class-weights")) options.class_weights = values.text("class-weights");
  if (values.has("augment")) options.augment = values.text("augment");
  if (values.has("image-size")) {
    options.image_size = parse_image_size(values.text("image-size"));
    if (!options.image_size)
      return Error{Code::kInvalidArgument, concat("--image-size must be height x width in pixels, such as ",
                                                  "150x150, not ", values.text("image-size"))};
  }
  options.epochs = static_cast<std::uint64_t>(values.integer("epochs"));
  options.batch_size = static_cast<std::uint64_t>(values.integer("batch-size"));
  options.validation = values.number("validation");
  if (values.has("learning-rate")) options.learning_rate = values.number("learning-rate");
  options.early_stop = static_cast<std::uint64_t>(values.integer("early-stop"));
  options.on_corrupt = corruption_policy(values);
  options.memory_budget_bytes = values.size_bytes("memory");
  options.loader_threads = static_cast<int>(values.integer("loader-threads"));
  if (values.has("intra-op-threads"))
    options.intra_op_threads = static_cast<int>(values.integer("intra-op-threads"));
  return options;
}

Status check_shared_train_options(const OptionValues& values) {
  if (values.has("balance") && values.has("bucket"))
    return Error{Code::kInvalidArgument,
                 "--balance and --bucket both say which records come together: give one of them"};
  if (values.integer("early-stop") > 0 && values.number("validation") == 0)
    return Error{Code::kInvalidArgument,
                 "--early-stop looks at the validation loss: give a --validation above 0"};
  if (values.has("balance") && values.has("class-weights") && values.text("class-weights") == "balanced")
    return Error{
        Code::kInvalidArgument,
        "--balance and --class-weights balanced would both make up for rare classes: give one of them"};
  return {};
}

}  // namespace headrace
