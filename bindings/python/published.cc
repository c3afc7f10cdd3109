#include "bindings/python/published.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "bindings/python/process.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

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

/// Of the manifests after number `generation`, up to number `last`, ascending.
Result<std::vector<std::uint64_t>> manifest_numbers(const Location& folder, std::uint64_t generation,
                                                    std::uint64_t last) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*folder.store, folder.at(kManifestPrefix).key));
  std::vector<std::uint64_t> manifests;
  for (const std::uint64_t number : numbers) {
    if (number <= generation || number > last) continue;
    const auto published = read_published(folder, {.number = number});
    const bool is_entry = !published && published.error().code == Code::kInvalidArgument;
    if (!published && !is_entry) return published.error();
    if (published && *published) manifests.push_back(number);
  }
  return manifests;
}

std::vector<std::uint64_t> published_numbers(const std::string& url) {
  const Location location = open_location(url);
  return value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<std::vector<std::uint64_t>> {
    const Location folder = make_stoppable(location, stop);
    HEADRACE_TRY(const ChainState chain, read_chain(folder));
    return manifest_numbers(folder, chain.generation(), chain.published);
  }));
}

/// The right to publish checkpoints in a folder, of one process. Not thread-safe.
class Owner {
 public:
  Owner(Ownership ownership, std::uint64_t published, std::string suffix)
      : ownership_(std::move(ownership)), published_(published), suffix_(std::move(suffix)) {}

  static Owner take(const std::string& url, const std::string& command) {
    const Location location = open_location(url);
    return value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<Owner> {
      const Location folder = make_stoppable(location, stop);
      HEADRACE_TRY(const ChainState seen, read_chain(folder));
      if (seen.damage) return *seen.damage;
      const OwnershipEntry entry{.action = seen.is_free() ? OwnershipAction::kBegin : OwnershipAction::kTakeOver,
                                 .output_entry = seen.owner.output_entry,
                                 .actor = this_process(command, "", std::chrono::system_clock::now())};
      HEADRACE_TRY(const Ownership taken, Ownership::take(folder, seen, entry));
      const std::string suffix = owner_suffix(taken.entry(), entry.action);
      return Owner({location, taken.entry(), taken.generation(), taken.last()},
                   entry.action == OwnershipAction::kBegin ? 0 : seen.published_now(), suffix);
    }));
  }

  static Owner join(const std::string& url, std::uint64_t entry, std::uint64_t generation, std::uint64_t last,
                    std::uint64_t published, const std::string& suffix) {
    return {{open_location(url), entry, generation, last}, published, suffix};
  }

  const std::string& suffix() const { return suffix_; }

  /// None if there is nothing that this training continues.
  std::optional<PublishedTuple> published(const std::string& kind) const {
    if (published_ == 0) return std::nullopt;
    return read(ownership_.folder().url.text(), kind, published_);
  }

  std::uint64_t publish(const std::string& source, const std::string& role, const std::string& kind,
                        const std::string& plan, const std::string& attributes_json) {
    published_ = value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<std::uint64_t> {
      Ownership ownership(make_stoppable(ownership_.folder(), stop), ownership_.entry(), ownership_.generation(),
                          ownership_.last());
      Manifest manifest{.kind = kind, .plan = plan, .attributes_json = attributes_json};
      HEADRACE_TRY(const Published made, publish_folder(source, ownership, {}, {}, role, std::move(manifest)));
      return made.number;
    }));
    ownership_ = Ownership(ownership_.folder(), ownership_.entry(), ownership_.generation(), published_);
    return published_;
  }

  /// Those of manifests of the present generation, ascending.
  std::vector<std::uint64_t> numbers() const {
    return value_of(run_interruptibly([&](const std::stop_token& stop) {
      return manifest_numbers(make_stoppable(ownership_.folder(), stop), ownership_.generation(), published_);
    }));
  }

  /// Removes a checkpoint that is not the latest: first the manifest, so that nothing names a part that is gone.
  void unpublish(const std::string& kind, std::uint64_t number) const {
    check(run_interruptibly([&](const std::stop_token& stop) -> Status {
      if (number <= ownership_.generation() || number >= published_)
        return Error{Code::kInvalidArgument, "only a checkpoint of this training that is not the latest can go"};
      const Location folder = make_stoppable(ownership_.folder(), stop);
      HEADRACE_TRY(const auto published, read_published(folder, kind, {.number = number}));
      if (!published) return {};
      HEADRACE_CHECK(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, number)));
      std::vector<std::string> keys;
      for (const ManifestPart& part : published->manifest.parts) keys.push_back(folder.at(part.key).key);
      return folder.store->remove_many(keys, {});
    }));
  }

 private:
  Ownership ownership_;
  std::uint64_t published_ = 0;  // number of the latest manifest of the generation
  std::string suffix_;
};

}  // namespace

void bind_published(nb::module_& module) {
  module.def("read_published", &read, nb::arg("url"), nb::arg("kind"), nb::arg("number").none() = nb::none());
  module.def("published_numbers", &published_numbers, nb::arg("url"));
  module.def("download_published", &download, nb::arg("url"), nb::arg("kind"), nb::arg("number"),
             nb::arg("target"));
  nb::class_<Owner>(module, "Owner")
      .def_static("take", &Owner::take, nb::arg("url"), nb::arg("command"))
      .def_static("join", &Owner::join, nb::arg("url"), nb::arg("entry"), nb::arg("generation"), nb::arg("last"),
                  nb::arg("published"), nb::arg("suffix"))
      .def_prop_ro("suffix", &Owner::suffix)
      .def("published", &Owner::published, nb::arg("kind"))
      .def("publish", &Owner::publish, nb::arg("source"), nb::arg("role"), nb::arg("kind"), nb::arg("plan"),
           nb::arg("attributes_json"))
      .def("numbers", &Owner::numbers)
      .def("unpublish", &Owner::unpublish, nb::arg("kind"), nb::arg("number"));
}

}  // namespace headrace::python
