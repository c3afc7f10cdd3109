#include "headrace/store/layers/cached.h"

#include <array>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/cached_folder.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

constexpr std::size_t kHeaderBytes = 12;
// A range larger than 1 / kLargestShare of the cache is not kept, since it would evict too much.
constexpr std::uint64_t kLargestShare = 4;

std::uint32_t checksum(std::uint64_t object_bytes, BytesView data) {
  std::array<std::byte, 8> size{};
  store_little_endian(size.data(), object_bytes);
  return crc32c(data, crc32c(size));
}

class CachedStore final : public ForwardingStore {
 public:
  CachedStore(std::shared_ptr<Store> store, Location folder, const CacheOptions& options)
      : ForwardingStore(std::move(store)),
        folder_(std::move(folder)),
        options_(options),
        room_(CacheRoom::of(folder_)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    const bool is_kept = options.if_version && target.size() <= options_.max_bytes / kLargestShare;
    if (!is_kept) return inner().read_into(key, target, options);
    const std::string name = name_of(key, target.size(), options);
    if (std::optional<ReadResult> kept = find(name, key, target, options)) return *std::move(kept);
    HEADRACE_TRY(ReadResult read, inner().read_into(key, target, options));
    const bool is_too_large = options.is_whole && target.size() < read.object.size_bytes;
    if (!is_too_large) keep(name, read, target.first(read.bytes_read), options.call);
    return read;
  }

  // Uses read_into, so that ranges are kept.
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return Store::read_many(requests, options);
  }

  Capabilities capabilities() const override {
    Capabilities capabilities = inner().capabilities();
    capabilities.latest_only = false;
    capabilities.keeps_ranges = true;
    return capabilities;
  }

 private:
  std::string name_of(std::string_view key, std::size_t size, const ReadOptions& options) const {
    return cached_key(folder_, sha256_hex(as_bytes(concat(describe(key), '\0', options.if_version->token,
                                                          '\0', options.offset_bytes, '\0', size))));
  }

  // Removes a damaged object, because only missing objects are written.
  std::optional<ReadResult> find(const std::string& name, std::string_view key, MutableBytesView target,
                                 const ReadOptions& options) const {
    auto kept = read_kept(name, key, target, options);
    if (kept) return *std::move(kept);
    if (kept.error().code == Code::kDataLoss)
      (void)remove_object(*folder_.store, name, options.call).has_value();
    return std::nullopt;
  }

  Result<ReadResult> read_kept(const std::string& name, std::string_view key, MutableBytesView target,
                               const ReadOptions& options) const {
    const Error damaged{Code::kDataLoss, "damaged"};
    std::array<std::byte, kHeaderBytes> header{};
    HEADRACE_TRY(const ReadResult begin, folder_.store->read_into(name, header, {.call = options.call}));
    if (begin.bytes_read != header.size()) return damaged;
    HEADRACE_TRY(
        const ReadResult data,
        folder_.store->read_into(name, target, {.offset_bytes = kHeaderBytes, .call = options.call}));
    const auto object_bytes = load_little_endian<std::uint64_t>(header.data());
    if (load_little_endian<std::uint32_t>(header.data() + 8) !=
        checksum(object_bytes, target.first(data.bytes_read)))
      return damaged;
    return ReadResult{data.bytes_read, {std::string(key), object_bytes, *options.if_version}};
  }

  void keep(const std::string& name, const ReadResult& read, BytesView data, const CallOptions& call) {
    std::array<std::byte, kHeaderBytes> header{};
    store_little_endian(header.data(), read.object.size_bytes);
    store_little_endian(header.data() + 8, checksum(read.object.size_bytes, data));
    const std::uint64_t bytes = data.size() + header.size();
    if (!room_->begin_write(folder_, bytes, options_.max_bytes, call)) return;
    // Only if absent: to replace an object, a file store must first give the new one another name, and that
    // file stays if the process is killed then. Not durable: the checksum shows damage.
    auto upload =
        folder_.store->start_upload(name, {.only_if_absent = true, .is_durable = false, .call = call});
    if (upload && (*upload)->append(header) && (*upload)->append(data)) (void)(*upload)->commit().has_value();
    room_->end_write(bytes);
  }

  const Location folder_;
  const CacheOptions options_;
  const std::shared_ptr<CacheRoom> room_;
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
