#include "headrace/artifact/content.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::string_view kGivenUp = ".given-up";
constexpr std::size_t kMostAskedOneByOne = 256;

// The copies of one content.
struct Copies {
  std::vector<std::uint64_t> there{};
  std::vector<std::uint64_t> given_up{};

  void add(const ContentCopy& copy) { (copy.is_given_up ? given_up : there).push_back(copy.number); }
  bool is_kept() const {
    return std::ranges::any_of(
        there, [&](std::uint64_t copy) { return std::ranges::find(given_up, copy) == given_up.end(); });
  }
  std::uint64_t next() const {
    std::uint64_t last = 0;
    for (const auto* numbers : {&there, &given_up})
      for (const std::uint64_t number : *numbers) last = std::max(last, number);
    return last + 1;
  }
};

Status list_copies(const Location& root, std::string_view sha256, const CallOptions& call,
                   const std::function<void(ContentCopy)>& visit) {
  const std::string prefix = root.at(kContentPrefix).key + std::string(sha256);
  return root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (auto copy = parse_content_key(root, object.key)) visit(*std::move(copy));
    return true;
  });
}

Error has_changed(std::string_view sha256) {
  return {Code::kFailedPrecondition, concat("the bytes with the SHA-256 ", sha256,
                                            " have changed since they were looked at: log the "
                                            "artifact when its files are complete")};
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
    HEADRACE_CHECK(list_copies(root, "", call, [&](const ContentCopy& copy) {
      if (const auto found = wanted.find(copy.sha256); found != wanted.end()) found->second.first.add(copy);
    }));
  }
  std::vector<std::pair<Copies, const Content*>> each;
  for (auto& [sha256, content] : wanted) each.push_back(std::move(content));
  return parallel_for(kObjectsAtOnce, each.size(), [&](std::size_t i) -> Status {
    auto& [copies, content] = each[i];
    Copies& found = copies;
    if (!lists_all)
      HEADRACE_CHECK(
          list_copies(root, content->sha256, call, [&](const ContentCopy& copy) { found.add(copy); }));
    if (found.is_kept()) return {};
    return write_copy(content_copy(root, content->sha256, found.next()), *content, call);
  });
}

Result<std::pair<Location, ObjectInfo>> find_content(const Location& root, std::string_view sha256,
                                                     const CallOptions& call) {
  const Location first = content_copy(root, sha256, 1);
  auto object = first.store->stat(first.key, call);
  if (object) return std::pair(first, *std::move(object));
  if (object.error().code != Code::kNotFound) return std::move(object).error();
  Copies copies;
  HEADRACE_CHECK(list_copies(root, sha256, call, [&](const ContentCopy& copy) { copies.add(copy); }));
  for (const std::uint64_t number : copies.there) {
    const Location copy = content_copy(root, sha256, number);
    object = copy.store->stat(copy.key, call);
    if (object) return std::pair(copy, *std::move(object));
    if (object.error().code != Code::kNotFound) return std::move(object).error();
  }
  return Error{Code::kNotFound,
               concat("the content ", sha256, " is missing below ", root.at(kContentPrefix).describe(),
                      ": log the artifact again with the same files")};
}

}  // namespace headrace
