#include "bindings/python/published.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "bindings/python/process.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/track/folder_owner.h"
#include "headrace/track/published_folder.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

/// Number of the manifest, its attributes (JSON).
using PublishedTuple = std::tuple<std::uint64_t, std::string>;

std::optional<PublishedTuple> tuple_of(const std::optional<PublishedFolder>& published) {
  if (!published) return std::nullopt;
  return PublishedTuple{published->number, published->manifest.attributes_json};
}

std::optional<PublishedTuple> read(const std::string& url, const std::string& kind,
                                   std::optional<std::uint64_t> number) {
  const Location folder = open_location(url);
  return tuple_of(value_of(run_interruptibly([&](const std::stop_token& stop) {
    return read_published(make_stoppable(folder, stop), kind, {.number = number});
  })));
}

void download(const std::string& url, const std::string& kind, std::uint64_t number,
              const std::string& target) {
  const Location location = open_location(url);
  check(run_interruptibly([&](const std::stop_token& stop) -> Status {
    const Location folder = make_stoppable(location, stop);
    HEADRACE_TRY(const auto published, read_published(folder, kind, {.number = number}));
    if (!published) return Error{Code::kNotFound, folder.describe() + " is no longer published"};
    return download_published(*published, {}, target);
  }));
}

std::vector<std::uint64_t> numbers_of(const std::string& url) {
  const Location folder = open_location(url);
  return value_of(run_interruptibly(
      [&](const std::stop_token& stop) { return published_numbers(folder, {.stop = stop}); }));
}

/// A FolderOwner whose calls Ctrl-C can end.
class Owner {
 public:
  explicit Owner(FolderOwner owner) : owner_(std::move(owner)) {}

  static Owner take(const std::string& url, const std::string& kind, const std::string& command) {
    const Location folder = open_location(url);
    return Owner(value_of(run_interruptibly([&](const std::stop_token& stop) {
      return FolderOwner::take(folder, kind, command, std::chrono::system_clock::now(), stop);
    })));
  }

  static Owner join(const std::string& url, std::uint64_t entry, std::uint64_t generation, std::uint64_t last,
                    std::uint64_t published, const std::string& suffix) {
    return Owner({{open_location(url), entry, generation, last}, published, suffix});
  }

  const std::string& suffix() const { return owner_.suffix(); }

  /// Returns none if there is nothing that this training can continue.
  std::optional<PublishedTuple> published(const std::string& kind) const {
    return tuple_of(value_of(
        run_interruptibly([&](const std::stop_token& stop) { return owner_.published(kind, stop); })));
  }

  std::uint64_t publish(const std::string& source, const std::string& role, const std::string& kind,
                        const std::string& plan, const std::string& attributes_json) {
    return value_of(run_interruptibly([&](const std::stop_token& stop) {
      return owner_.publish(source, role, {.kind = kind, .plan = plan, .attributes_json = attributes_json},
                            stop);
    }));
  }

  /// Returns the numbers of the manifests of the present generation, ascending.
  std::vector<std::uint64_t> numbers() const {
    return value_of(run_interruptibly([&](const std::stop_token& stop) { return owner_.numbers(stop); }));
  }

  void unpublish(const std::string& kind, std::uint64_t number) const {
    check(
        run_interruptibly([&](const std::stop_token& stop) { return owner_.unpublish(kind, number, stop); }));
  }

 private:
  FolderOwner owner_;
};

}  // namespace

void bind_published(nb::module_& module) {
  module.def("read_published", &read, nb::arg("url"), nb::arg("kind"), nb::arg("number").none() = nb::none());
  module.def("published_numbers", &numbers_of, nb::arg("url"));
  module.def("download_published", &download, nb::arg("url"), nb::arg("kind"), nb::arg("number"),
             nb::arg("target"));
  nb::class_<Owner>(module, "Owner")
      .def_static("take", &Owner::take, nb::arg("url"), nb::arg("kind"), nb::arg("command"))
      .def_static("join", &Owner::join, nb::arg("url"), nb::arg("entry"), nb::arg("generation"),
                  nb::arg("last"), nb::arg("published"), nb::arg("suffix"))
      .def_prop_ro("suffix", &Owner::suffix)
      .def("published", &Owner::published, nb::arg("kind"))
      .def("publish", &Owner::publish, nb::arg("source"), nb::arg("role"), nb::arg("kind"), nb::arg("plan"),
           nb::arg("attributes_json"))
      .def("numbers", &Owner::numbers)
      .def("unpublish", &Owner::unpublish, nb::arg("kind"), nb::arg("number"));
}

}  // namespace headrace::python
