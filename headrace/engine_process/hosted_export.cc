#include "headrace/engine_process/hosted_export.h"

#include <algorithm>
#include <fstream>

#include "headrace/base/text.h"
#include "headrace/engine/encoders.h"
#include "headrace/engine_process/raw_rows.h"
#include "headrace/evaluate/exported_model.h"

namespace headrace {
namespace {

constexpr std::string_view kPredictSignature = "predict";
constexpr std::string_view kInitialization = "__saved_model_init_op";

// Signatures that belong to training: docs/formats/traced-model.md.
constexpr std::string_view kTrainingSignatures[] = {
    "train_step",    "gradients",      "apply_gradients", "eval_step",
    "reset_metrics", "metric_results", "variables",       "set_learning_rate",
};

bool has_rows(const ServedTensor& tensor) { return tensor.shape.rank() > 0 && tensor.shape[0] == -1; }

// nullopt: the rank of a tensor is open.
std::optional<std::vector<ServedTensor>> served_tensors(
    const std::map<std::string, TensorInfo, std::less<>>& tensors) {
  std::vector<ServedTensor> out;
  for (const auto& [name, info] : tensors) {
    if (!info.shape) return std::nullopt;
    out.push_back({name, info.type, *info.shape});
  }
  return out;
}

std::optional<ServedSignature> served_signature(const std::string& name, const Signature& signature) {
  auto inputs = served_tensors(signature.inputs);
  auto outputs = served_tensors(signature.outputs);
  if (!inputs || !outputs || inputs->empty() || outputs->empty()) return std::nullopt;
  const bool is_batched = std::ranges::all_of(*inputs, has_rows) && std::ranges::all_of(*outputs, has_rows);
  ServedSignature out{name, *std::move(inputs), *std::move(outputs), is_batched};
  if (!signature.method_name.empty()) out.method_name = signature.method_name;
  return out;
}

// The encoders that are other people's SavedModels if `are_foreign`, else all others.
std::map<std::string, EncoderDescription> encoders_in(const ModelContract& contract, bool are_foreign) {
  std::map<std::string, EncoderDescription> out;
  for (const auto& [feature, encoder] : contract.encoders) {
    if (encoder.name.starts_with(kSavedModelEncoderPrefix) == are_foreign) out.emplace(feature, encoder);
  }
  return out;
}

std::uint64_t resident_bytes() {
  std::ifstream statistics("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statistics >> total >> resident;
  constexpr std::uint64_t kPageBytes = 4096;
  return resident * kPageBytes;
}

class ExportLane final : public HostedLane {
 public:
  ExportLane(const ServedModel& served, Model& model, std::unique_ptr<RawRows> raw_rows)
      : served_(served), model_(model), calls_(served.signatures.size()), raw_rows_(std::move(raw_rows)) {}

  Result<HostedOutputs> run(std::size_t signature, std::span<const TensorView> inputs) override {
    if (served_.signatures[signature].takes_raw_rows()) return raw_rows_->run(inputs.front().strings);
    HEADRACE_CHECK(prepare(signature));
    HostedOutputs out;
    out.tensors.resize(served_.signatures[signature].outputs.size());
    HEADRACE_CHECK(calls_[signature]->run(inputs, out.tensors));
    return out;
  }

 private:
  Status prepare(std::size_t signature) {
    if (calls_[signature]) return {};
    const ServedSignature& served = served_.signatures[signature];
    std::vector<std::string> inputs, outputs;
    for (const ServedTensor& tensor : served.inputs) inputs.push_back(tensor.name);
    for (const ServedTensor& tensor : served.outputs) outputs.push_back(tensor.name);
    HEADRACE_TRY(calls_[signature], model_.prepare(served.name, std::move(inputs), std::move(outputs)));
    return {};
  }

  const ServedModel& served_;
  Model& model_;
  std::vector<std::unique_ptr<Call>> calls_;  // one for each signature that was called
  const std::unique_ptr<RawRows> raw_rows_;   // null: no signature takes raw rows
};

class HostedExport final : public HostedModel {
 public:
  HostedExport(ExportedModel model, TextEncoders encoders, StoreRegistry& stores, std::uint64_t rows_max)
      : model_(std::move(model)), encoders_(std::move(encoders)), stores_(stores), rows_max_(rows_max) {}

  Status describe(Engine& engine) {
    about_.model = served_signatures(*model_.model);
    about_.engine = engine.version();
    if (const auto raw = raw_rows_signature(model_); !model_.is_foreign() && raw) {
      std::vector<ServedSignature>& all = about_.model.signatures;
      std::erase_if(all, [](const ServedSignature& each) { return each.name == kDefaultSignature; });
      all.insert(std::ranges::upper_bound(all, raw->name, {}, &ServedSignature::name), *raw);
    }
    if (about_.model.signatures.empty()) {
      return Error{Code::kInvalidArgument, concat("the model in ", model_.folder.describe(),
                                                  " has no signature that can be served: it needs one whose "
                                                  "inputs and outputs have known ranks")};
    }
    about_.memory_bytes = resident_bytes();
    return {};
  }

  const EngineLoaded& about() const override { return about_; }

  Result<std::unique_ptr<HostedLane>> open_lane() override {
    const bool has_raw_rows = std::ranges::any_of(about_.model.signatures, &ServedSignature::takes_raw_rows);
    std::unique_ptr<RawRows> raw_rows;
    if (has_raw_rows) {
      HEADRACE_TRY(raw_rows, open_raw_rows(model_, stores_, encoders_, rows_max_));
    }
    return std::unique_ptr<HostedLane>(
        std::make_unique<ExportLane>(about_.model, *model_.model, std::move(raw_rows)));
  }

 private:
  const ExportedModel model_;
  const TextEncoders encoders_;
  StoreRegistry& stores_;
  const std::uint64_t rows_max_;
  EngineLoaded about_;
};

}  // namespace

ServedModel served_signatures(const Model& model) {
  ServedModel out;
  const bool is_of_headrace = model.signatures().contains(kPredictSignature);
  for (const auto& [name, signature] : model.signatures()) {
    const bool is_for_training = is_of_headrace && std::ranges::find(kTrainingSignatures, name) !=
                                                       std::ranges::end(kTrainingSignatures);
    if (is_for_training || name == kInitialization) continue;
    if (auto served = served_signature(name, signature)) out.signatures.push_back(*std::move(served));
  }
  return out;
}

Result<std::unique_ptr<HostedModel>> load_hosted_export(const EngineLoad& load, Engine& engine,
                                                        StoreRegistry& stores,
                                                        const MakeEncoders& make_encoders,
                                                        const std::function<Status()>& before_load) {
  ExportedModel model;
  HEADRACE_TRY(model.folder, stores.open(load.folder));
  model.digest = load.digest;
  TextEncoders encoders;
  if (load.attributes.empty()) {
    model.signature = kDefaultSignature;
  } else {
    auto contract = parse_contract(load.attributes);
    if (!contract) return std::move(contract).error().in(concat("the manifest of ", load.name));
    model.contract = *std::move(contract);
    HEADRACE_TRY(encoders, make_encoders(encoders_in(model.contract, false)));
  }
  HEADRACE_CHECK(before_load());
  HEADRACE_TRY(TextEncoders foreign, make_encoders(encoders_in(model.contract, true)));
  encoders.merge(std::move(foreign));
  auto loaded = engine.load(load.folder, {.name = load.name,
                                          .intra_op_threads = load.intra_op_threads,
                                          .inter_op_threads = load.inter_op_threads});
  if (!loaded) return std::move(loaded).error().in(concat("loading ", load.name));
  model.model = *std::move(loaded);
  auto hosted = std::make_unique<HostedExport>(std::move(model), std::move(encoders), stores, load.rows_max);
  HEADRACE_CHECK(hosted->describe(engine));
  return std::unique_ptr<HostedModel>(std::move(hosted));
}

}  // namespace headrace
