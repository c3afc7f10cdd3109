#include "bindings/python/loader.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <tuple>

#include "bindings/python/batch.h"
#include "bindings/python/choices.h"
#include "bindings/python/columns.h"
#include "bindings/python/dataset.h"
#include "bindings/python/images.h"
#include "headrace/base/text.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/loader_state.h"
#include "headrace/stream/record_finder.h"
#include "headrace/stream/shuffle_quality.h"
#include "headrace/stream/tar_sample.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

using RangeTuple = std::tuple<std::uint64_t, std::uint64_t>;  // begin, end
/// "balance" or "bucket", and the feature that it uses: name, element type, number of values (none: ragged).
using ArrangementTuple = std::tuple<std::string, std::string, std::string, std::optional<std::uint32_t>>;
/// Dataset, weight in the mixture, range of its records (none: all).
using SourceTuple = std::tuple<const OpenedDataset*, double, std::optional<RangeTuple>>;
using Position = std::tuple<std::uint64_t, std::uint64_t>;  // epoch, batch within it
/// Object, record within it; then, if the record was looked up: offset, "id".
using PlaceTuple = std::tuple<std::string, std::uint64_t>;
using FoundTuple = std::tuple<std::string, std::uint64_t, std::uint64_t, std::optional<nb::bytes>>;

struct Arguments {
  std::vector<SourceTuple> sources;
  std::vector<ColumnTuple> columns;
  std::vector<ImageTuple> images;
  std::vector<AugmentationTuple> augment;
  std::uint64_t batch_size = 0;
  std::string shuffle;
  std::optional<ArrangementTuple> arrangement;
  std::uint64_t window_bytes = 0;
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  bool drop_remainder = false;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  std::uint64_t micro_shards = 0;
  int order_version = kOrderVersion;
  std::string on_corrupt;
  int threads = 0;
  std::uint64_t memory_budget_bytes = 0;
  bool headspace = false;
  bool trace = false;
};

std::vector<LoaderSource> sources_of(const std::vector<SourceTuple>& tuples) {
  std::vector<LoaderSource> sources;
  for (const auto& [opened, weight, records] : tuples) {
    LoaderSource source{.dataset = opened->dataset.here(), .weight = weight};
    if (records) {
      const auto& [begin, end] = *records;
      source.range = RecordRange{begin, end - begin};
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

WindowArrangement arrangement_of(const ArrangementTuple& tuple) {
  const auto& [kind, name, type, length] = tuple;
  return {.kind = kind == arrangement_name(ArrangementKind::kBalance) ? ArrangementKind::kBalance
                                                                      : ArrangementKind::kBucket,
          .feature = {.name = name, .type = data_type_of(type), .length = length}};
}

LoaderOptions options_of(const Arguments& arguments) {
  LoaderOptions options{.images = images_of(arguments.images, arguments.augment),
                        .batch_size = arguments.batch_size,
                        .shuffle = shuffle_mode_of(arguments.shuffle),
                        .seed = arguments.seed,
                        .epochs = arguments.epochs,
                        .drop_remainder = arguments.drop_remainder,
                        .window_bytes = arguments.window_bytes,
                        .rank = arguments.rank,
                        .world_size = arguments.world_size,
                        .micro_shards = arguments.micro_shards,
                        .order_version = arguments.order_version,
                        .on_corrupt = policy_of(arguments.on_corrupt),
                        .threads = arguments.threads,
                        .memory_budget_bytes = arguments.memory_budget_bytes,
                        .headspace = arguments.headspace,
                        .trace = arguments.trace};
  for (const ColumnTuple& column : arguments.columns) options.columns.push_back(column_of(column));
  if (arguments.arrangement) options.arrangement = arrangement_of(*arguments.arrangement);
  return options;
}

/// Lets one thread at a time call `next`. A second thread gets an error, so that it does not spoil the first
/// one's batch.
class OneCaller {
 public:
  explicit OneCaller(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true)) {
      raise({Code::kFailedPrecondition,
             "another thread is taking a batch of this loader; make a loader for each thread, or let them "
             "take turns"});
    }
  }
  ~OneCaller() { busy_ = false; }
  OneCaller(const OneCaller&) = delete;
  OneCaller& operator=(const OneCaller&) = delete;

 private:
  std::atomic<bool>& busy_;
};

struct FoundRecord {
  RecordPlace place;
  std::uint64_t offset_bytes = 0;
  std::optional<std::string> id{};
};

// The native part of a loader. It is made with the loader and never replaced, so any thread may use it at any
// time.
struct Engine {
  const std::vector<LoaderSource> sources;
  LoaderOptions options;
  std::unique_ptr<BatchLoader> batches{};
  RecordFinder finder{};

  Result<FoundRecord> look_up(const RecordPlace& place, const CallOptions& call) {
    const Dataset& dataset = *sources[place.source].dataset;
    FoundRecord found{.place = place};
    HEADRACE_TRY(found.offset_bytes, finder.offset(dataset, place.shard, place.record, call));
    const auto record = finder.read(dataset, place.shard, place.record, call);
    // A damaged record is found, but has no id.
    if (!record && record.error().code == Code::kDataLoss) return found;
    HEADRACE_CHECK(record);
    HEADRACE_TRY(const std::vector<Feature> features, parse_example(*record));
    for (const Feature& feature : features) {
      const auto* strings = std::get_if<std::vector<BytesView>>(&feature.values);
      // Features come in ascending order of names: a sample's key comes first, and an "id" replaces it.
      const bool is_id = feature.name == "id" || feature.name == kSampleKeyFeature;
      if (is_id && strings != nullptr && strings->size() == 1) found.id.emplace(as_text(strings->front()));
    }
    return found;
  }
};

class Loader {
 public:
  Loader(const Arguments& arguments, const std::optional<nb::bytes>& state,
         const std::optional<Position>& position)
      : engine_("this loader", sources_of(arguments.sources), options_of(arguments)),
        converter_(views_of(arguments.columns, images_of(arguments.images, arguments.augment))) {
    if (position) position_ = *position;
    if (state) position_ = position_of(*state);
    Engine& engine = engine_.here();
    std::tie(engine.options.first_epoch, engine.options.first_batch) = position_;
    engine.options.report_after = kSignalInterval;
    engine.options.report = [this](const std::string& waits) { check_and_report(waits); };
    engine.batches = value_of(run_interruptibly([&](const std::stop_token& stop) {
      engine.options.stop = stop;
      return BatchLoader::create(engine.sources, engine.options);
    }));
    batches_per_epoch_ = engine.batches->batches_per_epoch();
    record_count_ = engine.batches->record_count();
  }
  Loader(const Loader&) = delete;  // the engine's callback has its address
  Loader& operator=(const Loader&) = delete;

  nb::object next(const nb::object& weights_name) {
    BatchLoader& batches = *engine_.here().batches;
    const OneCaller caller(busy_);
    std::optional<Batch> batch = value_of(take(batches));
    if (!batch) return nb::none();
    position_ = batch->number + 1 < batches_per_epoch_ ? Position{batch->epoch, batch->number + 1}
                                                       : Position{batch->epoch + 1, 0};
    may_have_remarks_ = may_have_remarks_ || batch->records < batch->rows;
    left_out_rows_ += batch->rows - batch->records;
    if (weights_name.is_none()) batch->drop_rows_without_record();
    const std::uint64_t rows = batch->rows;
    return converter_.convert(*std::move(batch), rows, weights_name);
  }

  void close() {
    BatchLoader& batches = *engine_.here().batches;
    const WithoutGil released;
    batches.close();
  }

  Position position() const { return position_; }

  Position position_of(const nb::bytes& state) const {
    const Engine& engine = engine_.here();
    const LoaderPosition found =
        value_of(parse_loader_state({state.c_str(), state.size()}, engine.sources, engine.options));
    return {found.epoch, found.batch};
  }

  nb::bytes state(std::uint64_t epoch, std::uint64_t batch) const {
    const Engine& engine = engine_.here();
    const std::string text = loader_state(engine.sources, engine.options, {epoch, batch});
    return nb::bytes(text.data(), text.size());
  }

  std::vector<PlaceTuple> where(std::uint64_t epoch, std::uint64_t batch) const {
    const BatchLoader& batches = *engine_.here().batches;
    std::vector<PlaceTuple> places;
    for (RecordPlace& place : value_of(run_interruptibly(
             [&](const std::stop_token& stop) { return batches.where(epoch, batch, {.stop = stop}); })))
      places.emplace_back(std::move(place.object), place.record);
    return places;
  }

  std::vector<FoundTuple> look_up(std::uint64_t epoch, std::uint64_t batch) const {
    Engine& engine = engine_.here();
    const std::vector<FoundRecord> found =
        value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<std::vector<FoundRecord>> {
          std::vector<FoundRecord> records;
          HEADRACE_TRY(const std::vector<RecordPlace> places,
                       engine.batches->where(epoch, batch, {.stop = stop}));
          for (const RecordPlace& place : places) {
            HEADRACE_TRY(FoundRecord record, engine.look_up(place, {.stop = stop}));
            records.push_back(std::move(record));
          }
          return records;
        }));
    std::vector<FoundTuple> tuples;
    for (const FoundRecord& record : found) {
      std::optional<nb::bytes> id;
      if (record.id) id.emplace(record.id->data(), record.id->size());
      tuples.emplace_back(record.place.object, record.place.record, record.offset_bytes, std::move(id));
    }
    return tuples;
  }

  nb::dict stats() const {
    const LoaderStats stats = engine_.here().batches->stats();
    nb::dict out;
    out["batches"] = stats.batches;
    out["records"] = stats.records;
    out["fetched_bytes"] = stats.fetched_bytes;
    out["inflated_bytes"] = stats.inflated_bytes;
    out["corrupt_records"] = stats.corrupt_records;
    out["fetch_seconds"] = stats.fetch_seconds;
    out["inflate_seconds"] = stats.inflate_seconds;
    out["check_seconds"] = stats.check_seconds;
    out["decoded_bytes"] = stats.decoded_bytes;
    out["decode_seconds"] = stats.decode_seconds;
    out["idle_seconds"] = stats.idle_seconds;
    out["wait_seconds"] = stats.wait_seconds;
    out["threads"] = stats.threads;
    out["ready_batches"] = stats.ready_batches;
    out["held_batches"] = stats.held_batches;
    return out;
  }

  /// Displacement, spread: see shuffle_quality.h.
  std::tuple<double, double> quality(std::size_t source, std::uint64_t epoch) const {
    const Engine& engine = engine_.here();
    if (source >= engine.sources.size()) {
      raise({Code::kOutOfRange, concat("there is no source ", source, ": the loader has ",
                                       engine.sources.size(), ", counted from 0")});
    }
    const Source& order = engine.batches->source(source);
    const WithoutGil released;
    const ShuffleQuality quality = shuffle_quality(order, epoch, kQualitySamples, engine.options.seed);
    return {quality.displacement, quality.spread};
  }

  std::uint64_t left_out_rows() const { return left_out_rows_; }

  std::vector<std::string> remarks() const { return engine_.here().batches->remarks(); }

  // Returns the remarks that it has not returned before. Cheap unless a batch had rows without a record.
  std::vector<std::string> new_remarks() {
    if (!may_have_remarks_) return {};
    std::vector<std::string> remarks = this->remarks();
    may_have_remarks_ = false;
    const std::size_t told = std::exchange(told_remarks_, remarks.size());
    remarks.erase(remarks.begin(), remarks.begin() + static_cast<std::ptrdiff_t>(told));
    return remarks;
  }

  std::string activity() const { return engine_.here().batches->activity(); }
  std::string trace_json() const { return engine_.here().batches->trace_json(); }
  std::uint64_t batches_per_epoch() const { return batches_per_epoch_; }
  std::uint64_t record_count() const { return record_count_; }

 private:
  Result<std::optional<Batch>> take(BatchLoader& batches) {
    waited_intervals_ = 0;
    const WithoutGil released;
    return batches.next();
  }

  // The engine calls this in the thread that is in `take`, repeatedly while that thread waits. An exception
  // passes through the engine, which it does not harm, to the caller of `take`.
  void check_and_report(const std::string& waits) {
    const WhileInterpreterLives lives;
    const nb::gil_scoped_acquire acquired;
    check_signals();
    if (++waited_intervals_ % kIntervalsToReport == 0)
      nb::module_::import_("headrace._src.log").attr("report_wait")(nb::str(waits.data(), waits.size()));
  }

  static constexpr std::uint64_t kQualitySamples = 10'000;
  static constexpr int kIntervalsToReport = std::chrono::seconds(30) / kSignalInterval;

  // The GIL guards the following members, except the constant ones.
  const OfProcess<Engine> engine_;
  const BatchConverter converter_;
  Position position_;  // of the next batch
  std::uint64_t batches_per_epoch_ = 0;
  std::uint64_t record_count_ = 0;
  std::atomic<bool> busy_{false};
  int waited_intervals_ = 0;  // in the current call
  bool may_have_remarks_ = true;
  std::uint64_t left_out_rows_ = 0;
  std::size_t told_remarks_ = 0;
};

}  // namespace

void bind_loader(nb::module_& module) {
  module.attr("ORDER_VERSION") = kOrderVersion;
  module.def(
      "order_version_of",
      [](const nb::bytes& state) {
        return order_version_of({state.c_str(), state.size()});
      },
      nb::arg("state"));
  nb::class_<Loader>(module, "Loader")
      .def(
          "__init__",
          [](Loader* self, std::vector<SourceTuple> sources, std::vector<ColumnTuple> columns,
             std::vector<ImageTuple> images, std::vector<AugmentationTuple> augment, std::uint64_t batch_size,
             std::string shuffle, std::optional<ArrangementTuple> arrangement, std::uint64_t window_bytes,
             std::uint64_t seed, std::uint64_t epochs, bool drop_remainder, std::uint64_t rank,
             std::uint64_t world_size, std::uint64_t micro_shards, int order_version, std::string on_corrupt,
             int threads, std::uint64_t memory_budget_bytes, bool headspace, bool trace,
             const std::optional<nb::bytes>& state, const std::optional<Position>& position) {
            new (self) Loader({std::move(sources),
                               std::move(columns),
                               std::move(images),
                               std::move(augment),
                               batch_size,
                               std::move(shuffle),
                               std::move(arrangement),
                               window_bytes,
                               seed,
                               epochs,
                               drop_remainder,
                               rank,
                               world_size,
                               micro_shards,
                               order_version,
                               std::move(on_corrupt),
                               threads,
                               memory_budget_bytes,
                               headspace,
                               trace},
                              state, position);
          },
          nb::kw_only(), nb::arg("sources"), nb::arg("columns"), nb::arg("images"), nb::arg("augment"),
          nb::arg("batch_size"), nb::arg("shuffle"), nb::arg("arrangement").none(), nb::arg("window_bytes"),
          nb::arg("seed"), nb::arg("epochs"), nb::arg("drop_remainder"), nb::arg("rank"),
          nb::arg("world_size"), nb::arg("micro_shards"), nb::arg("order_version"), nb::arg("on_corrupt"),
          nb::arg("threads"), nb::arg("memory_budget_bytes"), nb::arg("headspace"), nb::arg("trace"),
          nb::arg("state").none(), nb::arg("position").none())
      .def("next", &Loader::next, nb::arg("weights_name").none())
      .def("close", &Loader::close)
      .def("state", &Loader::state, nb::arg("epoch"), nb::arg("batch"))
      .def("position_of", &Loader::position_of, nb::arg("state"))
      .def("where", &Loader::where, nb::arg("epoch"), nb::arg("batch"))
      .def("look_up", &Loader::look_up, nb::arg("epoch"), nb::arg("batch"))
      .def("shuffle_quality", &Loader::quality, nb::arg("source"), nb::arg("epoch"))
      .def("stats", &Loader::stats)
      .def("activity", &Loader::activity)
      .def("trace_json", &Loader::trace_json)
      .def("new_remarks", &Loader::new_remarks)
      .def_prop_ro("left_out_rows", &Loader::left_out_rows)
      .def_prop_ro("remarks", &Loader::remarks)
      .def_prop_ro("position", &Loader::position)
      .def_prop_ro("batches_per_epoch", &Loader::batches_per_epoch)
      .def_prop_ro("record_count", &Loader::record_count);
}

}  // namespace headrace::python
