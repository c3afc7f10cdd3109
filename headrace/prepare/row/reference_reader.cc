#include "headrace/prepare/row/reference_reader.h"

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

std::optional<Version> version_of(const Reference& reference) {
  if (reference.version.empty()) return std::nullopt;
  return Version{std::string(reference.version)};
}

// Whether an error comes from the reference itself, so that every process gets it at any time. Other errors
// come from the present state of the store, the network or the machine.
bool is_of_reference(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kInvalidArgument;
}

Error temporary_error(const Error& error) {
  if (error.code == Code::kCancelled) return error;
  return {error.code, concat("fetching an object that a row refers to: ", error.message,
                             ". The row is not rejected, because this may be temporary: run the same command "
                             "again once the object can be read, or remove the row from the input")};
}

Status take_error(Error error, FetchedReference& fetched) {
  if (!is_of_reference(error)) return temporary_error(error);
  fetched = {{}, std::move(error)};
  return {};
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
      HEADRACE_CHECK(take_error(std::move(location).error(), fetched_[place]));
    } else if (!reference.size_bytes) {
      unknown.push_back({place, *std::move(location)});
    } else if (*reference.size_bytes > cell_limit_bytes_) {
      fetched_[place].error = too_large(*location, *reference.size_bytes);
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

// Fetches all references in one call. If that fails, fetches each by itself, to find out which one failed.
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
    Status read = read_exactly(*wanted[i].location.store, request.key, request.target, options);
    return read ? read : take_error(std::move(read).error(), fetched);
  });
}

Error ReferenceReader::too_large(const Location& location, std::uint64_t size_bytes) const {
  return {Code::kResourceExhausted, concat(location.describe(), " has ", format_size(size_bytes),
                                           ", more than the ", format_size(cell_limit_bytes_), " allowed")};
}

Status ReferenceReader::fetch_one(const Reference& reference, const Wanted& wanted) {
  FetchedReference& fetched = fetched_[wanted.place];
  const Location& location = wanted.location;
  Result<ReadObject> object = read_object(*location.store, location.key, cell_limit_bytes_, call_);
  if (!object && object.error().code == Code::kResourceExhausted) {
    // The object is too large, or the machine has run out of something.
    const auto found = location.store->stat(location.key, call_);
    if (found && found->size_bytes > cell_limit_bytes_) {
      fetched.error = too_large(location, found->size_bytes);
      return {};
    }
  }
  if (!object) return take_error(std::move(object).error(), fetched);
  if (!reference.version.empty() && object->object.version.token != reference.version) {
    return temporary_error(
        {Code::kFailedPrecondition, concat(location.describe(), " has changed since it was listed")});
  }
  objects_[wanted.place] = std::move(object->data);
  fetched.data = objects_[wanted.place];
  return {};
}

}  // namespace headrace
