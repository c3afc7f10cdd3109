#include "headrace/prepare/base_dataset.h"

#include <algorithm>
#include <functional>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/prepare/label_value.h"
#include "headrace/prepare/rejects.h"
#include "headrace/prepare/source/json_lines_source.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr HashKey kRowKey{0x736f757263652c69, 0x646f66726f777320};
constexpr std::string_view kKind = "dataset";

std::uint64_t row_key(const RejectedRow& row) {
  if (row.source.empty()) return siphash(kRowKey, as_bytes(row.id));
  return siphash(kRowKey, as_bytes(concat(row.source, std::string_view("\0", 1), row.row)));
}

std::string_view text_of(const SourceRow& row, std::string_view column) {
  for (const NamedCell& cell : row.cells) {
    if (cell.name == column && cell.cell.kind == CellKind::kBytes) return as_text(cell.cell.data);
  }
  return {};
}

std::uint64_t number_of(const SourceRow& row, std::string_view column) {
  for (const NamedCell& cell : row.cells) {
    if (cell.name == column) return static_cast<std::uint64_t>(whole_number(cell.cell).value_or(0));
  }
  return 0;
}

// Every line of the parts of a role, in the order of the manifest.
Status read_lines(const PublishedFolder& published, std::string_view role,
                  const std::function<void(const SourceRow&)>& take) {
  std::vector<SourceFile> files;
  for (const ManifestPart& part : published.manifest.parts) {
    if (part.role != role) continue;
    const Location place = published.folder.at(part.key);
    HEADRACE_TRY(const ObjectInfo object, place.store->stat(place.key, {}));
    if (object.size_bytes != part.size_bytes) {
      return Error{Code::kDataLoss, concat(place.describe(), " has ", object.size_bytes, " bytes, not the ",
                                           part.size_bytes, " that the manifest says")};
    }
    files.push_back({place, object.size_bytes, object.version, part.key});
  }
  const std::unique_ptr<RowSource> lines = open_json_lines(std::move(files), kCellLimitBytes);
  while (true) {
    HEADRACE_TRY(const std::optional<SourceRow> row, lines->next());
    if (!row) return {};
    if (row->verdict != RowVerdict::kRow) {
      return Error{Code::kDataLoss, concat("the ", role, " of ", published.folder.describe(),
                                           " is damaged at ", row->id, ": ", row->detail)};
    }
    take(*row);
  }
}

bool was_recorded(const Manifest& manifest) {
  return std::any_of(manifest.parts.begin(), manifest.parts.end(),
                     [](const ManifestPart& part) { return part.role == kInputsRole; });
}

}  // namespace

std::string_view continuation_name(Continuation continuation) {
  if (continuation == Continuation::kNone) return "";
  return continuation == Continuation::kAppend ? "append" : "retry-failed";
}

void RejectedRows::take(const RejectedRow& row, std::string_view status, std::string_view reason) {
  if (status != "rejected" || reason == kRepeatedId || reason == kIdOfOtherSplit) {
    reasons_of_rows_.erase(row_key(row));
    return;
  }
  reasons_of_rows_[row_key(row)] = &*reasons_.emplace(reason).first;
  sources_.emplace(row.source);
}

const std::string* RejectedRows::find(const RejectedRow& row) const {
  const auto found = reasons_of_rows_.find(row_key(row));
  return found == reasons_of_rows_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<const BaseDataset>> read_base(const Location& output, Continuation continuation,
                                                     std::optional<std::uint64_t> number) {
  HEADRACE_TRY(std::optional<PublishedFolder> published, read_published(output, kKind, {.number = number}));
  if (!published) {
    return Error{Code::kNotFound, concat("no data set is published at ", output.describe(),
                                         ": prepare it first, without --", continuation_name(continuation))};
  }
  if (!was_recorded(published->manifest)) {
    return Error{Code::kFailedPrecondition,
                 concat(output.describe(), " was published without a record of what was read, so nobody can ",
                        "tell what is new; prepare it anew with --overwrite")};
  }
  const auto base = std::make_shared<BaseDataset>();
  base->number = published->number;
  base->digest = published->digest;
  HEADRACE_TRY(base->attributes, parse_dataset_attributes(published->manifest.attributes_json));
  HEADRACE_CHECK(read_lines(*published, kInputsRole, [&](const SourceRow& row) {
    base->inputs.add(text_of(row, "url"), text_of(row, "version"));
  }));
  base->inputs.settle();
  if (continuation == Continuation::kRetryFailed) {
    HEADRACE_CHECK(read_lines(*published, "report", [&](const SourceRow& row) {
      base->rejected.take({text_of(row, "source"), number_of(row, "row"), text_of(row, "id")},
                          text_of(row, "status"), text_of(row, "reason"));
    }));
  }
  base->manifest = std::move(published->manifest);
  return std::shared_ptr<const BaseDataset>(base);
}

Status leave_what_continues(Input& input, const BaseDataset& base, Continuation continuation) {
  for (Slice& slice : input.slices) {
    if (slice.is_range_of_folder()) return {};
    std::vector<InputFile> left;
    slice.objects = slice.size_bytes = 0;
    for (InputFile& file : slice.files) {
      const KnownInputs::Match match = base.inputs.look(file.url, file.version);
      const bool is_retried =
          continuation == Continuation::kRetryFailed && base.rejected.has_source(file.url);
      if (continuation == Continuation::kAppend ? match == KnownInputs::Match::kSame : !is_retried) continue;
      if (match == KnownInputs::Match::kChanged) return changed_since_read(file.url);
      ++slice.objects;
      slice.size_bytes += file.size_bytes;
      left.push_back(std::move(file));
    }
    slice.files = std::move(left);
  }
  std::erase_if(input.slices, [](const Slice& slice) { return slice.files.empty(); });
  if (continuation == Continuation::kRetryFailed && input.slices.empty() && !base.rejected.is_empty()) {
    return Error{Code::kFailedPrecondition,
                 concat("no file of ", input.url, " has rows that were rejected, but others have: name the ",
                        "input that they came from, as the reports do")};
  }
  input.objects = input.size_bytes = 0;
  for (const Slice& slice : input.slices) {
    input.objects += slice.objects;
    input.size_bytes += slice.size_bytes;
  }
  return {};
}

}  // namespace headrace
