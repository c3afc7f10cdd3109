#include "bindings/python/ignite.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/python/batch.h"
#include "bindings/python/choices.h"
#include "bindings/python/columns.h"
#include "bindings/python/dataset.h"
#include "bindings/python/errors.h"
#include "bindings/python/ignite_values.h"
#include "bindings/python/images.h"
#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/record/ignite_example.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/stream/ignite/cache_dataset.h"
#include "headrace/stream/ignite/local_partitions.h"
#include "headrace/stream/ignite/streamed_rows.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Decoded rows, and the response that they view.
struct DecodedPage {
  ignite::Response response;
  std::vector<std::vector<ignite::Value>> rows;
};

/// Rows page by page, of a scan or a query. One call at a time.
class Rows {
 public:
  explicit Rows(std::shared_ptr<ignite::Cluster> cluster)
      : types_([this, cluster = std::move(cluster)](std::int32_t type_id) {
          return ignite::fetch_from(cluster, stop_)(type_id);
        }) {}
  virtual ~Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Returns the next page; none after the last one. A stop request ends each wait, even a wait for the types
  /// of objects.
  Result<std::optional<DecodedPage>> next(const std::stop_token& stop) {
    stop_ = stop;
    budget_ = {};
    return read(stop);
  }

 protected:
  virtual Result<std::optional<DecodedPage>> read(const std::stop_token& stop) = 0;
  Status add_row(const std::vector<BytesView>& objects, DecodedPage& page) {
    std::vector<ignite::Value>& row = page.rows.emplace_back();
    for (const BytesView object : objects) {
      HEADRACE_TRY(ignite::Value value, ignite::decode_object(object, types_, budget_));
      row.push_back(std::move(value));
    }
    return {};
  }

 private:
  std::stop_token stop_;
  ignite::DecodeBudget budget_;  // of the page
  ignite::BinaryTypes types_;
};

class ScannedRows : public Rows {
 public:
  ScannedRows(std::shared_ptr<ignite::Cluster> cluster, std::unique_ptr<ignite::Scan> scan)
      : Rows(std::move(cluster)), scan_(std::move(scan)) {}

 protected:
  Result<std::optional<DecodedPage>> read(const std::stop_token& stop) override {
    HEADRACE_TRY(std::optional<ignite::Page> page, scan_->next_page(stop));
    if (!page) return std::optional<DecodedPage>();
    DecodedPage out;
    for (const ignite::Entry& entry : page->rows) HEADRACE_CHECK(add_row({entry.key, entry.value}, out));
    out.response = std::move(page->response);
    return std::optional<DecodedPage>(std::move(out));
  }

 private:
  std::unique_ptr<ignite::Scan> scan_;
};

class QueriedRows : public Rows {
 public:
  QueriedRows(std::shared_ptr<ignite::Cluster> cluster, std::unique_ptr<ignite::SqlResult> result)
      : Rows(std::move(cluster)), result_(std::move(result)) {}

 protected:
  Result<std::optional<DecodedPage>> read(const std::stop_token& stop) override {
    HEADRACE_TRY(std::optional<ignite::SqlPage> page, result_->next_page(stop));
    if (!page) return std::optional<DecodedPage>();
    DecodedPage out;
    for (std::vector<BytesView> objects; page->next(objects);) HEADRACE_CHECK(add_row(objects, out));
    out.response = page->take_response();
    return std::optional<DecodedPage>(std::move(out));
  }

 private:
  std::unique_ptr<ignite::SqlResult> result_;
};

/// Checks that the names are different and can be keys of a dict. \error kInvalidArgument  raised
void check_columns(const std::vector<std::string>& columns) {
  std::set<std::string_view> names;
  for (const std::string& name : columns) {
    const std::string shown = printable_line(name, 80);
    if (!is_valid_utf8(name))
      raise({Code::kInvalidArgument,
             concat("the name of the column '", shown, "' is not UTF-8; rename it with AS")});
    if (!names.insert(name).second)
      raise({Code::kInvalidArgument, concat("two columns are named ", shown, "; rename one with AS")});
  }
}

/// An object that is asked repeatedly, and the thread on which the calls run.
template <typename T>
struct OnThread {
  std::unique_ptr<T> value;
  TaskThread thread{};
};

/// Rows for Python, with the names of their values.
class IgniteRows {
 public:
  IgniteRows(std::unique_ptr<Rows> rows, std::vector<std::string> columns)
      : columns_(std::move(columns)), rows_("these rows of Ignite", std::move(rows)) {}

  const std::vector<std::string>& columns() const { return columns_; }

  /// A list of dicts by column; None after the last page.
  nb::object next_page() {
    const std::optional<DecodedPage> page = next();
    if (!page) return nb::none();
    nb::list out;
    for (const std::vector<ignite::Value>& row : page->rows) {
      nb::dict named;
      for (std::size_t i = 0; i < row.size() && i < columns_.size(); ++i) {
        named[columns_[i].c_str()] = python_of(row[i]);
      }
      out.append(named);
    }
    return out;
  }

  /// A list of serialized tf.Examples; None after the last page. REQUIRES: rows of a scan
  nb::object next_examples(const std::vector<std::string>& columns) {
    const std::optional<DecodedPage> page = next();
    if (!page) return nb::none();
    nb::list out;
    Bytes example;
    for (const std::vector<ignite::Value>& row : page->rows) {
      example.clear();
      check(append_ignite_example(row.at(0), row.at(1), columns, example));
      out.append(nb::bytes(example.data(), example.size()));
    }
    return out;
  }

 private:
  std::optional<DecodedPage> next() {
    OnThread<Rows>& rows = rows_.here();
    return value_of(run_interruptibly(
        rows.thread, [&rows](const std::stop_token& stop) { return rows.value->next(stop); }));
  }

  std::vector<std::string> columns_;
  OfProcess<OnThread<Rows>> rows_;
};

/// Batches of a scan. One call at a time.
class IgniteStream {
 public:
  IgniteStream(std::unique_ptr<ignite::StreamedRows> stream, std::vector<ColumnView> views)
      : converter_(std::move(views)), stream_("this stream of Ignite's rows", std::move(stream)) {}

  /// A dict of arrays; None after the last row.
  nb::object next() {
    OnThread<ignite::StreamedRows>& stream = stream_.here();
    std::optional<Batch> batch = value_of(run_interruptibly(
        stream.thread, [&stream](const std::stop_token& stop) { return stream.value->next(stop); }));
    if (!batch) return nb::none();
    const std::uint64_t rows = batch->rows;
    return converter_.convert(*std::move(batch), rows, nb::none());
  }
  std::vector<std::string> new_remarks() { return stream_.here().value->take_remarks(); }

 private:
  const BatchConverter converter_;
  OfProcess<OnThread<ignite::StreamedRows>> stream_;
};

/// Entries that are put with one request.
class EntryBatch {
 public:
  explicit EntryBatch(ignite::Cache& cache) : cache_(cache) {}

  /// Registers the types that are not yet registered. If a batch is full, puts it.
  void add(Bytes key, Bytes value, const std::vector<std::shared_ptr<const ignite::BinaryType>>& types) {
    for (const std::shared_ptr<const ignite::BinaryType>& type : types) {
      const std::int32_t schema = type->schemas.empty() ? 0 : type->schemas.front().id;
      if (!registered_.insert({type->id, schema}).second) continue;
      check(run_interruptibly(
          [&](const std::stop_token& stop) { return ignite::register_type(cache_.cluster(), *type, stop); }));
    }
    bytes_ += key.size() + value.size();
    objects_.push_back(std::move(key));
    objects_.push_back(std::move(value));
    if (bytes_ >= ignite::kBytesPerRequest || objects_.size() >= 2 * ignite::kKeysPerRequest) put();
  }

  void put() {
    if (objects_.empty()) return;
    std::vector<ignite::Entry> entries;
    for (std::size_t i = 0; i < objects_.size(); i += 2) entries.push_back({objects_[i], objects_[i + 1]});
    check(run_interruptibly([&](const std::stop_token& stop) { return cache_.put_all(entries, stop); }));
    objects_.clear();
    bytes_ = 0;
  }

 private:
  ignite::Cache& cache_;
  std::vector<Bytes> objects_;
  std::size_t bytes_ = 0;
  std::set<std::pair<std::int32_t, std::int32_t>> registered_;  // type and schema
};

class IgniteCluster {
 public:
  explicit IgniteCluster(ignite::ClusterOptions options)
      : held_("this cluster of Ignite", connect(std::move(options))) {}

  std::unique_ptr<IgniteRows> scan(const std::string& cache, const std::vector<std::int32_t>& partitions) {
    const std::shared_ptr<ignite::Cluster>& cluster = held_.here();
    auto scan = value_of(run_interruptibly([&](const std::stop_token& stop) {
      return ignite::Scan::open(ignite::Cache(cluster, cache), {.partitions = partitions}, stop);
    }));
    return std::make_unique<IgniteRows>(std::make_unique<ScannedRows>(cluster, std::move(scan)),
                                        std::vector<std::string>{"key", "val"});
  }

  /// \error as ignite::partitions_of_first_node, raised
  std::vector<std::int32_t> local_partitions(const std::string& cache) {
    const std::shared_ptr<ignite::Cluster>& cluster = held_.here();
    return value_of(run_interruptibly([&](const std::stop_token& stop) {
      return ignite::partitions_of_first_node(ignite::Cache(cluster, cache), stop);
    }));
  }

  /// \error as ignite::open_cache_dataset, raised
  OpenedDataset snapshot(const std::string& cache, const std::vector<std::int32_t>& partitions,
                         const std::optional<std::string>& url, std::uint64_t memory_limit_bytes,
                         bool take_changed) {
    const auto rows = std::make_shared<const ignite::CacheRows>(held_.here(), cache);
    ignite::CacheDatasetOptions options{
        .partitions = partitions, .memory_limit_bytes = memory_limit_bytes, .take_changed = take_changed};
    if (url) options.snapshot = open_location(*url);
    auto opened = run_interruptibly([&](const std::stop_token& stop) {
      if (options.snapshot) options.snapshot = make_stoppable(*std::move(options.snapshot), stop);
      return ignite::open_cache_dataset(rows, options, {.stop = stop});
    });
    return {OfProcess<std::shared_ptr<const Dataset>>("this dataset", value_of(std::move(opened)))};
  }

  /// \error as ignite::StreamedRows::open, raised
  std::unique_ptr<IgniteStream> stream(const std::string& cache, const std::vector<std::int32_t>& partitions,
                                       const std::vector<ColumnTuple>& columns,
                                       const std::vector<ImageTuple>& images,
                                       const std::vector<AugmentationTuple>& augment, LoaderOptions options) {
    const auto rows = std::make_shared<const ignite::CacheRows>(held_.here(), cache);
    options.images = images_of(images, augment);
    for (const ColumnTuple& column : columns) options.columns.push_back(column_of(column));
    std::vector<ColumnView> views = views_of(columns, options.images);
    auto stream = value_of(run_interruptibly([&](const std::stop_token& stop) {
      return ignite::StreamedRows::open(rows, partitions, std::move(options), stop);
    }));
    return std::make_unique<IgniteStream>(std::move(stream), std::move(views));
  }

  std::unique_ptr<IgniteRows> query(const std::string& text, const nb::iterable& arguments,
                                    const std::string& schema, std::int32_t page_rows, bool is_repeatable) {
    const std::shared_ptr<ignite::Cluster>& cluster = held_.here();
    ignite::SqlQuery query{
        .text = text, .schema = schema, .page_rows = page_rows, .is_repeatable = is_repeatable};
    for (const nb::handle argument : arguments) query.arguments.push_back(encoded_argument(argument));
    auto result = value_of(run_interruptibly(
        [&](const std::stop_token& stop) { return ignite::SqlResult::run(cluster, query, stop); }));
    std::vector<std::string> columns = result->columns();
    check_columns(columns);
    return std::make_unique<IgniteRows>(std::make_unique<QueriedRows>(cluster, std::move(result)),
                                        std::move(columns));
  }

  /// Puts pairs of key and value in requests of about 1 MiB each; returns how many pairs it put.
  std::uint64_t put_all(const std::string& cache_name, const nb::iterable& entries,
                        const std::string& value_type, bool create) {
    ignite::Cache cache(held_.here(), cache_name);
    if (create)
      check(run_interruptibly([&](const std::stop_token& stop) { return cache.get_or_create({}, stop); }));
    EntryBatch batch(cache);
    ValueMaker values;
    std::uint64_t count = 0;
    for (const nb::handle pair : entries) {
      const nb::tuple entry(pair);
      if (entry.size() != 2) raise({Code::kInvalidArgument, "an entry must be a pair of a key and a value"});
      Bytes key = values.encoded(entry[0], "");
      Bytes value = values.encoded(entry[1], value_type);
      batch.add(std::move(key), std::move(value), values.take_types());
      ++count;
    }
    batch.put();
    return count;
  }

 private:
  static std::shared_ptr<ignite::Cluster> connect(ignite::ClusterOptions options) {
    return value_of(run_interruptibly([&options](const std::stop_token& stop) {
      return ignite::Cluster::connect(std::move(options), stop);
    }));
  }

  OfProcess<std::shared_ptr<ignite::Cluster>> held_;
};

ignite::ClusterOptions options_of(const std::vector<std::string>& addresses, const std::string& user,
                                  const std::string& password, bool tls, const std::string& ca_file,
                                  const std::string& certificate_file, const std::string& key_file,
                                  const std::string& key_password, bool discover) {
  ignite::ClusterOptions options;
  for (const std::string& address : addresses) {
    options.addresses.push_back(value_of(ignite::parse_address(address)));
  }
  options.connection.credentials = {.user = user, .password = password};
  options.connection.tls = tls;
  options.tls.ca_file = ca_file;
  options.tls.certificate_file = certificate_file;
  options.tls.key_file = key_file;
  options.tls.key_password = key_password;
  options.discover = discover;
  return options;
}

}  // namespace

void bind_ignite(nb::module_& module) {
  nb::class_<IgniteStream>(module, "IgniteStream")
      .def("next", &IgniteStream::next)
      .def("new_remarks", &IgniteStream::new_remarks);
  nb::class_<IgniteRows>(module, "IgniteRows")
      .def_prop_ro("columns", &IgniteRows::columns)
      .def("next_page", &IgniteRows::next_page)
      .def("next_examples", &IgniteRows::next_examples, nb::arg("columns"));
  nb::class_<IgniteCluster>(module, "IgniteCluster")
      .def(
          "__init__",
          [](IgniteCluster* self, const std::vector<std::string>& addresses, const std::string& user,
             const std::string& password, bool tls, const std::string& ca_file,
             const std::string& certificate_file, const std::string& key_file,
             const std::string& key_password, bool discover) {
            new (self) IgniteCluster(options_of(addresses, user, password, tls, ca_file, certificate_file,
                                                key_file, key_password, discover));
          },
          nb::arg("addresses"), nb::arg("user"), nb::arg("password"), nb::arg("tls"), nb::arg("ca_file"),
          nb::arg("certificate_file"), nb::arg("key_file"), nb::arg("key_password"), nb::arg("discover"))
      .def("scan", &IgniteCluster::scan, nb::arg("cache"), nb::arg("partitions"))
      .def("local_partitions", &IgniteCluster::local_partitions, nb::arg("cache"))
      .def("snapshot", &IgniteCluster::snapshot, nb::arg("cache"), nb::arg("partitions"),
           nb::arg("url").none(), nb::arg("memory_limit_bytes"), nb::arg("take_changed"))
      .def(
          "stream",
          [](IgniteCluster& self, const std::string& cache, const std::vector<std::int32_t>& partitions,
             const std::vector<ColumnTuple>& columns, const std::vector<ImageTuple>& images,
             const std::vector<AugmentationTuple>& augment, std::uint64_t batch_size, std::uint64_t seed,
             bool drop_remainder, const std::string& on_corrupt, std::uint64_t memory_budget_bytes) {
            LoaderOptions options;
            options.batch_size = batch_size;
            options.seed = seed;
            options.drop_remainder = drop_remainder;
            options.on_corrupt = policy_of(on_corrupt);
            options.memory_budget_bytes = memory_budget_bytes;
            return self.stream(cache, partitions, columns, images, augment, std::move(options));
          },
          nb::arg("cache"), nb::arg("partitions"), nb::arg("columns"), nb::arg("images"), nb::arg("augment"),
          nb::arg("batch_size"), nb::arg("seed"), nb::arg("drop_remainder"), nb::arg("on_corrupt"),
          nb::arg("memory_budget_bytes"))
      .def("query", &IgniteCluster::query, nb::arg("text"), nb::arg("arguments"), nb::arg("schema"),
           nb::arg("page_rows"), nb::arg("is_repeatable"))
      .def("put_all", &IgniteCluster::put_all, nb::arg("cache"), nb::arg("entries"), nb::arg("value_type"),
           nb::arg("create"));
}

}  // namespace headrace::python
