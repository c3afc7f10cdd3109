#include "tests/interleave/tiny_engine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace::interleave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidth = 4;

struct State {
  std::vector<float> values;
};

Tensor tensor_of(std::vector<float> values, const Shape& shape) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  return {DataType::kFloat32, shape, owner->data(), owner};
}

class TinyCall final : public Call {
 public:
  TinyCall(std::shared_ptr<State> state, std::string_view signature)
      : state_(std::move(state)), signature_(signature) {}

  Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
    if (signature_ == "variables") {
      outputs[0] = tensor_of(state_->values, {static_cast<std::int64_t>(kWidth)});
      return {};
    }
    const auto rows = static_cast<std::size_t>(inputs[0].shape[0]);
    const auto* features = static_cast<const float*>(inputs[0].data);
    const auto* labels = inputs.size() > 1 ? static_cast<const std::int64_t*>(inputs[1].data) : nullptr;
    const auto* weights = inputs.size() > 2 ? static_cast<const float*>(inputs[2].data) : nullptr;
    std::vector<float> predictions;
    float kept = 0, right = 0, loss = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      if (weights != nullptr && weights[row] == 0) continue;
      const float* x = features + row * kWidth;
      float score = 0;
      for (std::size_t i = 0; i < kWidth; ++i) score += state_->values[i] * x[i];
      predictions.insert(predictions.end(), {score, -score});
      ++kept;
      loss += score * score;
      if (labels != nullptr && labels[2 * row + (score < 0 ? 1 : 0)] == 1) ++right;
      if (signature_ == "train_step") learn(x, labels[2 * row] == 1 ? 1.0F : -1.0F);
    }
    if (signature_ != "train_step")
      outputs.back() = tensor_of(predictions, {static_cast<std::int64_t>(kept), 2});
    if (labels == nullptr) return {};
    outputs[0] = tensor_of({loss / std::max(kept, 1.0F)}, {});
    outputs[1] = tensor_of({kept, right}, {2});
    return {};
  }

 private:
  void learn(const float* x, float direction) const {
    for (std::size_t i = 0; i < kWidth; ++i)
      state_->values[i] = 0.75F * state_->values[i] + direction * x[i] + 0.01F;
  }

  const std::shared_ptr<State> state_;
  const std::string signature_;
};

class TinyModel final : public Model {
 public:
  TinyModel(std::string folder, std::shared_ptr<State> state)
      : folder_(std::move(folder)), state_(std::move(state)) {
    signatures_["variables"].outputs["w"] = {DataType::kFloat32, Shape{static_cast<std::int64_t>(kWidth)}};
  }

  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }

  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string>,
                                        std::vector<std::string>) override {
    return std::unique_ptr<Call>(std::make_unique<TinyCall>(state_, signature));
  }

  Status save_state(const std::string& prefix) override {
    std::error_code ignored;
    fs::create_directories(fs::path(prefix).parent_path(), ignored);
    std::ofstream(prefix + ".index") << "one variable\n";
    std::ofstream data(prefix + ".data-00000-of-00001", std::ios::binary);
    data.write(reinterpret_cast<const char*>(state_->values.data()), kWidth * sizeof(float));
    return data.good() ? Status{} : Status(Error{Code::kResourceExhausted, "writing " + prefix});
  }

  Status restore_state(const std::string& prefix) override {
    std::ifstream data(prefix + ".data-00000-of-00001", std::ios::binary);
    data.read(reinterpret_cast<char*>(state_->values.data()), kWidth * sizeof(float));
    return data.good() ? Status{} : Status(Error{Code::kNotFound, "no checkpoint at " + prefix});
  }

 private:
  const std::string folder_;
  const std::shared_ptr<State> state_;
  std::map<std::string, Signature, std::less<>> signatures_;
};

Status write_trace(const fs::path& folder, const TraceRequest& request) {
  fs::create_directories(folder / "saved_model");
  std::ofstream(folder / "graph.pb") << "a graph";
  std::ofstream(folder / "saved_model" / "saved_model.pb") << request.seed;
  const Json variable = {{"name", "w"},
                         {"role", "trainable"},
                         {"dtype", "float32"},
                         {"shape", Json::array({kWidth})},
                         {"checkpoint_key", "w"}};
  const auto vector = std::ranges::find(request.features, DataType::kFloat32, &ModelFeature::type);
  const ModelBinding binding{
      .inputs = {{"features", "features", *vector}},
      .targets = {{"labels", "predictions", request.labels.front(), TargetKind::kClasses}},
      .outputs = {{"predictions", "predictions", {2}}}};
  Json description = to_json(binding);
  HEADRACE_TRY(const Json spec, trace_spec(request));
  const Json::Object others = {{"format", 3},
                               {"model", request.model},
                               {"seed", request.seed},
                               {"spec", spec},
                               {"versions", {{"tiny", "1"}}},
                               {"metrics", Json::array({"examples", "accuracy"})},
                               {"stateful_metrics", Json::array()},
                               {"ignored_metrics", Json::array()},
                               {"gradients", Json::array()},
                               {"learning_rate", nullptr},
                               {"optimizer", "tiny"},
                               {"loss", "tiny"},
                               {"parameters", kWidth},
                               {"variables", Json::array({variable})},
                               {"layers", Json::array()}};
  for (const auto& [name, value] : others) description[name] = value;
  std::ofstream(folder / "model.json") << description.dump();
  return {};
}

}  // namespace

Result<std::unique_ptr<Model>> TinyEngine::load(const std::string& folder, const ModelOptions&) {
  std::ifstream file(folder + "/saved_model.pb");
  float seed = 0;
  if (!(file >> seed)) return Error{Code::kNotFound, "no saved_model.pb in " + folder};
  auto state = std::make_shared<State>();
  for (std::size_t i = 0; i < kWidth; ++i) state->values.push_back(seed + 0.1F * static_cast<float>(i));
  auto model = std::make_unique<TinyModel>(folder, state);
  const std::string prefix = folder + "/variables/variables";
  if (fs::exists(prefix + ".index")) HEADRACE_CHECK(model->restore_state(prefix));
  return std::unique_ptr<Model>(std::move(model));
}

std::function<Result<TracedModel>(const TraceRequest&)> tiny_tracer(std::string folder) {
  auto mutex = std::make_shared<std::mutex>();
  return [folder = std::move(folder), mutex](const TraceRequest& request) -> Result<TracedModel> {
    const std::string path = concat(folder, "/trace-", request.seed);
    const std::scoped_lock lock(*mutex);
    if (!fs::exists(path + "/model.json")) HEADRACE_CHECK(write_trace(path, request));
    return read_traced_model(path);
  };
}

}  // namespace headrace::interleave
