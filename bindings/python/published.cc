#include "bindings/python/published.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/python/process.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Number of the manifest, its attributes (JSON).
using PublishedTuple = std::tuple<std::uint64_t, std::string>;

std::optional<PublishedTuple> read(const std::string& url, const std::string& kind,
                                   std::optional<std::uint64_t> number) {
  const Location folder = open_location(url);
  const auto published = value_of(run_interruptibly([&](const std::stop_token& stop) {
    return read_published(make_stoppable(folder, stop), kind, {.number = number});
  }));
  if (!published) return std::nullopt;
  return PublishedTuple{published->number, published->manifest.attributes_json};
}

std::vector<std::uint64_t> published_numbers(const std::string& url) {
  const Location location = open_location(url);
  return value_of(run_interruptibly([&](const std::stop_token& stop) {
    const Location folder = make_stoppable(location, stop);
    return present_numbers(*folder.store, folder.at(kManifestPrefix).key);
  }));
}

void download(const std::string& url, const std::string& kind, std::uint64_t number,
              const std::string& target) {
  const Location location = open_location(url);
  check(run_interruptibly([&](const std::stop_token& stop) -> Status {
    const Location folder = make_stoppable(location, stop);
    HEADRACE_TRY(const auto published, read_published(folder, kind, {.number = number}));
    if (!published) return Error{Code::kNotFound, folder.describe() + " is not published any more"};
    return download_published(*published, {}, target);
  }));
}

std::uint64_t publish(const std::string& source, const std::string& url, const std::string& role,
                      const std::string& kind, const std::string& plan, const std::string& attributes_json) {
  const Location location = open_location(url);
  return value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<std::uint64_t> {
    const Location folder = make_stoppable(location, stop);
    HEADRACE_TRY(const auto latest, latest_number(*folder.store, folder.at(kManifestPrefix).key));
    const std::uint64_t number = latest.value_or(0) + 1;
    Manifest manifest{.kind = kind, .plan = plan, .attributes_json = attributes_json};
    HEADRACE_CHECK(publish_folder(source, folder, {}, {}, role, std::move(manifest), number));
    return number;
  }));
}

// First the manifest, so that nothing names a part that is gone.
void unpublish(const std::string& url, const std::string& kind, std::uint64_t number) {
  const Location location = open_location(url);
  check(run_interruptibly([&](const std::stop_token& stop) -> Status {
    const Location folder = make_stoppable(location, stop);
    HEADRACE_TRY(const auto published, read_published(folder, kind, {.number = number}));
    if (!published) return {};
    HEADRACE_CHECK(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, number)));
    std::vector<std::string> keys;
    for (const ManifestPart& part : published->manifest.parts) keys.push_back(folder.at(part.key).key);
    return folder.store->remove_many(keys, {});
  }));
}

}  // namespace

void bind_published(nb::module_& module) {
  module.def("read_published", &read, nb::arg("url"), nb::arg("kind"), nb::arg("number").none() = nb::none());
  module.def("published_numbers", &published_numbers, nb::arg("url"));
  module.def("download_published", &download, nb::arg("url"), nb::arg("kind"), nb::arg("number"),
             nb::arg("target"));
  module.def("publish", &publish, nb::arg("source"), nb::arg("url"), nb::arg("role"), nb::arg("kind"),
             nb::arg("plan"), nb::arg("attributes_json"));
  module.def("unpublish", &unpublish, nb::arg("url"), nb::arg("kind"), nb::arg("number"));
}

}  // namespace headrace::python
