#include "bindings/python/store.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <tuple>

#include "bindings/python/buffers.h"
#include "bindings/python/object_info.h"
#include "bindings/python/process.h"
#include "bindings/python/store_reads.h"
#include "bindings/python/upload.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/registry.h"
#include "headrace/store/url.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Key, offset, size (none: up to the end), version.
using RangeTuple =
    std::tuple<std::string, std::uint64_t, std::optional<std::uint64_t>, std::optional<std::string>>;

Environment environment_with(const std::string& url, const std::map<std::string, std::string>& options) {
  const Url parsed = value_of(StoreRegistry::parse(url));
  const StoreDriver* const driver = value_of(StoreRegistry::driver(parsed.scheme));
  const std::vector<std::pair<std::string, std::string>> given(options.begin(), options.end());
  return value_of(with_options(*driver, given, Environment::capture()));
}

bool is_boolean(const Option& option) { return option.choices == "true|false"; }

nb::list drivers() {
  nb::list all;
  for (const StoreDriver* driver : StoreRegistry::drivers()) {
    nb::list options;
    for (const Option& option : driver->options) {
      options.append(
          nb::make_tuple(std::string(option.name), is_boolean(option), std::string(option.sentence)));
    }
    nb::dict one;
    one["scheme"] = std::string(driver->scheme);
    one["example"] = std::string(driver->example);
    one["summary"] = std::string(driver->summary);
    one["may_lack_authority"] = driver->url_form.may_lack_authority;
    one["has_bucket_in_path"] = driver->url_form.has_bucket_in_path;
    one["options"] = options;
    all.append(one);
  }
  return all;
}

class PythonStore {
 public:
  PythonStore(const std::string& url, const std::map<std::string, std::string>& options, double timeout)
      : environment_(environment_with(url, options)),
        call_{.deadline =
                  std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout))} {
    const Location location = open_location(url, environment_);
    url_ = location.url.text();
    root_ = location.key;
    open_ = opened(location);
  }

  const std::string& url() const { return url_; }

  nb::bytes read(const std::string& key, std::uint64_t offset, std::optional<std::uint64_t> size,
                 const std::optional<std::string>& version) {
    NewBytes bytes;
    check(call([&](Store& store, const CallOptions& call) {
      return read_range(store, {full(key), offset, size, version_of(version)}, call, bytes);
    }));
    return std::move(bytes).take();
  }

  std::size_t read_into(const std::string& key, const nb::object& target, std::uint64_t offset,
                        const std::optional<std::string>& version) {
    const LentBuffer buffer(target, LentBuffer::Access::kWrite);
    const ReadResult read = value_of(call([&](Store& store, const CallOptions& call) {
      return store.read_into(full(key), buffer.writable(),
                             {.offset_bytes = offset, .if_version = version_of(version), .call = call});
    }));
    return read.bytes_read;
  }

  std::vector<nb::bytes> read_many(const std::vector<RangeTuple>& tuples) {
    std::vector<Range> ranges;
    for (const auto& [key, offset, size, version] : tuples)
      ranges.push_back({full(key), offset, size, version_of(version)});
    std::vector<NewBytes> bytes(ranges.size());
    check(
        call([&](Store& store, const CallOptions& call) { return read_ranges(store, ranges, call, bytes); }));
    std::vector<nb::bytes> objects;
    for (NewBytes& one : bytes) objects.push_back(std::move(one).take());
    return objects;
  }

  InfoTuple write(const std::string& key, const nb::object& data, bool if_absent,
                  const std::optional<std::string>& if_version) {
    const LentBuffer buffer(data, LentBuffer::Access::kRead);
    return info(value_of(call([&](Store& store, const CallOptions& call) {
      return store.write(full(key), buffer.view(), options(if_absent, if_version, call));
    })));
  }

  PythonUpload* upload(const std::string& key, bool if_absent, const std::optional<std::string>& if_version) {
    return new PythonUpload(location().at(key), root_bytes(), options(if_absent, if_version, call_));
  }

  InfoTuple stat(const std::string& key) {
    return info(
        value_of(call([&](Store& store, const CallOptions& call) { return store.stat(full(key), call); })));
  }

  InfoTuple copy(const std::string& from, const std::string& to, bool if_absent,
                 const std::optional<std::string>& if_version) {
    return info(value_of(call([&](Store& store, const CallOptions& call) {
      return store.copy(full(from), full(to), options(if_absent, if_version, call));
    })));
  }

  void remove(const std::vector<std::string>& keys) {
    std::vector<std::string> full_keys;
    for (const std::string& key : keys) full_keys.push_back(full(key));
    check(call([&](Store& store, const CallOptions& call) { return store.remove_many(full_keys, call); }));
  }

  std::vector<InfoTuple> page(const std::string& prefix, const std::string& after, bool folders,
                              std::size_t limit) {
    std::vector<ObjectInfo> objects;
    check(call([&](Store& store, const CallOptions& call) {
      const std::string root = folder_prefix(root_);
      const ListOptions options{
          .after = after.empty() ? "" : root + after, .collapse_folders = folders, .call = call};
      return store.list(root + prefix, options, [&](const ObjectInfo& object) {
        objects.push_back(object);
        return objects.size() < limit;
      });
    }));
    std::vector<InfoTuple> tuples;
    for (const ObjectInfo& object : objects) tuples.push_back(info(object));
    return tuples;
  }

  std::string describe(const std::string& key) { return location().store->describe(full(key)); }

  std::map<std::string, std::uint64_t> counters() {
    std::map<std::string, std::uint64_t> values;
    for (const StoreCounter& counter : location().store->counters()) values[counter.name] = counter.value;
    return values;
  }

  std::string metrics() {
    const Open open = here();
    const std::map<std::string, std::string> labels = {{"store", open.location.store->describe(full(""))}};
    return open.metrics->prometheus(labels) + prometheus_of(open.location.store->counters(), labels);
  }

  std::tuple<bool, bool, bool, bool, bool> capabilities() {
    const Capabilities found = location().store->capabilities();
    return {found.atomic_if_absent, found.atomic_if_version, found.strong_list, found.latest_only,
            found.keeps_ranges};
  }

 private:
  struct Open {
    Location location;
    std::shared_ptr<StoreMetrics> metrics;
  };

  // The metrics are new, too: a thread that does not exist after a fork may have held the lock of the
  // parent's metrics.
  static std::unique_ptr<OfProcess<Open>> opened(const Location& location) {
    auto metrics = std::make_shared<StoreMetrics>();
    return std::make_unique<OfProcess<Open>>("this store", make_metered(location, metrics), metrics);
  }

  // Returns a copy that the caller owns, since `open_` may be replaced while the caller waits. A fork's child
  // opens its own store, and leaves the parent's alone. Opening may warn, which runs Python code; if another
  // call opened the store meanwhile, that store is kept.
  Open here() {
    if (!open_->is_here()) {
      std::unique_ptr<OfProcess<Open>> own = opened(open_location(url_, environment_));
      if (!open_->is_here()) open_ = std::move(own);
    }
    return open_->here();
  }
  Location location() { return here().location; }

  template <typename Work>
  auto call(Work work) -> decltype(work(std::declval<Store&>(), CallOptions{})) {
    const Location open = location();
    return run_interruptibly([&](const std::stop_token& stop) {
      return work(*open.store, CallOptions{.deadline = call_.deadline, .stop = stop});
    });
  }

  std::string full(const std::string& key) const { return join_key(root_, key); }
  InfoTuple info(const ObjectInfo& object) const { return tuple_of(object, root_bytes()); }
  std::size_t root_bytes() const { return folder_prefix(root_).size(); }

  static WriteOptions options(bool if_absent, const std::optional<std::string>& if_version,
                              const CallOptions& call) {
    return {.only_if_absent = if_absent, .if_version = version_of(if_version), .call = call};
  }

  const Environment environment_;
  const CallOptions call_;
  std::string url_;
  std::string root_;                       // the folder that the keys lie in
  std::unique_ptr<OfProcess<Open>> open_;  // guarded by the GIL
};

}  // namespace

void bind_store(nb::module_& module) {
  nb::class_<PythonStore>(module, "Store")
      .def(nb::init<const std::string&, const std::map<std::string, std::string>&, double>(), nb::arg("url"),
           nb::arg("options"), nb::arg("timeout"))
      .def("read", &PythonStore::read, nb::arg("key"), nb::arg("offset"), nb::arg("size").none(),
           nb::arg("version").none())
      .def("read_into", &PythonStore::read_into, nb::arg("key"), nb::arg("buffer"), nb::arg("offset"),
           nb::arg("version").none())
      .def("read_many", &PythonStore::read_many, nb::arg("ranges"))
      .def("write", &PythonStore::write, nb::arg("key"), nb::arg("data"), nb::arg("if_absent"),
           nb::arg("if_version").none())
      .def("upload", &PythonStore::upload, nb::arg("key"), nb::arg("if_absent"), nb::arg("if_version").none())
      .def("stat", &PythonStore::stat, nb::arg("key"))
      .def("copy", &PythonStore::copy, nb::arg("source"), nb::arg("target"), nb::arg("if_absent"),
           nb::arg("if_version").none())
      .def("remove", &PythonStore::remove, nb::arg("keys"))
      .def("page", &PythonStore::page, nb::arg("prefix"), nb::arg("after"), nb::arg("folders"),
           nb::arg("limit"))
      .def("describe", &PythonStore::describe, nb::arg("key"))
      .def("capabilities", &PythonStore::capabilities)
      .def("counters", &PythonStore::counters)
      .def("metrics", &PythonStore::metrics)
      .def_prop_ro("url", &PythonStore::url);
  module.def("store_drivers", &drivers);
}

}  // namespace headrace::python
