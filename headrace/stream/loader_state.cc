#include "headrace/stream/loader_state.h"

#include <algorithm>
#include <limits>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/stream/mixture.h"
#include "headrace/stream/order.h"

namespace headrace {
namespace {

// The largest text that says where the data lie.
constexpr std::size_t kPlaceBytes = 300;
constexpr ArrangementKind kArrangements[] = {ArrangementKind::kBalance, ArrangementKind::kBucket};

std::string fingerprint(const LoaderSource& source) {
  const Dataset& dataset = *source.dataset;
  const std::uint64_t first = source.range ? source.range->first : 0;
  const std::string selected = source.selection ? concat(" of ", source.selection->name) : "";
  return sha256_hex(
      as_bytes(concat(dataset.digest(), " ", dataset.split(), " ", first, " ", count_of(source), selected)));
}

std::string fingerprint(const std::vector<LoaderSource>& sources) {
  if (sources.size() == 1) return fingerprint(sources.front());
  const std::vector<std::uint64_t> weights = integer_weights(sources);
  std::string text;
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += concat(fingerprint(sources[i]), " ", weights[i], "\n");
  return sha256_hex(as_bytes(text));
}

// The options that must equal those of a state. The data are compared elsewhere.
Json document_of(const LoaderOptions& options) {
  const bool is_arranged = options.arrangement.kind != ArrangementKind::kNone;
  return {{"order", named_order_version(options.order_version, is_arranged)},
          {"seed", options.seed},
          {"batch_size", options.batch_size},
          {"mode", shuffle_mode_name(options.shuffle)},
          {"window_bytes", options.window_bytes},
          {"drop_remainder", options.drop_remainder}};
}

// The feature that an arrangement of this kind uses; null without such an arrangement.
Json arranged_by(const LoaderOptions& options, ArrangementKind kind) {
  return options.arrangement.kind == kind ? Json(options.arrangement.feature.name) : Json();
}

// Fails if the arrangements differ: an order with another arrangement, or with none, is another order.
Status check_arrangements(const Json& state, const LoaderOptions& options) {
  for (const ArrangementKind kind : kArrangements) {
    const std::string name(arrangement_name(kind));
    const Json here = arranged_by(options, kind);
    if (state[name] == here) continue;
    return Error{Code::kFailedPrecondition, concat("the loader's state has ", name, " ", state[name].dump(),
                                                   ", but the loader has ", here.dump())};
  }
  return {};
}

// The state's version of the order; kOrderVersion if the state names none.
int stored_order_version(const Json& state) {
  const Json& order = state["order"];
  if (!order.is_unsigned()) return kOrderVersion;
  const auto version = order.as<std::uint64_t>();
  return std::in_range<int>(version) ? static_cast<int>(version) : std::numeric_limits<int>::max();
}

// A description for people only, because the same data may lie elsewhere.
std::string describe(const std::vector<LoaderSource>& sources) {
  std::uint64_t records = 0;
  for (const LoaderSource& source : sources) records += count_of(source);
  std::string place = sources.front().dataset->describe();
  if (place.size() > kPlaceBytes) place = "…" + place.substr(place.size() - kPlaceBytes);
  if (sources.size() > 1) place += concat(" and ", sources.size() - 1, " more");
  return replace_invalid_utf8(concat(records, " records of ", place)).text;
}

// Whether the loader can continue a state of `version` in the same order. Only version 1 differs, in dataset
// order and in ranges.
bool is_same_order(const std::vector<LoaderSource>& sources, const LoaderOptions& options, int version) {
  if ((version == 1) == (options.order_version == 1)) return true;
  return std::ranges::all_of(sources, [&](const LoaderSource& source) {
    return source.dataset->order(version).is_same(source.dataset->order(options.order_version));
  });
}

Status check_order_version(int version) {
  if (version >= 1 && version <= kOrderVersion) return {};
  return Error{Code::kUnimplemented,
               concat("the loader's state has version ", version, " of the order; this Headrace reads 1 to ",
                      kOrderVersion, ": install a newer one")};
}

Error other_order(int version, const LoaderOptions& options) {
  return {Code::kFailedPrecondition,
          concat("the loader's state has version ", version, " of the order, but the loader has version ",
                 options.order_version,
                 ", which orders this dataset in another way: give the state when you "
                 "make the loader, or make the loader with order=",
                 version)};
}

Error other_data(const Json& stored, const std::vector<LoaderSource>& sources) {
  const Json& there = stored["data"];
  const std::string here = describe(sources);
  std::string what = there.is_string() ? there.text() : "others";
  what = what == here ? concat(here, ", which were replaced or altered since")
                      : concat(what, " there, ", here, " here");
  return {Code::kFailedPrecondition, concat("the loader's state belongs to another dataset or range: ", what,
                                            "; give the data of the state, or begin without a state")};
}

}  // namespace

std::uint64_t count_of(const LoaderSource& source) {
  if (source.selection) return source.selection->numbers.size();
  return source.range ? source.range->count : source.dataset->record_count();
}

std::vector<std::uint64_t> integer_weights(const std::vector<LoaderSource>& sources) {
  std::vector<double> weights;
  for (const LoaderSource& source : sources) weights.push_back(source.weight);
  return mixture_weights(weights);
}

int order_version_of(std::string_view state) {
  const int version = stored_order_version(parse_json(state).value_or(Json()));
  return check_order_version(version) ? version : kOrderVersion;
}

BatchPlan batch_plan_of(const std::vector<LoaderSource>& sources, const LoaderOptions& options) {
  const std::vector<std::uint64_t> weights = integer_weights(sources);
  std::vector<BatchPlan::Source> parts;
  for (std::size_t s = 0; s < sources.size(); ++s) parts.push_back({count_of(sources[s]), weights[s]});
  return {std::move(parts),
          options.batch_size,
          options.drop_remainder,
          {options.rank, options.world_size, options.micro_shards}};
}

std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position) {
  Json document = document_of(options);
  for (const ArrangementKind kind : kArrangements) {
    if (const Json by = arranged_by(options, kind); !by.is_null())
      document[std::string(arrangement_name(kind))] = by;
  }
  document["dataset"] = fingerprint(sources);
  document["data"] = describe(sources);
  document["epoch"] = position.epoch;
  document["batch"] = position.batch;
  return document.dump();
}

Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options) {
  const Json document = parse_json(state).value_or(Json());
  if (!document["epoch"].is_unsigned() || !document["batch"].is_unsigned() ||
      !document["order"].is_unsigned())
    return Error{Code::kDataLoss, "the loader's state is damaged"};
  const int version = stored_order_version(document);
  HEADRACE_CHECK(check_order_version(version));
  Json expected = document_of(options);
  expected.members().erase("order");
  for (const auto& [name, value] : expected.members()) {
    const Json& stored = document[name];
    if (stored == value) continue;
    return Error{Code::kFailedPrecondition, concat("the loader's state has ", name, " ", stored.dump(),
                                                   ", but the loader has ", value.dump())};
  }
  HEADRACE_CHECK(check_arrangements(document, options));
  if (document["dataset"] != fingerprint(sources)) return other_data(document, sources);
  if (!is_same_order(sources, options, version)) return other_order(version, options);
  const LoaderPosition position{document["epoch"].as<std::uint64_t>(), document["batch"].as<std::uint64_t>()};
  const bool has_batches =
      options.rank < options.world_size && options.world_size <= options.batch_size &&
      (options.micro_shards == 0 || options.micro_shards <= options.batch_size) &&
      std::ranges::all_of(sources, [](const LoaderSource& source) { return count_of(source) > 0; });
  if (!has_batches) return position;  // no loader will be made with these options
  const std::uint64_t batches = batch_plan_of(sources, options).batches_per_epoch();
  if (position.batch < batches) return position;
  return Error{Code::kDataLoss, concat("the loader's state is damaged: it names batch ", position.batch,
                                       " of an epoch that has ", batches)};
}

}  // namespace headrace
