#include "headrace/store/registry.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/store/file/file_driver.h"
#include "headrace/store/ignite/ignite_driver.h"
#include "headrace/store/memory/memory_driver.h"
#include "headrace/store/outside_drivers.h"
#include "headrace/store/s3/s3_driver.h"

namespace headrace {
namespace {

// The only list of drivers: each built-in driver is listed here.
constexpr const StoreDriver* kDrivers[] = {
    &kFileDriver, &kMemoryDriver, &kS3Driver, &kIgniteDriver, &kIgfsDriver,
};

}  // namespace

namespace {

// Returns the URL without its path.
std::string name_of(const Url& url) { return Url{url.scheme, url.authority, "", url.query}.text(); }

}  // namespace

struct StoreRegistry::Open {
  Environment environment;
  Warn warn;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Store>> stores;  // by the URL without its path
  std::map<std::string, std::string> servers;            // likewise
};

StoreRegistry::StoreRegistry(Environment environment, Warn warn) : open_(std::make_unique<Open>()) {
  open_->environment = std::move(environment);
  open_->warn = std::move(warn);
}
StoreRegistry::~StoreRegistry() = default;

std::vector<const StoreDriver*> StoreRegistry::drivers() {
  std::vector<const StoreDriver*> all(std::begin(kDrivers), std::end(kDrivers));
  const std::span<const StoreDriver* const> outside = outside_drivers();
  all.insert(all.end(), outside.begin(), outside.end());
  return all;
}

std::vector<std::string> StoreRegistry::schemes() {
  std::vector<std::string> names;
  for (const StoreDriver* driver : drivers()) names.emplace_back(driver->scheme);
  return names;
}

Result<const StoreDriver*> StoreRegistry::driver(std::string_view scheme) {
  const std::vector<const StoreDriver*> all = drivers();
  const auto found = std::ranges::find(all, scheme, &StoreDriver::scheme);
  if (found != all.end()) return *found;
  const bool is_address = scheme == "http" || scheme == "https";
  return Error{
      Code::kInvalidArgument,
      concat(
          "no store driver for \"", scheme, "://\"; the schemes built in are ", join(schemes(), ", "),
          is_address
              ? ". To read a file from the web, download it first. The address of an S3 server is not part "
                "of a URL but a setting of its driver: headrace stores names the variable"
              : "")};
}

Result<Url> StoreRegistry::parse(std::string_view text) {
  std::error_code ignored;
  const std::string scheme = scheme_of(text);
  if (scheme.empty()) HEADRACE_CHECK(check_not_misspelt_url(text, schemes()));
  const Result<const StoreDriver*> of_scheme = driver(scheme);
  return parse_url(text, scheme.empty() ? std::filesystem::current_path(ignored).string() : std::string(),
                   of_scheme ? (*of_scheme)->url_form : UrlForm());
}

const Environment& StoreRegistry::environment() const { return open_->environment; }

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

std::string StoreRegistry::server_of(const Url& url) const {
  const std::lock_guard lock(open_->mutex);
  const auto found = open_->servers.find(name_of(url));
  return found == open_->servers.end() ? "" : found->second;
}

void StoreRegistry::put(const Url& place, std::shared_ptr<Store> store) {
  const std::lock_guard lock(open_->mutex);
  open_->stores[name_of(place)] = std::move(store);
  open_->servers.erase(name_of(place));
}

Result<Location> StoreRegistry::open(std::string_view text) {
  HEADRACE_TRY(const Url url, parse(text));
  std::unique_lock lock(open_->mutex);
  std::shared_ptr<Store>& store = open_->stores[name_of(url)];
  if (store != nullptr) return Location{store, url.path, url};
  HEADRACE_TRY(const StoreDriver* const of_scheme, driver(url.scheme));
  HEADRACE_TRY(OpenedStore opened, of_scheme->open(url, open_->environment));
  store = std::move(opened.store);
  open_->servers[name_of(url)] = std::move(opened.server);
  const Location location{store, url.path, url};
  lock.unlock();  // the handler of the warning may open another location
  if (!opened.warning.empty() && open_->warn) open_->warn(opened.warning);
  return location;
}

}  // namespace headrace
