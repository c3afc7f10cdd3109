#include "bindings/python/ignite.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/ignite_values.h"
#include "bindings/python/process.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/record/ignite_example.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Decoded rows, and the response that they view.
struct DecodedPage {
  ignite::Response response;
  std::vector<std::vector<ignite::Value>> rows;
};

Result<std::vector<ignite::Value>> decode_row(const std::vector<BytesView>& objects,
                                              ignite::BinaryTypes& types) {
  std::vector<ignite::Value> row;
  for (const BytesView object : objects) {
    HEADRACE_TRY(ignite::Value value, ignite::decode_object(object, types));
    row.push_back(std::move(value));
  }
  return row;
}

/// Rows page by page, of a scan or a query. One call at a time.
class Rows {
 public:
  virtual ~Rows() = default;
  /// None after the last page.
  virtual Result<std::optional<DecodedPage>> next(const std::stop_token& stop) = 0;
};

class ScannedRows : public Rows {
 public:
  ScannedRows(std::unique_ptr<ignite::Scan> scan, std::shared_ptr<ignite::BinaryTypes> types)
      : types_(std::move(types)), scan_(std::move(scan)) {}
  Result<std::optional<DecodedPage>> next(const std::stop_token& stop) override {
    HEADRACE_TRY(std::optional<ignite::Page> page, scan_->next_page(stop));
    if (!page) return std::optional<DecodedPage>();
    DecodedPage out;
    for (const ignite::Entry& entry : page->rows) {
      HEADRACE_TRY(std::vector<ignite::Value> row, decode_row({entry.key, entry.value}, *types_));
      out.rows.push_back(std::move(row));
    }
    out.response = std::move(page->response);
    return std::optional<DecodedPage>(std::move(out));
  }

 private:
  std::shared_ptr<ignite::BinaryTypes> types_;
  std::unique_ptr<ignite::Scan> scan_;
};

class QueriedRows : public Rows {
 public:
  QueriedRows(std::unique_ptr<ignite::SqlResult> result, std::shared_ptr<ignite::BinaryTypes> types)
      : types_(std::move(types)), result_(std::move(result)) {}
  Result<std::optional<DecodedPage>> next(const std::stop_token& stop) override {
    HEADRACE_TRY(std::optional<ignite::SqlPage> page, result_->next_page(stop));
    if (!page) return std::optional<DecodedPage>();
    DecodedPage out;
    for (const std::vector<BytesView>& objects : page->rows) {
      HEADRACE_TRY(std::vector<ignite::Value> row, decode_row(objects, *types_));
      out.rows.push_back(std::move(row));
    }
    out.response = std::move(page->response);
    return std::optional<DecodedPage>(std::move(out));
  }

 private:
  std::shared_ptr<ignite::BinaryTypes> types_;
  std::unique_ptr<ignite::SqlResult> result_;
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
    Rows& rows = *rows_.here();
    return value_of(run_interruptibly([&rows](const std::stop_token& stop) { return rows.next(stop); }));
  }

  std::vector<std::string> columns_;
  OfProcess<std::unique_ptr<Rows>> rows_;
};

/// A cluster, and its types.
struct ConnectedCluster {
  std::shared_ptr<ignite::Cluster> cluster;
  std::shared_ptr<ignite::BinaryTypes> types;
};

class IgniteCluster {
 public:
  explicit IgniteCluster(ignite::ClusterOptions options)
      : held_("this cluster of Ignite", connect(std::move(options))) {}

  std::unique_ptr<IgniteRows> scan(const std::string& cache, const std::vector<std::int32_t>& partitions) {
    const ConnectedCluster& connected = held_.here();
    auto scan = value_of(run_interruptibly([&](const std::stop_token& stop) {
      return ignite::Scan::open(ignite::Cache(connected.cluster, cache), {.partitions = partitions}, stop);
    }));
    return std::make_unique<IgniteRows>(std::make_unique<ScannedRows>(std::move(scan), connected.types),
                                        std::vector<std::string>{"key", "val"});
  }

  std::unique_ptr<IgniteRows> query(const std::string& text, const nb::iterable& arguments,
                                    const std::string& schema) {
    const ConnectedCluster& connected = held_.here();
    ignite::SqlQuery query{.text = text, .schema = schema};
    for (const nb::handle argument : arguments) query.arguments.push_back(encoded_argument(argument));
    auto result = value_of(run_interruptibly(
        [&](const std::stop_token& stop) { return ignite::SqlResult::run(connected.cluster, query, stop); }));
    std::vector<std::string> columns = result->columns();
    return std::make_unique<IgniteRows>(std::make_unique<QueriedRows>(std::move(result), connected.types),
                                        std::move(columns));
  }

 private:
  static ConnectedCluster connect(ignite::ClusterOptions options) {
    std::shared_ptr<ignite::Cluster> cluster =
        value_of(run_interruptibly([&options](const std::stop_token& stop) {
          return ignite::Cluster::connect(std::move(options), stop);
        }));
    auto types = std::make_shared<ignite::BinaryTypes>(ignite::fetch_from(cluster));
    return {std::move(cluster), std::move(types)};
  }

  OfProcess<ConnectedCluster> held_;
};

ignite::ClusterOptions options_of(const std::vector<std::string>& addresses, const std::string& user,
                                  const std::string& password, bool tls, const std::string& ca_file,
                                  const std::string& certificate_file, const std::string& key_file) {
  ignite::ClusterOptions options;
  for (const std::string& address : addresses) {
    options.addresses.push_back(value_of(ignite::parse_address(address)));
  }
  options.connection.credentials = {.user = user, .password = password};
  options.connection.tls = tls;
  options.tls.ca_file = ca_file;
  options.tls.certificate_file = certificate_file;
  options.tls.key_file = key_file;
  return options;
}

}  // namespace

void bind_ignite(nb::module_& module) {
  nb::class_<IgniteRows>(module, "IgniteRows")
      .def_prop_ro("columns", &IgniteRows::columns)
      .def("next_page", &IgniteRows::next_page)
      .def("next_examples", &IgniteRows::next_examples, nb::arg("columns"));
  nb::class_<IgniteCluster>(module, "IgniteCluster")
      .def(
          "__init__",
          [](IgniteCluster* self, const std::vector<std::string>& addresses, const std::string& user,
             const std::string& password, bool tls, const std::string& ca_file,
             const std::string& certificate_file, const std::string& key_file) {
            new (self) IgniteCluster(
                options_of(addresses, user, password, tls, ca_file, certificate_file, key_file));
          },
          nb::arg("addresses"), nb::arg("user"), nb::arg("password"), nb::arg("tls"), nb::arg("ca_file"),
          nb::arg("certificate_file"), nb::arg("key_file"))
      .def("scan", &IgniteCluster::scan, nb::arg("cache"), nb::arg("partitions"))
      .def("query", &IgniteCluster::query, nb::arg("text"), nb::arg("arguments"), nb::arg("schema"));
}

}  // namespace headrace::python
