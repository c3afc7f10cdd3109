#include "headrace/prepare/extract.h"

#include <algorithm>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/prepare/layout.h"

namespace headrace {
namespace {

constexpr std::size_t kReportLines = 100'000;
constexpr HashKey kContentKey{0x636f6e74656e7420, 0x6475706c69636174};

int position_of(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

class Extraction {
 public:
  Extraction(std::string_view source_name, const ExtractOptions& options, RecordSpool& spool)
      : source_name_(source_name), options_(options), spool_(spool) {}

  Status take(TextSource& source, const SourceEntry& entry) {
    if (entry.kind == EntryKind::kFolder) return {};
    ++out_.counts.in;
    const ClassifiedPath path = classify_aclimdb_path(entry.path);
    if (path.verdict == PathVerdict::kIgnored) return ignore(path.reason);
    if (path.verdict == PathVerdict::kRejected) return reject(entry.path, path.reason);
    if (entry.kind != EntryKind::kFile) return reject(entry.path, "a link or device, not a file");
    HEADRACE_TRY(const bool fits, source.read_text(text_, options_.max_text_bytes));
    if (!fits)
      return reject(entry.path, concat("text larger than --max-text ", format_size(options_.max_text_bytes)));
    return write(entry.path, position_of(layout_splits(), path.split),
                 position_of(layout_labels(), path.label));
  }

  Result<Extracted> finish() {
    for (std::size_t split_index = 0; split_index < layout_splits().size(); ++split_index) {
      HEADRACE_CHECK(check_split(static_cast<int>(split_index)));
    }
    HEADRACE_CHECK(spool_.finish());
    return std::move(out_);
  }

 private:
  Status ignore(const std::string& reason) {
    ++out_.counts.ignored;
    ++out_.counts.reasons[reason];
    return {};
  }

  Status reject(const std::string& id, std::string reason) {
    ++out_.counts.rejected;
    ++out_.counts.reasons[reason];
    if (out_.counts.rejected > options_.max_rejects) {
      return Error{Code::kInvalidArgument,
                   concat(replace_invalid_utf8(id).text, " in ", source_name_, " (record ", out_.counts.in,
                          ") is rejected: ", reason, ". That is more than the ", options_.max_rejects,
                          " allowed; correct the input, or allow some with --max-rejects")};
    }
    report(id, "rejected", std::move(reason));
    return {};
  }

  Status write(const std::string& id, int split_index, int label) {
    Utf8Text text = replace_invalid_utf8(text_);
    const std::uint64_t content = siphash(kContentKey, as_bytes(text.text));
    const bool seen = seen_texts_.contains(content);
    if (seen && options_.drop_duplicates) {
      ++out_.counts.dropped;
      ++out_.counts.reasons["duplicate text"];
      report(id, "dropped", "duplicate text");
      return {};
    }
    if (const Status added = spool_.add(split_index, label, id, text.text); !added) {
      if (added.error().code != Code::kAlreadyExists) return added;
      return reject(id, "the id occurs twice");
    }
    seen_texts_.insert(
        content);  // only of what is written: that of a rejected record is not a duplicate's first
    if (seen) {
      ++out_.counts.reasons["duplicate text, kept"];
      report(id, "duplicate", "duplicate text, kept");
    }
    if (text.replaced > 0) {
      ++out_.counts.reasons["invalid UTF-8, replaced"];
      report(id, "repaired", concat("invalid UTF-8 in ", text.replaced, " places, replaced"));
    }
    ++out_.counts.written;
    out_.counts.text_bytes += text.text.size();
    ++out_.counts.written_by_label[{split_index, label}];
    return {};
  }

  void report(const std::string& id, std::string_view status, std::string reason) {
    if (out_.report.size() < kReportLines)
      out_.report.push_back({replace_invalid_utf8(id).text, std::string(status), std::move(reason)});
  }

  Status check_split(int split_index) const {
    const std::string& name = layout_splits()[static_cast<std::size_t>(split_index)];
    std::vector<std::string> present;
    for (std::size_t label = 0; label < layout_labels().size(); ++label) {
      if (out_.counts.written_by_label.contains({split_index, static_cast<int>(label)}))
        present.push_back(layout_labels()[label]);
    }
    if (present.empty()) {
      return Error{Code::kInvalidArgument,
                   concat("the ", name, " split of ", source_name_, " is empty: no file ", name, "/<",
                          join(layout_labels(), "|"), ">/*.txt among ", out_.counts.in,
                          " entries; is it the aclImdb layout?")};
    }
    if (present.size() < layout_labels().size()) {
      return Error{
          Code::kInvalidArgument,
          concat("the ", name, " split of ", source_name_, " holds only one class, ", present.front(),
                 "; a classifier needs files of each of ", join(layout_labels(), ", "))};
    }
    return {};
  }

  const std::string source_name_;
  const ExtractOptions& options_;
  RecordSpool& spool_;
  Extracted out_;
  HashSet seen_texts_;
  std::string text_;
};

}  // namespace

Result<Extracted> extract(TextSource& source, std::string_view source_name, const ExtractOptions& options,
                          RecordSpool& spool,
                          const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                          const std::stop_token& stop) {
  Extraction extraction(source_name, options, spool);
  while (true) {
    if (stop.stop_requested())
      return Error{Code::kCancelled, concat("reading ", source_name, " was stopped")};
    HEADRACE_TRY(const std::optional<SourceEntry> entry, source.next());
    if (!entry) return extraction.finish();
    HEADRACE_CHECK(extraction.take(source, *entry));
    progress(source.consumed_bytes(), source.total_bytes());
  }
}

}  // namespace headrace
