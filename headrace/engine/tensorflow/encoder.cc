#include "headrace/engine/tensorflow/encoder.h"

#include <algorithm>
#include <fstream>
#include <mutex>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/staging.h"

namespace headrace {

namespace {

/// Whether the only input takes one text per example.
bool takes_texts(const Signature& signature) {
  if (signature.inputs.size() != 1 || signature.outputs.empty()) return false;
  const TensorInfo& input = signature.inputs.begin()->second;
  return input.type == DataType::kBytes && (!input.shape || input.shape->rank() == 1);
}

/// The outputs that hold one vector of floats per text.
std::vector<std::string> vector_outputs(const Signature& signature) {
  std::vector<std::string> names;
  for (const auto& [name, info] : signature.outputs) {
    if (info.type == DataType::kFloat32 && (!info.shape || info.shape->rank() == 2)) names.push_back(name);
  }
  return names;
}

Result<std::string> choose_signature(const Model& model, const std::string& wanted, const std::string& url) {
  std::vector<std::string> all;
  std::vector<std::string> fitting;
  for (const auto& [name, signature] : model.signatures()) {
    all.push_back(name);
    if (takes_texts(signature) && vector_outputs(signature).size() == 1) fitting.push_back(name);
  }
  const std::string name = wanted.empty() ? "serving_default" : wanted;
  if (std::ranges::find(fitting, name) != fitting.end()) return name;
  if (wanted.empty() && fitting.size() == 1) return fitting.front();
  return Error{Code::kInvalidArgument,
               concat(url, " cannot encode texts: ", wanted.empty() ? "no single signature" : wanted,
                      " takes string[n] to one float[n, dimension]; its signatures are ", join(all, ", "))};
}

class SavedModelEncoder final : public TextEncoder {
 public:
  struct Parts {
    std::unique_ptr<Model> model;
    std::string signature;
    std::string input;
    std::string output;
    std::string name;
    std::string digest;
  };

  explicit SavedModelEncoder(Parts parts) : parts_(std::move(parts)) {}

  /// Finds the dimension by encoding the empty text.
  Status measure() {
    HEADRACE_TRY(const auto call, take_call());
    HEADRACE_TRY(const Tensor vector, encode_one(*call, ""));
    dimension_ = static_cast<int>(vector.shape().elements());
    if (dimension_ > 0) return {};
    return Error{Code::kInvalidArgument, concat(name(), " returns vectors without values")};
  }

  std::string name() const override { return parts_.name; }
  std::string weights_digest() const override { return parts_.digest; }
  int dimension() const override { return dimension_; }

  Status encode(std::span<const std::string_view> texts, std::span<float> out) const override {
    HEADRACE_TRY(auto call, take_call());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      HEADRACE_TRY(const Tensor vector, encode_one(*call, texts[i]));
      const auto values = vector.values<float>();
      if (values.size() != static_cast<std::size_t>(dimension_)) {
        return Error{Code::kInvalidArgument, concat(name(), " returns vectors of different dimensions")};
      }
      std::ranges::copy(values, out.begin() + static_cast<std::ptrdiff_t>(i * values.size()));
    }
    const std::lock_guard lock(mutex_);
    idle_calls_.push_back(std::move(call));
    return {};
  }

 private:
  Result<Tensor> encode_one(Call& call, std::string_view text) const {
    const Utf8Text valid = replace_invalid_utf8(text);
    const std::string_view view = valid.text;
    const TensorView input = TensorView::of({&view, 1}, {1});
    Tensor output;
    HEADRACE_CHECK(call.run({&input, 1}, {&output, 1}));
    if (output.type() != DataType::kFloat32 || output.shape().rank() != 2 || output.shape()[0] != 1) {
      return Error{Code::kInvalidArgument, concat(name(), " returns ", data_type_name(output.type()),
                                                  output.shape().text(), " for one text, not float32[1, n]")};
    }
    return output;
  }

  /// Each call serves one thread at a time. There are as many calls as threads have used at the same time.
  Result<std::unique_ptr<Call>> take_call() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_calls_.empty()) {
        auto call = std::move(idle_calls_.back());
        idle_calls_.pop_back();
        return call;
      }
    }
    return parts_.model->prepare(parts_.signature, {parts_.input}, {parts_.output});
  }

  Parts parts_;
  int dimension_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Call>> idle_calls_;
};

/// SHA-256 of each file's name, size and content, in the order of `names`.
Result<std::string> digest_of(const std::string& folder, const std::vector<std::string>& names) {
  Sha256 digest;
  std::vector<char> piece(1 << 20);
  for (const std::string& name : names) {
    std::ifstream file(concat(folder, '/', name), std::ios::binary | std::ios::ate);
    if (!file) return Error{Code::kDataLoss, concat("reading ", folder, '/', name)};
    digest.update(as_bytes(concat(name, '\n', static_cast<std::uint64_t>(file.tellg()), '\n')));
    file.seekg(0);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
      digest.update(as_bytes({piece.data(), static_cast<std::size_t>(file.gcount())}));
    }
  }
  return hex(digest.finish());
}

}  // namespace

Result<std::unique_ptr<TextEncoder>> open_saved_model_encoder(Engine& engine, const Location& model,
                                                              const SavedModelEncoderOptions& options) {
  const std::string url = model.url.text();
  HEADRACE_TRY(const StagedFolder folder, StagedFolder::create(options.temporary_folder));
  const auto files =
      download_folder(*model.store, model.key, folder.path(), {.limit_bytes = options.size_limit_bytes});
  if (!files) return files.error().in(concat("loading the encoder saved_model:", url));
  return load_saved_model_encoder(engine, url, folder.path(), options.signature);
}

Result<std::unique_ptr<TextEncoder>> load_saved_model_encoder(Engine& engine, const std::string& url,
                                                              const std::string& folder,
                                                              const std::string& signature) {
  SavedModelEncoder::Parts parts;
  parts.name = concat("saved_model:", url);
  HEADRACE_TRY(const std::vector<std::string> names, files_below(folder));
  HEADRACE_TRY(parts.digest, digest_of(folder, names));
  auto loaded = engine.load(folder, {});
  if (!loaded) return std::move(loaded).error().in(concat("loading the encoder ", parts.name));
  parts.model = std::move(*loaded);
  HEADRACE_TRY(parts.signature, choose_signature(*parts.model, signature, url));
  const Signature& chosen = parts.model->signatures().find(parts.signature)->second;
  parts.input = chosen.inputs.begin()->first;
  parts.output = vector_outputs(chosen).front();
  auto encoder = std::make_unique<SavedModelEncoder>(std::move(parts));
  HEADRACE_CHECK(encoder->measure());
  return std::unique_ptr<TextEncoder>(std::move(encoder));
}

}  // namespace headrace
