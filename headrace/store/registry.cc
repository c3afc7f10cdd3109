#include "headrace/store/registry.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/s3/s3_store.h"

namespace headrace {
namespace {

struct Opened {
  std::unique_ptr<Store> store;
  std::string warning{};  // empty: none
};
using OpenStore = Result<Opened> (*)(const Url&, const Environment&);

Result<Opened> open_file(const Url&, const Environment&) { return Opened{make_file_store("/")}; }
Result<Opened> open_memory(const Url& url, const Environment&) {
  return Opened{make_memory_store(url.authority)};
}

Result<Opened> open_s3(const Url& url, const Environment& environment) {
  HEADRACE_TRY(const S3Options options, s3_options_from(environment));
  Opened opened{open_s3_store(url.authority, options)};
  if (!options.tls.verify && (!options.endpoint || options.endpoint->tls)) {
    opened.warning = concat("s3://", url.authority,
                            ": the server's certificate is not checked (S3_VERIFY_SSL); anyone on the "
                            "network path can read and change everything");
  }
  return opened;
}

struct Driver {
  std::string_view scheme;
  OpenStore open;
};

// The only list of drivers.
constexpr Driver kDrivers[] = {
    {"file", open_file},
    {"memory", open_memory},
    {"s3", open_s3},
};

}  // namespace

struct StoreRegistry::Open {
  Environment environment;
  Warn warn;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Store>> stores;  // by "scheme://authority"
};

StoreRegistry::StoreRegistry(Environment environment, Warn warn) : open_(std::make_unique<Open>()) {
  open_->environment = std::move(environment);
  open_->warn = std::move(warn);
}
StoreRegistry::~StoreRegistry() = default;

std::vector<std::string> StoreRegistry::schemes() {
  std::vector<std::string> names;
  for (const Driver& driver : kDrivers) names.emplace_back(driver.scheme);
  return names;
}

std::vector<StoreCounter> StoreRegistry::counters() const {
  std::vector<StoreCounter> sums;
  const std::lock_guard lock(open_->mutex);
  for (const auto& [name, store] : open_->stores) {
    for (const StoreCounter& counter : store ? store->counters() : std::vector<StoreCounter>()) {
      const auto sum = std::ranges::find(sums, counter.name, &StoreCounter::name);
      if (sum == sums.end()) {
        sums.push_back(counter);
      } else {
        sum->value += counter.value;
      }
    }
  }
  return sums;
}

Result<Location> StoreRegistry::open(std::string_view text) {
  std::error_code ignored;
  const bool is_path = text.find("://") == text.npos;
  HEADRACE_TRY(const Url url,
               parse_url(text, is_path ? std::filesystem::current_path(ignored).string() : std::string()));
  std::unique_lock lock(open_->mutex);
  std::shared_ptr<Store>& store = open_->stores[concat(url.scheme, "://", url.authority)];
  if (store != nullptr) return Location{store, url.path, url};
  const auto* driver = std::find_if(std::begin(kDrivers), std::end(kDrivers),
                                    [&](const Driver& d) { return d.scheme == url.scheme; });
  if (driver == std::end(kDrivers)) {
    return Error{Code::kInvalidArgument, concat("no store driver for \"", url.scheme, "://\" in ",
                                                text.substr(0, text.find('?')),  // a signature may follow
                                                "; the schemes built in are ", join(schemes(), ", "))};
  }
  HEADRACE_TRY(Opened opened, driver->open(url, open_->environment));
  store = std::move(opened.store);
  const Location location{store, url.path, url};
  lock.unlock();  // who is warned may open another
  if (!opened.warning.empty() && open_->warn) open_->warn(opened.warning);
  return location;
}

}  // namespace headrace
