// Reads Apache Ignite from a program of one's own, on Linux and Windows: README.md.

#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "examples/read_cache/console.h"
#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/record/ignite_example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using Cluster = std::shared_ptr<ignite::Cluster>;

constexpr std::string_view kUsage =
    R"(headrace_read_cache ADDRESSES rows CACHE       each entry as a line of JSON
headrace_read_cache ADDRESSES query STATEMENT  each row of a SELECT as a line of JSON
headrace_read_cache ADDRESSES examples CACHE   each entry as a tf.Example; together, a TFRecord file

ADDRESSES: host[:port] of some nodes, with commas. User and password are HEADRACE_IGNITE_USER and
HEADRACE_IGNITE_PASSWORD in the environment.
)";

Error wrong_usage() { return {Code::kInvalidArgument, concat("usage:\n", kUsage)}; }
Error not_written() { return {Code::kUnknown, "cannot write to standard output"}; }

Status write(BytesView bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) return not_written();
  return {};
}

Status write_line(const Json& row) { return write(as_bytes(row.dump() + '\n')); }

using WriteEntry = std::function<Status(const ignite::Value& key, const ignite::Value& value)>;

Status read_entries(const Cluster& cluster, const std::string& cache, const WriteEntry& write_entry) {
  ignite::BinaryTypes types(ignite::fetch_from(cluster));
  HEADRACE_TRY(const std::unique_ptr<ignite::Scan> scan,
               ignite::Scan::open(ignite::Cache(cluster, cache), {}));
  while (true) {
    HEADRACE_TRY(const std::optional<ignite::Page> page, scan->next_page());
    if (!page) return {};
    for (const ignite::Entry& entry : page->rows) {
      HEADRACE_TRY(const ignite::Value key, ignite::decode_object(entry.key, types));
      HEADRACE_TRY(const ignite::Value value, ignite::decode_object(entry.value, types));
      HEADRACE_CHECK(write_entry(key, value));
    }
  }
}

Status write_json(const ignite::Value& key, const ignite::Value& value) {
  HEADRACE_TRY(Json shown_key, ignite::to_json(key));
  HEADRACE_TRY(Json shown_value, ignite::to_json(value));
  return write_line({{"key", std::move(shown_key)}, {"val", std::move(shown_value)}});
}

Status write_example(const ignite::Value& key, const ignite::Value& value) {
  Bytes record;
  const std::size_t begin = begin_record(record);
  HEADRACE_CHECK(append_ignite_example(key, value, {}, record));
  end_record(record, begin);
  return write(record);
}

Status read_query(const Cluster& cluster, const std::string& statement) {
  ignite::BinaryTypes types(ignite::fetch_from(cluster));
  HEADRACE_TRY(const std::unique_ptr<ignite::SqlResult> result,
               ignite::SqlResult::run(cluster, {.text = statement, .is_select = true}));
  while (true) {
    HEADRACE_TRY(std::optional<ignite::SqlPage> page, result->next_page());
    if (!page) return {};
    for (std::vector<BytesView> objects; page->next(objects);) {
      Json row = Json::object();
      for (std::size_t i = 0; i < objects.size(); ++i) {
        HEADRACE_TRY(const ignite::Value value, ignite::decode_object(objects[i], types));
        HEADRACE_TRY(row[result->columns()[i]], ignite::to_json(value));
      }
      HEADRACE_CHECK(write_line(row));
    }
  }
}

Status read(const Cluster& cluster, const std::string& what, const std::string& name) {
  if (what == "rows") return read_entries(cluster, name, write_json);
  if (what == "examples") return read_entries(cluster, name, write_example);
  if (what == "query") return read_query(cluster, name);
  return wrong_usage();
}

Status run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) return wrong_usage();
  HEADRACE_TRY(const Cluster cluster, ignite::connect_cluster(arguments[0], Environment::capture()));
  HEADRACE_CHECK(read(cluster, arguments[1], arguments[2]));
  if (std::fflush(stdout) != 0) return not_written();
  return {};
}

}  // namespace
}  // namespace headrace

int main(int count, char** arguments) {
  const headrace::Status done = headrace::run(open_console(count, arguments));
  if (done) return 0;
  std::cerr << "headrace_read_cache: " << done.error().message << '\n';
  return 1;
}
