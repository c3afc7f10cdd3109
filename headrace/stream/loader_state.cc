#include "headrace/stream/loader_state.h"

#include <nlohmann/json.hpp>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/io/digest.h"
#include "headrace/stream/mixture.h"
#include "headrace/stream/order.h"

namespace headrace {
namespace {

using nlohmann::json;

std::string fingerprint(const LoaderSource& source) {
  const Dataset& dataset = *source.dataset;
  const RecordRange range = source.range.value_or(RecordRange{0, dataset.record_count()});
  return sha256_hex(
      as_bytes(concat(dataset.digest(), " ", dataset.split(), " ", range.first, " ", range.count)));
}

std::string fingerprint(const std::vector<LoaderSource>& sources) {
  if (sources.size() == 1) return fingerprint(sources.front());
  std::vector<double> weights;
  for (const LoaderSource& source : sources) weights.push_back(source.weight);
  const std::vector<std::uint64_t> integers = mixture_weights(weights);
  std::string text;
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += concat(fingerprint(sources[i]), " ", integers[i], "\n");
  return sha256_hex(as_bytes(text));
}

// All of a state but the position.
json document_of(const std::vector<LoaderSource>& sources, const LoaderOptions& options) {
  return {{"order", kOrderVersion},
          {"seed", options.seed},
          {"batch_size", options.batch_size},
          {"mode", shuffle_mode_name(options.shuffle)},
          {"window_bytes", options.window_bytes},
          {"drop_remainder", options.drop_remainder},
          {"dataset", fingerprint(sources)}};
}

}  // namespace

std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position) {
  json document = document_of(sources, options);
  document["epoch"] = position.epoch;
  document["batch"] = position.batch;
  return document.dump();
}

Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options) {
  const json document = check_json_depth(state) ? json::parse(state, nullptr, false) : json();
  if (!document.is_object() || !document.contains("epoch") || !document["epoch"].is_number_unsigned() ||
      !document.contains("batch") || !document["batch"].is_number_unsigned()) {
    return Error{Code::kDataLoss, "the loader's state is damaged"};
  }
  const json expected = document_of(sources, options);
  for (const auto& [name, value] : expected.items()) {
    const json stored = document.value(name, json());
    if (stored == value) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the loader's state is of another ", name == "dataset" ? "data set or range" : name,
                        ": ", stored.dump(), " there, ", value.dump(), " here")};
  }
  return LoaderPosition{document["epoch"].get<std::uint64_t>(), document["batch"].get<std::uint64_t>()};
}

}  // namespace headrace
