#include "bindings/python/loader.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>

#include "bindings/python/batch.h"
#include "bindings/python/choices.h"
#include "bindings/python/dataset.h"
#include "headrace/base/text.h"
#include "headrace/stream/loader.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Name, element type, shape of a row (none: ragged), whether absence is an error.
using ColumnTuple = std::tuple<std::string, std::string, std::optional<std::vector<std::uint32_t>>, bool>;
using Position = std::tuple<std::uint64_t, std::uint64_t>;  // epoch, batch within it

constexpr int kMostThreads = 8;

Column column_of(const ColumnTuple& tuple) {
  const auto& [name, type, shape, required] = tuple;
  Column column{.name = name, .type = feature_type_of(type), .required = required};
  if (shape) {
    column.length = 1;
    for (const std::uint32_t size : *shape) *column.length *= size;
  }
  return column;
}

ColumnView view_of(const ColumnTuple& tuple) {
  const auto& [name, type, shape, required] = tuple;
  nb::object text = nb::str(name.c_str());
  PyObject* interned = text.release().ptr();
  PyUnicode_InternInPlace(&interned);
  ColumnView view{.name = nb::steal<nb::str>(interned), .type = feature_type_of(type)};
  if (shape) view.row_shape.assign(shape->begin(), shape->end());
  return view;
}

struct Arguments {
  std::vector<ColumnTuple> columns;
  std::uint64_t batch_size = 0;
  std::string shuffle;
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  bool drop_remainder = false;
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  std::string on_corrupt;
  int threads = 0;
  std::uint64_t memory_budget_bytes = 0;
};

LoaderOptions options_of(const Arguments& arguments) {
  LoaderOptions options{.batch_size = arguments.batch_size,
                        .shuffle = shuffle_mode_of(arguments.shuffle),
                        .seed = arguments.seed,
                        .epochs = arguments.epochs,
                        .drop_remainder = arguments.drop_remainder,
                        .rank = arguments.rank,
                        .world_size = arguments.world_size,
                        .on_corrupt = policy_of(arguments.on_corrupt),
                        .memory_budget_bytes = arguments.memory_budget_bytes};
  for (const ColumnTuple& column : arguments.columns) options.columns.push_back(column_of(column));
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  options.threads = arguments.threads > 0 ? arguments.threads : std::clamp(cores, 1, kMostThreads);
  return options;
}

class Loader {
 public:
  Loader(const OpenedDataset& opened, const Arguments& arguments, const std::optional<std::string>& state,
         const std::optional<Position>& position)
      : options_(options_of(arguments)), dataset_(opened.dataset) {
    opened.process.require_here("this data set");
    for (const ColumnTuple& column : arguments.columns) views_.push_back(view_of(column));
    if (position) std::tie(options_.first_epoch, options_.first_batch) = *position;
    if (state) {
      const LoaderPosition found = value_of(parse_loader_state(*state, *dataset_, options_));
      options_.first_epoch = found.epoch, options_.first_batch = found.batch;
    }
    position_ = {options_.first_epoch, options_.first_batch};
    options_.stop = stop_.get_token();
    engine_ = value_of(create());
  }

  ~Loader() {
    stop_.request_stop();
    if (!process_.is_here()) {
      static_cast<void>(engine_.release());  // its threads are the parent's: there is nobody to join
      return;
    }
    const WithoutGil released;
    engine_.reset();
  }

  nb::object next(const nb::object& weights_name) {
    process_.require_here("this loader");
    const OneCaller caller(busy_);
    Result<std::optional<Batch>> taken = take();
    std::optional<Batch> batch = value_of(std::move(taken));
    if (!batch) return nb::none();
    position_ = {batch->epoch, batch->number + 1};
    const std::uint64_t rows = options_.on_corrupt == CorruptionPolicy::kFail && weights_name.is_none()
                                   ? batch_slice(engine_->record_count(), options_.batch_size, batch->number,
                                                 options_.rank, options_.world_size)
                                         .record_count
                                   : batch->rows;
    return batch_to_dict(*std::move(batch), views_, rows, weights_name);
  }

  Position position() const { return position_; }

  Position position_of(const nb::bytes& state) const {
    const LoaderPosition found =
        value_of(parse_loader_state({state.c_str(), state.size()}, *dataset_, options_));
    return {found.epoch, found.batch};
  }

  nb::bytes state(std::uint64_t epoch, std::uint64_t batch) const {
    const std::string text = engine_->state(epoch, batch);
    return nb::bytes(text.data(), text.size());
  }

  std::vector<std::tuple<std::string, std::uint64_t>> where(std::uint64_t epoch, std::uint64_t batch) const {
    std::vector<std::tuple<std::string, std::uint64_t>> places;
    for (RecordPlace& place : engine_->where(epoch, batch))
      places.emplace_back(std::move(place.object), place.record);
    return places;
  }

  nb::dict stats() const {
    const LoaderStats stats = engine_->stats();
    nb::dict out;
    out["batches"] = stats.batches;
    out["records"] = stats.records;
    out["fetched_bytes"] = stats.fetched_bytes;
    out["inflated_bytes"] = stats.inflated_bytes;
    out["corrupt_records"] = stats.corrupt_records;
    out["fetch_seconds"] = stats.fetch_seconds;
    out["inflate_seconds"] = stats.inflate_seconds;
    out["decode_seconds"] = stats.decode_seconds;
    out["wait_seconds"] = stats.wait_seconds;
    return out;
  }

  std::vector<std::string> remarks() const { return engine_->remarks(); }
  std::uint64_t batches_per_epoch() const { return engine_->batches_per_epoch(); }
  std::uint64_t record_count() const { return engine_->record_count(); }

 private:
  // A second thread in `next` is told so, instead of spoiling the first one's batch.
  class OneCaller {
   public:
    explicit OneCaller(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) {
        raise({Code::kFailedPrecondition,
               "another thread is taking a batch of this loader; make a loader for each, or take turns"});
      }
    }
    ~OneCaller() { busy_ = false; }
    OneCaller(const OneCaller&) = delete;
    OneCaller& operator=(const OneCaller&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  Result<std::unique_ptr<BatchLoader>> create() {
    const WithoutGil released;
    return BatchLoader::create(dataset_, options_);
  }

  Result<std::optional<Batch>> take() {
    const WithoutGil released;
    return engine_->next();
  }

  LoaderOptions options_;
  const std::shared_ptr<const Dataset> dataset_;
  const ProcessMark process_;
  std::vector<ColumnView> views_;
  std::stop_source stop_;
  std::unique_ptr<BatchLoader> engine_;
  Position position_;
  std::atomic<bool> busy_{false};
};

}  // namespace

void bind_loader(nb::module_& module) {
  nb::class_<Loader>(module, "Loader")
      .def(
          "__init__",
          [](Loader* self, const OpenedDataset& dataset, std::vector<ColumnTuple> columns,
             std::uint64_t batch_size, std::string shuffle, std::uint64_t seed, std::uint64_t epochs,
             bool drop_remainder, std::uint64_t rank, std::uint64_t world_size, std::string on_corrupt,
             int threads, std::uint64_t memory_budget_bytes, std::optional<nb::bytes> state,
             std::optional<Position> position) {
            std::optional<std::string> state_text;
            if (state) state_text.emplace(state->c_str(), state->size());
            new (self)
                Loader(dataset,
                       {std::move(columns), batch_size, std::move(shuffle), seed, epochs, drop_remainder,
                        rank, world_size, std::move(on_corrupt), threads, memory_budget_bytes},
                       state_text, position);
          },
          nb::arg("dataset"), nb::kw_only(), nb::arg("columns"), nb::arg("batch_size"), nb::arg("shuffle"),
          nb::arg("seed"), nb::arg("epochs"), nb::arg("drop_remainder"), nb::arg("rank"),
          nb::arg("world_size"), nb::arg("on_corrupt"), nb::arg("threads"), nb::arg("memory_budget_bytes"),
          nb::arg("state").none(), nb::arg("position").none())
      .def("next", &Loader::next, nb::arg("weights_name").none())
      .def("state", &Loader::state, nb::arg("epoch"), nb::arg("batch"))
      .def("position_of", &Loader::position_of, nb::arg("state"))
      .def("where", &Loader::where, nb::arg("epoch"), nb::arg("batch"))
      .def("stats", &Loader::stats)
      .def_prop_ro("remarks", &Loader::remarks)
      .def_prop_ro("position", &Loader::position)
      .def_prop_ro("batches_per_epoch", &Loader::batches_per_epoch)
      .def_prop_ro("record_count", &Loader::record_count);
}

}  // namespace headrace::python
