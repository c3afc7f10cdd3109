/// How fast do the bytes of an object move between this program and an Ignite node without a store? The same
/// client and entries of the same size, but no heads, notes, checksums or order.
///
///   headrace_bench_ignite_store put_all|get_all|scan HOST:PORT CACHE BYTES REPEATS
///
/// `put_all` fills the cache with entries of 1 MiB; the other two read it. All write JSON to standard output:
/// the seconds of each repeat. bench/ignite_store.py runs the store beside it.

#include <iostream>

#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/scan.h"

namespace headrace {
namespace {

constexpr std::size_t kValueBytes = std::size_t{1} << 20;
constexpr std::size_t kKeysAtOnce = 16;

std::vector<Bytes> keys_of(std::size_t bytes) {
  std::vector<Bytes> keys;
  for (std::size_t i = 0; i < bytes / kValueBytes; ++i)
    keys.push_back(ignite::encode_long(static_cast<std::int64_t>(i)));
  return keys;
}

// Passes the keys on, some at a time.
Status in_groups(const std::vector<Bytes>& keys,
                 const std::function<Status(const std::vector<BytesView>&)>& work) {
  for (std::size_t first = 0; first < keys.size(); first += kKeysAtOnce) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(std::min(first + kKeysAtOnce, keys.size()));
    HEADRACE_CHECK(work({begin, end}));
  }
  return {};
}

Status put_all(const ignite::Cache& cache, const std::vector<Bytes>& keys) {
  const Bytes value = ignite::encode_bytes(Bytes(kValueBytes, std::byte{7}));
  return in_groups(keys, [&](const std::vector<BytesView>& group) -> Status {
    std::vector<ignite::Entry> entries;
    for (const BytesView key : group) entries.push_back({key, value});
    return cache.put_all(entries);
  });
}

Status get_all(const ignite::Cache& cache, const std::vector<Bytes>& keys) {
  return in_groups(keys, [&](const std::vector<BytesView>& group) -> Status {
    HEADRACE_TRY(const ignite::StoredEntries stored, cache.get_all(group));
    if (stored.entries.size() != group.size()) return Error{Code::kDataLoss, "entries are missing"};
    return {};
  });
}

Status scan(const ignite::Cache& cache, const std::vector<Bytes>& keys) {
  HEADRACE_TRY(const std::unique_ptr<ignite::Scan> scan, ignite::Scan::open(cache, {}));
  std::size_t rows = 0;
  while (true) {
    HEADRACE_TRY(const std::optional<ignite::Page> page, scan->next_page());
    if (!page) break;
    rows += page->rows.size();
  }
  if (rows != keys.size()) return Error{Code::kDataLoss, "rows are missing"};
  return {};
}

Result<Json> measure(const std::vector<std::string>& arguments) {
  HEADRACE_TRY(const ignite::Address address, ignite::parse_address(arguments.at(1)));
  HEADRACE_TRY(const std::shared_ptr<ignite::Cluster> cluster,
               ignite::Cluster::connect({.addresses = {address}}));
  const ignite::Cache cache(cluster, arguments.at(2));
  const std::vector<Bytes> keys = keys_of(parse_number<std::size_t>(arguments.at(3)).value());
  const auto work = arguments[0] == "put_all" ? put_all : arguments[0] == "get_all" ? get_all : scan;
  HEADRACE_CHECK(cache.get_or_create({}));
  HEADRACE_CHECK(work(cache, keys));  // once unmeasured
  Repeats repeats;
  for (std::size_t i = 0; i < parse_number<std::size_t>(arguments.at(4)).value(); ++i)
    HEADRACE_CHECK(repeats.time([&] { return work(cache, keys); }));
  return repeats.to_json();
}

}  // namespace
}  // namespace headrace

int main(int count, char** values) {
  const auto measured = headrace::measure({values + 1, values + count});
  if (measured) std::cout << measured->dump() << "\n";
  if (!measured) std::cerr << measured.error().message << "\n";
  return measured ? 0 : 1;
}
