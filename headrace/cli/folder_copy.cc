#include "headrace/cli/folder_copy.h"

#include <algorithm>
#include <chrono>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/chain_copies.h"
#include "headrace/cli/objects.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

// Null if this user has no cache, or it cannot be written: then objects are read and compared.
std::unique_ptr<TransferJournal> open_journal(CommandContext& context, const Location& from,
                                              const Location& to) {
  const auto cache = cache_folder(context.environment);
  if (!cache) return nullptr;
  const Result<Location> folder = context.stores.open(*cache + "/transfers");
  const auto now = std::chrono::system_clock::now();
  auto journal = folder ? TransferJournal::open(*folder, from, to, now) : folder.error();
  if (journal) return *std::move(journal);
  context.console.warn(concat("copies will not be recorded in the journal: ", journal.error().message));
  return nullptr;
}

// The order of the copy: objects that announce others come after them.
int rank_of(std::string_view name) {
  if (is_manifest_key(name)) return 2;
  return last_segment(name) == "saved_model.pb" ? 1 : 0;
}

bool is_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    const bool is_of_last_part = pattern.find('/') == pattern.npos && pattern.find("**") == pattern.npos;
    return matches_pattern(pattern, is_of_last_part ? last_segment(name) : name);
  });
}

std::string line_of(const Console& console, const TransferredObject& object, const Location& target,
                    bool is_dry_run) {
  std::string line = concat(console.name(target.describe()), "  ", format_size(object.size_bytes));
  if (object.crc32c) line += concat("  crc32c ", hex32(*object.crc32c));
  if (object.step == TransferStep::kRemoved) return concat(is_dry_run ? "would remove  " : "removed  ", line);
  return is_dry_run ? concat("would copy  ", line) : line;
}

void show_totals(Console& console, const Location& from, const Location& to, const TransferTotals& totals,
                 bool is_dry_run) {
  if (console.json()) {
    console.result(Json({{"from", from.url.text()},
                         {"to", to.url.text()},
                         {"dry_run", is_dry_run},
                         {"objects", totals.copied.objects},
                         {"size_bytes", totals.copied.bytes},
                         {"same_objects", totals.same.objects},
                         {"same_bytes", totals.same.bytes},
                         {"removed_objects", totals.removed.objects},
                         {"removed_bytes", totals.removed.bytes}})
                       .dump());
    return;
  }
  const auto count = [](const TransferCount& some) {
    return concat(some.objects, " objects, ", format_size(some.bytes));
  };
  std::string line = concat(is_dry_run ? "would copy " : "copied ", count(totals.copied));
  if (totals.same.objects > 0) line += concat("; the same already: ", count(totals.same));
  if (totals.removed.objects > 0)
    line += concat(is_dry_run ? "; would remove " : "; removed ", count(totals.removed));
  console.note(line);
}

}  // namespace

std::function<bool(std::string_view name)> selection_of(const OptionValues& options) {
  const auto &included = options.list("include"), &excluded = options.list("exclude");
  if (included.empty() && excluded.empty()) return {};
  return [included, excluded](std::string_view name) {
    return (included.empty() || is_any(included, name)) && !is_any(excluded, name);
  };
}

Status copy_folder(CommandContext& context, const Location& from, const Location& to,
                   FolderTransferOptions options) {
  HEADRACE_TRY(const auto blocking, find_object(to, context.call()));
  if (blocking)
    return Error{Code::kFailedPrecondition, concat(to.describe(), " is an object; a folder cannot go there")};
  const std::unique_ptr<TransferJournal> journal = open_journal(context, from, to);
  options.rank = rank_of;
  options.journal = journal.get();
  ChainCopies chains(from, to, options, this_process("sync", "", context.environment.now()));
  options.publications = &chains;
  options.call = context.call();
  options.report = [&](const TransferredObject& object) {
    if (!context.console.json() && object.step != TransferStep::kSame)
      context.console.result(line_of(context.console, object, to.at(object.name), options.is_dry_run));
  };
  options.progress = [&](const TransferProgress& progress) {
    const auto& [done, total] = progress;
    const std::string objects = total.objects > 0 ? concat(done.objects, " of ", total.objects, " objects")
                                                  : concat(done.objects, " objects");
    context.console.progress("copying", done.bytes, total.bytes, "bytes", objects);
  };
  context.console.progress("copying", 0, 0, "bytes");
  HEADRACE_TRY(const TransferTotals totals, transfer_folder(from, to, options));
  show_totals(context.console, from, to, totals, options.is_dry_run);
  return {};
}

}  // namespace headrace
