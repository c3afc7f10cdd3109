#pragma once

/// \file For tests: counts the requests and bytes that are read from a store.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/prepare/sort/rows_reader.h"
#include "headrace/store/layers/intercepting.h"
#include "headrace/store/location.h"

namespace headrace {

class CountingStore final : public InterceptingStore {
 public:
  using InterceptingStore::InterceptingStore;

  struct Read {
    std::size_t requests = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Read> reads{};

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    if (call.operation == StoreOperation::kRead || call.operation == StoreOperation::kReadMany)
      reads.push_back({std::max<std::size_t>(call.reads.size(), 1), call.asked_bytes});
    return go_on();
  }
};

/// Writes `object` to the store, and opens it as a spill.
inline Result<RowsReader> open_in(std::shared_ptr<Store> store, const std::string& key, BytesView object) {
  HEADRACE_TRY(const ObjectInfo info, store->write(key, object, {}));
  return RowsReader::open(Location{std::move(store), key, {}}, info.version, info.size_bytes);
}

}  // namespace headrace
