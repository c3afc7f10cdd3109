#include "headrace/store/transfer/transfer_journal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kLineDigits = 32;
constexpr std::size_t kMostLines = 4'000'000;
constexpr std::chrono::hours kUnused{24 * 90};
// The coarsest clocks of file systems tick every two seconds (FAT).
constexpr std::chrono::seconds kSettled{3};

using Line = std::array<char, kLineDigits>;

std::string digest_of(std::string_view text) { return sha256_hex(as_bytes(text)).substr(0, kLineDigits); }

Line line_of(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to) {
  Line line;
  const std::string digest = digest_of(
      concat(name, '\0', at_from.size_bytes, '\0', at_from.version.token, '\0', at_to.version.token));
  std::copy_n(digest.begin(), kLineDigits, line.begin());
  return line;
}

std::vector<Line> lines_in(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    if (end - at != kLineDigits) continue;
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), kLineDigits, lines.emplace_back().begin());
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  text.reserve(lines.size() * (kLineDigits + 1));
  for (const Line& line : lines) text.append(line.data(), line.size()) += '\n';
  return text;
}

bool is_journal(std::string_view name) {
  return name.size() == kLineDigits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

Status remove_unused(const Location& cache, TransferJournal::Time now) {
  const std::string prefix = folder_prefix(cache.key);
  HEADRACE_TRY(const std::vector<ObjectInfo> files,
               list_all(*cache.store, prefix, {.collapse_folders = true}));
  std::vector<std::string> unused;
  for (const ObjectInfo& file : files) {
    if (is_journal(file.key.substr(prefix.size())) && file.modified && now - *file.modified > kUnused)
      unused.push_back(file.key);
  }
  return cache.store->remove_many(unused, {});
}

}  // namespace

Result<std::unique_ptr<TransferJournal>> TransferJournal::open(const Location& cache, const Location& from,
                                                               const Location& to, Time now) {
  if (cache.url.scheme != "file") {
    return Error{
        Code::kInvalidArgument,
        concat(cache.describe(), " is not a folder of this machine, which a transfer journal needs")};
  }
  Location file =
      cache.at(digest_of(concat("headrace transfers 1", '\0', from.url.text(), '\0', to.url.text())));
  const auto old = read_object(*file.store, file.key, kMostLines * (kLineDigits + 1));
  std::vector<Line> known;
  if (old) known = lines_in(as_text(old->data));
  // The journal starts anew if it cannot be read.
  if (!old) HEADRACE_CHECK(write_text(*file.store, file.key, "", {.is_durable = false}));
  FileDescriptor descriptor(::open(concat("/", file.key).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!descriptor.is_open()) {
    return Error{Code::kUnavailable, concat("opening ", file.describe(), ": ", std::strerror(errno))};
  }
  // Errors are ignored: they only leave files that take room.
  (void)::futimens(descriptor.get(), nullptr);  // sets the time of the last use
  (void)remove_unused(cache, now);
  return std::unique_ptr<TransferJournal>(
      new TransferJournal(std::move(file), std::move(descriptor), std::move(known), from.url, to.url, now));
}

bool TransferJournal::knows(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to) {
  const Line line = line_of(name, at_from, at_to);
  if (!std::binary_search(known_.begin(), known_.end(), line)) return false;
  const std::lock_guard lock(mutex_);
  seen_.push_back(line);
  return true;
}

bool TransferJournal::is_settled(const Url& place, const ObjectInfo& object) const {
  if (place.scheme != "file") return true;
  return object.modified && opened_ - *object.modified >= kSettled;
}

void TransferJournal::add(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to) {
  if (is_settled(to_, at_to)) add_copy(name, at_from, at_to);
}

void TransferJournal::add_copy(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to) {
  if (!is_settled(from_, at_from)) return;
  const Line line = line_of(name, at_from, at_to);
  const std::lock_guard lock(mutex_);
  if (seen_.size() == kMostLines) return;
  seen_.push_back(line);
  if (std::binary_search(known_.begin(), known_.end(), line)) return;
  (void)write_all(descriptor_, as_bytes(concat(std::string_view(line.data(), line.size()), '\n')));
}

Status TransferJournal::forget_unseen() {
  const std::lock_guard lock(mutex_);
  std::sort(seen_.begin(), seen_.end());
  seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
  if (known_.size() <= 2 * seen_.size()) return {};
  HEADRACE_CHECK(write_text(*file_.store, file_.key, text_of(seen_), {.is_durable = false}));
  return {};
}

}  // namespace headrace
