#include "headrace/artifact/content.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::string_view kGivenUp = ".given-up";
constexpr std::size_t kMostAskedOneByOne = 256;
constexpr int kMostListings = 2;  // of the copies of one content, for each read

// The copies of one content.
struct Copies {
  std::map<std::uint64_t, std::uint64_t> there{};  // sizes by number
  std::set<std::uint64_t> given_up{};

  void add(const ContentCopy& copy, std::uint64_t size_bytes) {
    if (copy.is_given_up) {
      given_up.insert(copy.number);
    } else {
      there[copy.number] = size_bytes;
    }
  }
  bool is_kept(std::uint64_t size_bytes) const {
    return std::ranges::any_of(
        there, [&](const auto& copy) { return copy.second == size_bytes && !given_up.contains(copy.first); });
  }
  std::uint64_t next() const {
    const std::uint64_t last_there = there.empty() ? 0 : there.rbegin()->first;
    return std::max(last_there, given_up.empty() ? 0 : *given_up.rbegin()) + 1;
  }
};

Status list_copies(const Location& root, std::string_view sha256, const CallOptions& call,
                   const std::function<void(const ContentCopy&, std::uint64_t size_bytes)>& visit) {
  const std::string prefix = root.at(kContentPrefix).key + std::string(sha256);
  return root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (const auto copy = parse_content_key(root, object.key)) visit(*copy, object.size_bytes);
    return true;
  });
}

Result<Copies> copies_of(const Location& root, std::string_view sha256, const CallOptions& call) {
  Copies copies;
  HEADRACE_CHECK(list_copies(root, sha256, call, [&](const ContentCopy& copy, std::uint64_t size_bytes) {
    copies.add(copy, size_bytes);
  }));
  return copies;
}

Error has_changed(std::string_view sha256) {
  return {Code::kFailedPrecondition, concat("the file with the SHA-256 ", sha256,
                                            " has changed since its digest was computed: log the "
                                            "artifact again when its files are complete")};
}

Status write_copy(const Location& copy, const Content& content, const CallOptions& call) {
  const WriteOptions options{.only_if_absent = true, .call = call};
  Sha256 digest;
  Bytes small;
  std::unique_ptr<Upload> upload;
  const bool is_small = content.size_bytes <= kPieceBytes;
  if (!is_small) {
    HEADRACE_TRY(upload, copy.store->start_upload(copy.key, options));
  }
  HEADRACE_CHECK(content.read(
      [&](BytesView piece) -> Status {
        digest.update(piece);
        if (upload) return upload->append(piece);
        if (small.size() + piece.size() > kPieceBytes) return has_changed(content.sha256);
        small.insert(small.end(), piece.begin(), piece.end());
        return {};
      },
      call));
  if (hex(digest.finish()) != content.sha256) return has_changed(content.sha256);
  const auto written = upload ? upload->commit() : copy.store->write(copy.key, small, options);
  if (!written && written.error().code != Code::kAlreadyExists) return written.error();
  return {};
}

using UseCopy = std::function<Status(const Location&, const ObjectInfo&)>;

Status use_copy(const Location& copy, std::optional<std::uint64_t> size_bytes, const CallOptions& call,
                const UseCopy& use) {
  HEADRACE_TRY(const ObjectInfo object, copy.store->stat(copy.key, call));
  if (!size_bytes || object.size_bytes == *size_bytes) return use(copy, object);
  return Error{Code::kDataLoss,
               concat(copy.describe(), " was altered: it has ", object.size_bytes, " bytes instead of ",
                      *size_bytes, "; log the artifact again with the same files")};
}

// Uses the first copy that can be read. A copy may be removed while it is in use: then there is another copy,
// or nobody needs the content any more.
Status use_a_copy(const Location& root, std::string_view sha256, std::optional<std::uint64_t> size_bytes,
                  const CallOptions& call, const UseCopy& use) {
  std::map<std::uint64_t, Error> altered;  // by number of the copy
  std::vector<std::uint64_t> numbers = {1};
  for (int listings = 0;; ++listings) {
    for (const std::uint64_t number : numbers) {
      Status used = use_copy(content_copy(root, sha256, number), size_bytes, call, use);
      if (used || (used.error().code != Code::kDataLoss && used.error().code != Code::kNotFound)) return used;
      if (used.error().code == Code::kDataLoss) altered.emplace(number, std::move(used).error());
    }
    if (listings == kMostListings) break;
    HEADRACE_TRY(const Copies copies, copies_of(root, sha256, call));
    numbers.clear();
    for (const auto& [number, size] : copies.there) {
      if (!altered.contains(number)) numbers.push_back(number);
    }
    if (numbers.empty()) break;
  }
  if (!altered.empty()) return altered.begin()->second;
  return Error{Code::kNotFound,
               concat("the content ", sha256, " is missing below ", root.at(kContentPrefix).describe(),
                      ": log the artifact again with the same files")};
}

Status read_copy(const Location& copy, const ObjectInfo& object, std::string_view sha256,
                 const CallOptions& call, const ContentReader& reader) {
  Sha256 digest;
  HEADRACE_CHECK(reader.begin(object));
  HEADRACE_CHECK(read_in_pieces(*copy.store, object, call, [&](BytesView piece) {
    digest.update(piece);
    return reader.add(piece);
  }));
  const std::string found = hex(digest.finish());
  if (found == sha256) return {};
  return Error{Code::kDataLoss, concat(copy.describe(), " was altered: its SHA-256 is ", found,
                                       "; remove it, then log the artifact again with the same files")};
}

}  // namespace

Content content_of(const Location& object, const ObjectInfo& info, std::string sha256) {
  return {.sha256 = std::move(sha256),
          .size_bytes = info.size_bytes,
          .read = [object, info](const std::function<Status(BytesView)>& visit, const CallOptions& call) {
            return read_in_pieces(*object.store, info, call, visit);
          }};
}

Result<std::string> digest_of(const Location& object, const ObjectInfo& info, const CallOptions& call) {
  Sha256 digest;
  HEADRACE_CHECK(read_in_pieces(*object.store, info, call, [&](BytesView piece) -> Status {
    digest.update(piece);
    return {};
  }));
  return hex(digest.finish());
}

std::optional<ContentCopy> parse_content_key(const Location& root, std::string_view key) {
  const std::string prefix = root.at(kContentPrefix).key;
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  ContentCopy copy;
  copy.is_given_up = key.ends_with(kGivenUp);
  if (copy.is_given_up) key.remove_suffix(kGivenUp.size());
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos || !is_sha256_hex(key.substr(0, dot))) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(key.substr(dot + 1));
  if (!number || *number == 0 || concat(*number) != key.substr(dot + 1)) return std::nullopt;
  copy.sha256 = key.substr(0, dot);
  copy.number = *number;
  return copy;
}

Location content_copy(const Location& root, std::string_view sha256, std::uint64_t number) {
  return root.at(concat(kContentPrefix, sha256, ".", number));
}

Location given_up_mark(const Location& root, std::string_view sha256, std::uint64_t number) {
  return root.at(concat(kContentPrefix, sha256, ".", number, kGivenUp));
}

Status keep_contents(const Location& root, std::span<const Content> contents, const CallOptions& call) {
  std::map<std::string, std::pair<Copies, const Content*>, std::less<>> wanted;
  for (const Content& content : contents) wanted[content.sha256].second = &content;
  const bool lists_all = wanted.size() > kMostAskedOneByOne;
  if (lists_all) {
    HEADRACE_CHECK(list_copies(root, "", call, [&](const ContentCopy& copy, std::uint64_t size_bytes) {
      const auto found = wanted.find(copy.sha256);
      if (found != wanted.end()) found->second.first.add(copy, size_bytes);
    }));
  }
  std::vector<std::pair<Copies, const Content*>> each;
  for (auto& [sha256, content] : wanted) each.push_back(std::move(content));
  return parallel_for(kObjectsAtOnce, each.size(), [&](std::size_t i) -> Status {
    auto& [copies, content] = each[i];
    if (!lists_all) {
      HEADRACE_TRY(copies, copies_of(root, content->sha256, call));
    }
    if (copies.is_kept(content->size_bytes)) return {};
    return write_copy(content_copy(root, content->sha256, copies.next()), *content, call);
  });
}

Status read_content(const Location& root, std::string_view sha256, std::optional<std::uint64_t> size_bytes,
                    const CallOptions& call, const ContentReader& reader) {
  return use_a_copy(root, sha256, size_bytes, call, [&](const Location& copy, const ObjectInfo& object) {
    return read_copy(copy, object, sha256, call, reader);
  });
}

Result<Location> find_content(const Location& root, std::string_view sha256, std::uint64_t size_bytes,
                              const CallOptions& call) {
  Location found;
  HEADRACE_CHECK(
      use_a_copy(root, sha256, size_bytes, call, [&](const Location& copy, const ObjectInfo&) -> Status {
        found = copy;
        return {};
      }));
  return found;
}

}  // namespace headrace
