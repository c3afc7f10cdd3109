#include "headrace/store/registry.h"

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

using OpenStore = Result<std::unique_ptr<Store>> (*)(const Url&, const Environment&);

Result<std::unique_ptr<Store>> open_file(const Url&, const Environment&) { return make_file_store("/"); }
Result<std::unique_ptr<Store>> open_memory(const Url& url, const Environment&) {
  return make_memory_store(url.authority);
}

Result<std::unique_ptr<Store>> open_s3(const Url& url, const Environment& environment) {
  HEADRACE_TRY(const S3Options options, s3_options_from(environment));
  return open_s3_store(url.authority, options);
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
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Store>> stores;  // by "scheme://authority"
};

Location Location::at(std::string_view name) const {
  Location out = *this;
  out.key = join_key(key, name);
  out.url.path = join_key(url.path, name);
  return out;
}

StoreRegistry::StoreRegistry(Environment environment) : open_(std::make_unique<Open>()) {
  open_->environment = std::move(environment);
}
StoreRegistry::~StoreRegistry() = default;

std::vector<std::string> StoreRegistry::schemes() {
  std::vector<std::string> names;
  for (const Driver& driver : kDrivers) names.emplace_back(driver.scheme);
  return names;
}

Result<Location> StoreRegistry::open(std::string_view text) {
  std::error_code ignored;
  HEADRACE_TRY(const Url url, parse_url(text, std::filesystem::current_path(ignored).string()));
  const std::lock_guard lock(open_->mutex);
  std::shared_ptr<Store>& store = open_->stores[concat(url.scheme, "://", url.authority)];
  if (store == nullptr) {
    const auto* driver = std::find_if(std::begin(kDrivers), std::end(kDrivers),
                                      [&](const Driver& d) { return d.scheme == url.scheme; });
    if (driver == std::end(kDrivers)) {
      return Error{Code::kInvalidArgument, concat("no store driver for \"", url.scheme, "://\" in ", text,
                                                  "; the schemes built in are ", join(schemes(), ", "))};
    }
    HEADRACE_TRY(std::unique_ptr<Store> opened, driver->open(url, open_->environment));
    store = std::move(opened);
  }
  return Location{store, url.path, url};
}

}  // namespace headrace
