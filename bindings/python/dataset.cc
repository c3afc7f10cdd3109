#include "bindings/python/dataset.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/python/choices.h"
#include "headrace/base/text.h"
#include "headrace/record/example.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/stream/record_finder.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

using Shape = std::vector<std::int64_t>;
/// Name, element type, shape of one record's value (none: ragged), whether records may lack it.
using FeatureTuple = std::tuple<std::string, std::string, std::optional<Shape>, bool>;
/// URL, records.
using ShardTuple = std::tuple<std::string, std::uint64_t>;

// Returns where the indexes of files without a manifest are kept; none if there is no home folder for them.
std::optional<Location> index_cache() {
  const Environment environment = Environment::capture();
  const auto home = environment.get("HOME");
  const auto cache = environment.get("XDG_CACHE_HOME");
  if (!home && !cache) return std::nullopt;
  return open_location(concat(cache ? *cache : *home + "/.cache", "/headrace/indexes"));
}

std::vector<Location> open_locations(const std::vector<std::string>& urls,
                                     const std::optional<std::string>& cache_url) {
  std::vector<Location> locations;
  for (const std::string& url : urls) locations.push_back(open_location(url));
  if (!cache_url) return locations;
  const CacheUrl cache = value_of(parse_cache_url(*cache_url));
  const Location folder = open_location(cache.folder);
  for (Location& location : locations) location = make_cached(std::move(location), folder, cache.options);
  return locations;
}

OpenedDataset open_dataset(const std::vector<std::string>& urls, const std::string& split,
                           const std::string& on_corrupt, const std::optional<std::string>& cache,
                           std::optional<std::uint64_t> version) {
  std::vector<Location> locations = open_locations(urls, cache);
  const DatasetOptions options{
      .split = split, .version = version, .on_corrupt = policy_of(on_corrupt), .index_cache = index_cache()};
  auto opened = run_interruptibly([&](const std::stop_token& stop) {
    for (Location& location : locations) location = make_stoppable(std::move(location), stop);
    return Dataset::open(locations, options);
  });
  return {OfProcess<std::shared_ptr<const Dataset>>("this dataset", value_of(std::move(opened)))};
}

FeatureTuple feature_tuple(const Feature& feature) {
  const auto shape_of = [](std::size_t size) {
    return size == 1 ? Shape{} : Shape{static_cast<std::int64_t>(size)};
  };
  const auto tuple = [&](DataType type, std::size_t size) {
    return FeatureTuple(feature.name, data_type_name(type), shape_of(size), false);
  };
  if (const auto* floats = std::get_if<std::vector<float>>(&feature.values))
    return tuple(DataType::kFloat32, floats->size());
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&feature.values))
    return tuple(DataType::kInt64, integers->size());
  const auto* bytes = std::get_if<std::vector<BytesView>>(&feature.values);
  return tuple(DataType::kBytes, bytes != nullptr ? bytes->size() : 1);
}

// A dataset without a manifest does not describe its features, so those of its first record are shown.
Result<std::vector<FeatureTuple>> first_record_features(const Dataset& dataset, const std::stop_token& stop) {
  std::vector<FeatureTuple> features;
  if (dataset.record_count() == 0) return features;
  HEADRACE_TRY(const Bytes record,
               RecordFinder().read(dataset, dataset.blocks().front().shard, 0, {.stop = stop}));
  HEADRACE_TRY(const std::vector<Feature> example, parse_example(record));
  for (const Feature& feature : example) features.push_back(feature_tuple(feature));
  return features;
}

std::vector<FeatureTuple> features_of(const OpenedDataset& opened) {
  const std::shared_ptr<const Dataset>& dataset = opened.dataset.here();
  const auto& attributes = dataset->attributes();
  if (!attributes) {
    return value_of(run_interruptibly(
        [&](const std::stop_token& stop) { return first_record_features(*dataset, stop); }));
  }
  std::vector<FeatureTuple> features;
  for (const auto& [name, schema] : attributes->features)
    features.emplace_back(name, schema.dtype, schema.shape, schema.is_optional);
  return features;
}

// Returns the dataset as it was when it was opened.
const Dataset& description_of(const OpenedDataset& opened) { return *opened.dataset.anywhere(); }

std::vector<ShardTuple> shards_of(const OpenedDataset& opened) {
  const Dataset& dataset = description_of(opened);
  std::vector<ShardTuple> shards;
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i)
    shards.emplace_back(dataset.describe_shard(i), dataset.shards()[i].record_count);
  return shards;
}

}  // namespace

void bind_dataset(nb::module_& module) {
  nb::class_<OpenedDataset>(module, "Dataset")
      .def_static("open", &open_dataset, nb::arg("urls"), nb::arg("split"), nb::arg("on_corrupt"),
                  nb::arg("cache").none(), nb::arg("version").none())
      .def("features", &features_of)
      .def("shards", &shards_of)
      .def(
          "first_held_out",
          [](const OpenedDataset& self, double share) {
            return description_of(self).order(kOrderVersion).validation_range(share).first;
          },
          nb::arg("share"))
      .def_prop_ro("url", [](const OpenedDataset& self) { return description_of(self).url(); })
      .def_prop_ro("version", [](const OpenedDataset& self) { return description_of(self).version(); })
      .def_prop_ro("digest", [](const OpenedDataset& self) { return description_of(self).digest(); })
      .def_prop_ro("split", [](const OpenedDataset& self) { return description_of(self).split(); })
      .def_prop_ro("is_published",
                   [](const OpenedDataset& self) { return description_of(self).version() != 0; })
      .def_prop_ro("labels",
                   [](const OpenedDataset& self) {
                     const auto& attributes = description_of(self).attributes();
                     return attributes ? attributes->labels : std::vector<std::string>{};
                   })
      .def_prop_ro("remarks", [](const OpenedDataset& self) { return description_of(self).remarks(); })
      .def("__len__", [](const OpenedDataset& self) { return description_of(self).record_count(); });
}

}  // namespace headrace::python
