#include "bindings/python/artifact.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "headrace/artifact/content.h"
#include "headrace/artifact/fetch.h"
#include "headrace/track/recorder.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

// Path, URL, store version, size, SHA-256.
using Entry = std::tuple<std::string, std::optional<std::string>, std::optional<std::string>, std::uint64_t,
                         std::optional<std::string>>;

std::optional<std::string> none_if_empty(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

std::vector<Entry> entries_of(const PythonArtifactVersion& self) {
  const Location root = open_location(self.root);
  std::vector<ArtifactEntry> entries = value_of(run_interruptibly(
      [&](const std::stop_token& stop) { return read_entries(root, self.version, {.stop = stop}); }));
  std::vector<Entry> out;
  for (ArtifactEntry& entry : entries)
    out.emplace_back(std::move(entry.path), none_if_empty(std::move(entry.url)),
                     none_if_empty(std::move(entry.version)), entry.size_bytes,
                     none_if_empty(std::move(entry.sha256)));
  return out;
}

std::string url_of_content(const PythonArtifactVersion& self, const std::string& sha256,
                           std::uint64_t size_bytes) {
  const Location root = open_location(self.root);
  return recorded_url(value_of(run_interruptibly(
      [&](const std::stop_token& stop) { return find_content(root, sha256, size_bytes, {.stop = stop}); })));
}

void download_content(const PythonArtifactVersion& self, const std::string& target) {
  const Location root = open_location(self.root);
  const std::shared_ptr<StoreRegistry> stores = stores_of(self.root);
  const Location to = open_location(target);
  check(run_interruptibly([&](const std::stop_token& stop) -> Status {
    const CallOptions call{.stop = stop};
    HEADRACE_TRY(const std::vector<ArtifactEntry> entries, read_entries(root, self.version, call));
    return fetch_entries(*stores, root, entries, to, call);
  }));
}

using Add = Status (ArtifactDraft::*)(const Location&, std::string_view, const CallOptions&);

template <Add kAdd>
void add(const PythonArtifactDraft& self, const std::string& url, const std::string& path) {
  PythonArtifactDraft::Guarded& guarded = self.here();
  const Location location = open_location(url);
  check(run_interruptibly([&](const std::stop_token& stop) {
    const std::scoped_lock lock(guarded.mutex);
    return (guarded.draft.*kAdd)(location, path, {.stop = stop});
  }));
}

std::size_t size_of(const PythonArtifactDraft& self) {
  PythonArtifactDraft::Guarded& guarded = self.here();
  const WithoutGil released;
  const std::scoped_lock lock(guarded.mutex);
  return guarded.draft.size();
}

void bind_version(nb::module_& module) {
  nb::class_<PythonArtifactVersion>(module, "ArtifactVersion")
      .def_prop_ro("name", [](const PythonArtifactVersion& self) { return self.version.name; })
      .def_prop_ro("number", [](const PythonArtifactVersion& self) { return self.version.number; })
      .def_prop_ro("type", [](const PythonArtifactVersion& self) { return self.version.type; })
      .def_prop_ro("description", [](const PythonArtifactVersion& self) { return self.version.description; })
      .def_prop_ro("metadata_json",
                   [](const PythonArtifactVersion& self) { return self.version.metadata.dump(); })
      .def_prop_ro("size_bytes", [](const PythonArtifactVersion& self) { return self.version.size_bytes; })
      .def_prop_ro("count", [](const PythonArtifactVersion& self) { return self.version.count; })
      .def_prop_ro("run", [](const PythonArtifactVersion& self) { return self.version.run; })
      .def_prop_ro("created", [](const PythonArtifactVersion& self) { return self.version.created; })
      .def_prop_ro("digest", [](const PythonArtifactVersion& self) { return self.version.digest; })
      .def("entries", &entries_of)
      .def("url_of_content", &url_of_content, nb::arg("sha256"), nb::arg("size_bytes"))
      .def("download", &download_content, nb::arg("target"));
}

}  // namespace

PythonArtifactDraft::PythonArtifactDraft(const std::string& name, const std::string& type,
                                         const std::string& description, const std::string& metadata_json)
    : draft_("this artifact", value_of(ArtifactDraft::make(name, type, description, metadata_json))) {}

void bind_artifact(nb::module_& module) {
  nb::class_<PythonArtifactDraft>(module, "ArtifactDraft")
      .def(nb::init<const std::string&, const std::string&, const std::string&, const std::string&>(),
           nb::arg("name"), nb::arg("type"), nb::arg("description"), nb::arg("metadata_json"))
      .def("add_reference", &add<&ArtifactDraft::add_reference>, nb::arg("url"), nb::arg("path"))
      .def("add_file", &add<&ArtifactDraft::add_file>, nb::arg("url"), nb::arg("path"))
      .def("add_folder", &add<&ArtifactDraft::add_folder>, nb::arg("url"), nb::arg("path"))
      .def("__len__", &size_of);
  bind_version(module);
  module.def(
      "names_an_artifact",
      [](const std::string& text) {
        return text.find(':') != std::string::npos && parse_artifact_reference(text);
      },
      nb::arg("text"));
}

}  // namespace headrace::python
