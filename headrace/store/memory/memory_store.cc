#include "headrace/store/memory/memory_store.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "headrace/base/text.h"

namespace headrace {
namespace {

struct StoredObject {
  // Shared with readers: a write replaces the pointer, and never changes the bytes.
  std::shared_ptr<const Bytes> data;
  std::uint64_t generation = 0;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::string name) : name_(std::move(name)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_TRY(const StoredObject object, find(key));
    if (options.if_version && *options.if_version != version_of(object)) return changed(key);
    if (options.offset_bytes > object.data->size()) {
      return Error{Code::kOutOfRange, concat("offset ", options.offset_bytes, " lies past the end of ",
                                             describe(key), ", which has ", object.data->size(), " bytes")};
    }
    const std::size_t count =
        std::min<std::uint64_t>(target.size(), object.data->size() - options.offset_bytes);
    std::copy_n(object.data->begin() + static_cast<std::ptrdiff_t>(options.offset_bytes), count,
                target.begin());
    return ReadResult{count, info_of(key, object)};
  }

  Result<ObjectInfo> stat(std::string_view key, const CallOptions&) override {
    HEADRACE_TRY(const StoredObject object, find(key));
    return info_of(key, object);
  }

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    HEADRACE_CHECK(check_key(key));
    auto copy_of_data = std::make_shared<const Bytes>(data.begin(), data.end());
    const std::unique_lock lock(mutex_);
    HEADRACE_CHECK(check_no_folder_conflict(key));
    const auto found = objects_.find(key);
    const bool present = found != objects_.end();
    if (options.only_if_absent && present)
      return Error{Code::kAlreadyExists, concat(describe(key), " already exists")};
    if (options.if_version && (!present || *options.if_version != version_of(found->second)))
      return changed(key);
    StoredObject& object = objects_[std::string(key)];
    object = {std::move(copy_of_data), ++last_generation_};
    return info_of(key, object);
  }

  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;

  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    HEADRACE_TRY(const StoredObject source, find(from));
    return write(to, *source.data, options);
  }

  Status remove_many(std::span<const std::string> keys, const CallOptions&) override {
    const std::unique_lock lock(mutex_);
    for (const std::string& key : keys) objects_.erase(key);
    return {};
  }

  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    std::string after = options.after;
    while (true) {
      ObjectInfo next;
      {
        const std::shared_lock lock(mutex_);
        const auto found = after < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
        if (found == objects_.end() || !found->first.starts_with(prefix)) return {};
        next = info_of(found->first, found->second);
      }
      after = next.key;
      if (const std::size_t slash = next.key.find('/', prefix.size());
          options.collapse_folders && slash != std::string::npos) {
        next = {.key = next.key.substr(0, slash + 1)};
        after = next.key + "\xff";  // after everything in that folder: no key contains this byte
        if (next.key <= options.after) continue;
      }
      if (!visit(next)) return {};
    }
  }

  // Unfinished writes lie in the writer's memory, not in the store.
  Status list_unfinished(std::string_view, const CallOptions&,
                         const std::function<bool(const UnfinishedWrite&)>&) override {
    return {};
  }
  Status remove_unfinished(const UnfinishedWrite&, const CallOptions&) override { return {}; }

  Capabilities capabilities() const override {
    return {.atomic_if_absent = true, .atomic_if_version = true, .strong_list = true, .latest_only = true};
  }

  std::string describe(std::string_view key) const override {
    return concat("memory://", name_, key.empty() ? "" : "/", key);
  }

 private:
  static Version version_of(const StoredObject& object) { return {concat(object.generation)}; }
  static ObjectInfo info_of(std::string_view key, const StoredObject& object) {
    return {.key = std::string(key), .size_bytes = object.data->size(), .version = version_of(object)};
  }
  Error changed(std::string_view key) const {
    return {Code::kFailedPrecondition, concat(describe(key), " is no longer the requested version")};
  }

  Result<StoredObject> find(std::string_view key) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return Error{Code::kNotFound, concat("there is no object ", describe(key))};
    return found->second;
  }

  // Refuses "a" beside "a/b". REQUIRES: mutex_ is held.
  Status check_no_folder_conflict(std::string_view key) const {
    const std::string folder = concat(key, "/");
    const auto below = objects_.lower_bound(folder);
    if (below != objects_.end() && below->first.starts_with(folder)) {
      return Error{Code::kFailedPrecondition,
                   concat(describe(key), " is a folder: ", describe(below->first), " lies in it")};
    }
    for (std::size_t slash = key.rfind('/'); slash != std::string_view::npos;
         slash = key.substr(0, slash).rfind('/')) {
      if (objects_.contains(key.substr(0, slash))) {
        return Error{Code::kFailedPrecondition,
                     concat(describe(key.substr(0, slash)), " is an object, so nothing can lie below it")};
      }
    }
    return {};
  }

  const std::string name_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, StoredObject, std::less<>> objects_;
  std::uint64_t last_generation_ = 0;
};

class MemoryUpload final : public Upload {
 public:
  MemoryUpload(MemoryStore& store, std::string key, WriteOptions options)
      : store_(store), key_(std::move(key)), options_(std::move(options)) {}
  Status append(BytesView data) override {
    headrace::append(data_, data);
    return {};
  }
  Result<ObjectInfo> commit() override { return store_.write(key_, data_, options_); }

 private:
  MemoryStore& store_;
  const std::string key_;
  const WriteOptions options_;
  Bytes data_;
};

Result<std::unique_ptr<Upload>> MemoryStore::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return std::unique_ptr<Upload>(std::make_unique<MemoryUpload>(*this, std::string(key), options));
}

}  // namespace

std::unique_ptr<Store> make_memory_store(std::string name) {
  return std::make_unique<MemoryStore>(std::move(name));
}

}  // namespace headrace
