#include "headrace/prepare/row/reference_reader.h"

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

std::optional<Version> version_of(const Reference& reference) {
  if (reference.version.empty()) return std::nullopt;
  return Version{std::string(reference.version)};
}

}  // namespace

Result<std::span<const FetchedReference>> ReferenceReader::fetch(std::span<const Reference> references) {
  fetched_.assign(references.size(), {});
  objects_.assign(references.size(), {});
  std::map<Store*, std::vector<Wanted>> known;
  std::vector<Wanted> unknown;
  std::size_t size = 0;
  for (std::size_t place = 0; place < references.size(); ++place) {
    const Reference& reference = references[place];
    Result<Location> location = stores_.open(reference.url);
    if (!location) {
      fetched_[place].error = std::move(location).error();
    } else if (!reference.size_bytes) {
      unknown.push_back({place, *std::move(location)});
    } else if (*reference.size_bytes > cell_limit_bytes_) {
      fetched_[place].error = Error{Code::kResourceExhausted,
                                    concat(location->describe(), " has ", format_size(*reference.size_bytes),
                                           ", more than the ", format_size(cell_limit_bytes_), " allowed")};
    } else {
      Store* const store = location->store.get();
      known[store].push_back({place, *std::move(location), size});
      size += *reference.size_bytes;
    }
  }
  data_.resize(size);
  for (const auto& [store, wanted] : known) HEADRACE_CHECK(fetch_known(references, wanted));
  HEADRACE_CHECK(parallel_for(kAtOnce, unknown.size(), [&](std::size_t i) {
    return fetch_one(references[unknown[i].place], unknown[i]);
  }));
  return std::span<const FetchedReference>(fetched_);
}

// All in one call; when one of them fails, each by itself, to know which.
Status ReferenceReader::fetch_known(std::span<const Reference> references, std::span<const Wanted> wanted) {
  std::vector<ReadRequest> requests;
  requests.reserve(wanted.size());
  for (const Wanted& one : wanted) {
    const Reference& reference = references[one.place];
    const MutableBytesView target = MutableBytesView(data_).subspan(one.begin, *reference.size_bytes);
    fetched_[one.place].data = target;
    requests.push_back({one.location.key, reference.offset_bytes.value_or(0), target, version_of(reference)});
  }
  const Status all = wanted.front().location.store->read_many(requests, call_);
  if (all) return {};
  if (all.error().code == Code::kCancelled) return all;
  return parallel_for(kAtOnce, wanted.size(), [&](std::size_t i) -> Status {
    FetchedReference& fetched = fetched_[wanted[i].place];
    const ReadRequest& request = requests[i];
    const ReadOptions options{
        .offset_bytes = request.offset_bytes, .if_version = request.if_version, .call = call_};
    const Status read = read_exactly(*wanted[i].location.store, request.key, request.target, options);
    if (!read && read.error().code == Code::kCancelled) return read;
    if (!read) fetched = {{}, read.error()};
    return {};
  });
}

Status ReferenceReader::fetch_one(const Reference& reference, const Wanted& wanted) {
  FetchedReference& fetched = fetched_[wanted.place];
  Result<ReadObject> object =
      read_object(*wanted.location.store, wanted.location.key, cell_limit_bytes_, call_);
  if (!object && object.error().code == Code::kCancelled) return std::move(object).error();
  if (!object) {
    fetched.error = std::move(object).error();
  } else if (!reference.version.empty() && object->object.version.token != reference.version) {
    fetched.error = Error{Code::kFailedPrecondition,
                          concat(wanted.location.describe(), " is there in another version now")};
  } else {
    objects_[wanted.place] = std::move(object->data);
    fetched.data = objects_[wanted.place];
  }
  return {};
}

}  // namespace headrace
