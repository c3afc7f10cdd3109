#include "headrace/store/layers/cached.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/io/digest.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

constexpr std::size_t kHeaderBytes = 12;
// A range of more than this share of the cache would drive out too much.
constexpr std::uint64_t kLargestShare = 4;
// The folder is looked at after this share of it has been written; then it is brought below that much of its
// most.
constexpr std::uint64_t kLookShare = 20;
constexpr std::uint64_t kKeptTenths = 9;

std::uint32_t checksum(std::uint64_t object_bytes, BytesView data) {
  std::array<std::byte, 8> size{};
  store_little_endian(size.data(), object_bytes);
  return crc32c(data, crc32c(size));
}

class CachedStore final : public ForwardingStore {
 public:
  CachedStore(std::shared_ptr<Store> store, Location folder, const CacheOptions& options)
      : ForwardingStore(std::move(store)), folder_(std::move(folder)), options_(options) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    const bool is_kept = options.if_version && target.size() <= options_.max_bytes / kLargestShare;
    if (!is_kept) return inner().read_into(key, target, options);
    const std::string name = name_of(key, target.size(), options);
    if (std::optional<ReadResult> kept = find(name, key, target, options)) return *std::move(kept);
    HEADRACE_TRY(ReadResult read, inner().read_into(key, target, options));
    keep(name, read, target.first(read.bytes_read), options.call);
    return read;
  }

  // Through read_into, so that ranges are kept.
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return Store::read_many(requests, options);
  }

  Capabilities capabilities() const override {
    Capabilities capabilities = inner().capabilities();
    capabilities.latest_only = false;
    return capabilities;
  }

 private:
  std::string name_of(std::string_view key, std::size_t size, const ReadOptions& options) const {
    const std::string digest = sha256_hex(as_bytes(
        concat(describe(key), '\0', options.if_version->token, '\0', options.offset_bytes, '\0', size)));
    return folder_.at(concat(digest.substr(0, 2), "/", digest.substr(2))).key;
  }

  std::optional<ReadResult> find(const std::string& name, std::string_view key, MutableBytesView target,
                                 const ReadOptions& options) const {
    std::array<std::byte, kHeaderBytes> header{};
    const auto begin = folder_.store->read_into(name, header, {.call = options.call});
    if (!begin || begin->bytes_read != header.size()) return std::nullopt;
    const auto data =
        folder_.store->read_into(name, target, {.offset_bytes = kHeaderBytes, .call = options.call});
    if (!data) return std::nullopt;
    const auto object_bytes = load_little_endian<std::uint64_t>(header.data());
    if (load_little_endian<std::uint32_t>(header.data() + 8) !=
        checksum(object_bytes, target.first(data->bytes_read)))
      return std::nullopt;
    return ReadResult{data->bytes_read, {std::string(key), object_bytes, *options.if_version}};
  }

  void keep(const std::string& name, const ReadResult& read, BytesView data, const CallOptions& call) {
    std::array<std::byte, kHeaderBytes> header{};
    store_little_endian(header.data(), read.object.size_bytes);
    store_little_endian(header.data() + 8, checksum(read.object.size_bytes, data));
    if (!has_room(data.size() + kHeaderBytes, call)) return;
    auto upload = folder_.store->start_upload(name, {.call = call});
    if (upload && (*upload)->append(header) && (*upload)->append(data)) (void)(*upload)->commit().has_value();
  }

  // Counts what is written, and from time to time what is there.
  bool has_room(std::uint64_t bytes, const CallOptions& call) {
    const std::lock_guard lock(mutex_);
    unseen_bytes_ += bytes;
    if (has_looked_ && unseen_bytes_ < options_.max_bytes / kLookShare) return true;
    has_looked_ = true;
    unseen_bytes_ = 0;
    return make_room(call).has_value();
  }

  Status make_room(const CallOptions& call) const {
    HEADRACE_TRY(std::vector<ObjectInfo> kept,
                 list_all(*folder_.store, folder_prefix(folder_.key), {.call = call}));
    std::uint64_t bytes = 0;
    for (const ObjectInfo& object : kept) bytes += object.size_bytes;
    if (bytes <= options_.max_bytes) return {};
    const HashKey key{random_name_bits(), 0};
    std::ranges::sort(kept, {}, [&](const ObjectInfo& object) { return siphash(key, as_bytes(object.key)); });
    std::vector<std::string> leaving;
    for (const ObjectInfo& object : kept) {
      if (bytes <= options_.max_bytes / 10 * kKeptTenths) break;
      bytes -= object.size_bytes;
      leaving.push_back(object.key);
    }
    return folder_.store->remove_many(leaving, call);
  }

  const Location folder_;
  const CacheOptions options_;
  std::mutex mutex_;
  bool has_looked_ = false;
  std::uint64_t unseen_bytes_ = 0;  // written since the folder was looked at
};

}  // namespace

Result<CacheUrl> parse_cache_url(std::string_view text) {
  constexpr std::string_view kMax = "max=";
  const std::size_t question = text.rfind('?');
  if (question == text.npos) return CacheUrl{std::string(text), {}};
  const std::string_view option = text.substr(question + 1);
  const auto max_bytes =
      option.starts_with(kMax) ? parse_size_bytes(option.substr(kMax.size())) : std::nullopt;
  if (max_bytes && *max_bytes > 0) return CacheUrl{std::string(text.substr(0, question)), {*max_bytes}};
  return Error{Code::kInvalidArgument,
               concat("the cache ", text, " ends in \"", option, "\"; write it as FOLDER?max=200GiB")};
}

std::unique_ptr<Store> make_cached(std::shared_ptr<Store> store, Location folder,
                                   const CacheOptions& options) {
  return std::make_unique<CachedStore>(std::move(store), std::move(folder), options);
}

Location make_cached(Location location, Location folder, const CacheOptions& options) {
  location.store = make_cached(std::move(location.store), std::move(folder), options);
  return location;
}

}  // namespace headrace
