#include "headrace/prepare/plan/base_dataset.h"

#include <algorithm>
#include <functional>
#include <map>

#include "headrace/base/text.h"
#include "headrace/prepare/schema/label_value.h"
#include "headrace/prepare/table/json_lines_source.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

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

// Passes every line of the parts with a role to `take`, in the order of the manifest.
Status read_lines(const Location& output, const Manifest& manifest, std::string_view role,
                  const std::function<void(const SourceRow&)>& take) {
  std::vector<SourceFile> files;
  for (const ManifestPart& part : manifest.parts) {
    if (part.role != role) continue;
    const Location place = output.at(part.key);
    HEADRACE_TRY(const ObjectInfo object, place.store->stat(place.key, {}));
    if (object.size_bytes != part.size_bytes) {
      return Error{Code::kDataLoss, concat(place.describe(), " has ", object.size_bytes, " bytes, but the ",
                                           "manifest says ", part.size_bytes)};
    }
    files.push_back({place, object.size_bytes, object.version, part.key});
  }
  const std::unique_ptr<RowSource> lines = open_json_lines(std::move(files), kCellLimitBytes);
  while (true) {
    HEADRACE_TRY(const std::optional<SourceRow> row, lines->next());
    if (!row) return {};
    if (row->verdict != RowVerdict::kRow) {
      return Error{Code::kDataLoss, concat("the ", role, " of ", output.describe(), " is damaged at ",
                                           row->id, ": ", row->detail)};
    }
    take(*row);
  }
}

using NewPasts = std::vector<std::shared_ptr<SlicePast>>;

// Returns the slice whose range holds a key of the folder; none if no range does.
std::optional<std::size_t> slice_of_key(const Input& input, std::string_view key) {
  const auto found =
      std::lower_bound(input.slices.begin(), input.slices.end(), key,
                       [](const Slice& slice, std::string_view of) { return slice.last < of; });
  if (found == input.slices.end() || key <= found->after) return std::nullopt;
  return static_cast<std::size_t>(found - input.slices.begin());
}

Status read_known_objects(const Input& input, const Manifest& manifest, const Location& output,
                          const NewPasts& pasts) {
  const std::string folder = concat(input.url, '/');
  HEADRACE_CHECK(read_lines(output, manifest, kInputsRole, [&](const SourceRow& row) {
    const std::string_view url = text_of(row, "url");
    if (!url.starts_with(folder)) return;
    const auto slice = slice_of_key(input, url.substr(folder.size()));
    if (slice) pasts[*slice]->inputs.add(url, text_of(row, "version"));
  }));
  for (const std::shared_ptr<SlicePast>& past : pasts) past->inputs.settle();
  return {};
}

// `elsewhere` gets the rejected rows of files that are not in the input.
Status read_rejected(const Input& input, const Manifest& manifest, const Location& output,
                     const NewPasts& pasts, RejectedRows& elsewhere) {
  std::map<std::string_view, std::size_t> slices_of_files;
  for (std::size_t i = 0; i < input.slices.size(); ++i) {
    for (const InputFile& file : input.slices[i].files) slices_of_files[file.url] = i;
    if (!input.slices[i].name.empty()) slices_of_files[input.slices[i].name] = i;
  }
  return read_lines(output, manifest, "report", [&](const SourceRow& line) {
    const RejectedRow row{text_of(line, "source"), number_of(line, "row"), text_of(line, "id")};
    const auto take = [&](RejectedRows& rows) {
      rows.take(row, text_of(line, "status"), text_of(line, "reason"));
    };
    if (!row.source.empty()) {
      const auto of_file = slices_of_files.find(row.source);
      return take(of_file == slices_of_files.end() ? elsewhere : pasts[of_file->second]->rejected);
    }
    if (row.id.find(kReplacementCharacter) != std::string_view::npos) {
      // Reports replace invalid UTF-8 in keys, so the object may be in any slice.
      for (const std::shared_ptr<SlicePast>& past : pasts) take(past->rejected);
    } else if (const auto slice = slice_of_key(input, row.id)) {
      take(pasts[*slice]->rejected);
    }
  });
}

Result<KnownInputs> known_inputs(const Manifest& manifest, const Location& output) {
  KnownInputs known;
  HEADRACE_CHECK(read_lines(output, manifest, kInputsRole, [&](const SourceRow& row) {
    known.add(text_of(row, "url"), text_of(row, "version"));
  }));
  known.settle();
  return known;
}

// Returns the part of a slice that is still to be read: a slice of files without the files that need no
// reading; a named slice either whole or empty.
Result<Slice> unread_part(Slice& slice, const KnownInputs& known, const SlicePast& past,
                          Continuation continuation) {
  const auto is_wanted = [&](std::string_view url, std::string_view version) -> Result<bool> {
    const KnownInputs::Match match = known.look(url, version);
    const bool is_left = continuation == Continuation::kAppend ? match != KnownInputs::Match::kSame
                                                               : past.rejected.has_source(url);
    if (is_left && match == KnownInputs::Match::kChanged) return changed_since_read(url);
    return is_left;
  };
  if (!slice.name.empty()) {
    HEADRACE_TRY(const bool is_left, is_wanted(slice.name, slice.digest));
    return is_left ? std::move(slice) : Slice{};
  }
  Slice left;
  for (InputFile& file : slice.files) {
    HEADRACE_TRY(const bool is_left, is_wanted(file.url, file.version));
    if (!is_left) continue;
    ++left.objects;
    left.size_bytes += file.size_bytes;
    left.files.push_back(std::move(file));
  }
  return left;
}

// Removes from the input the files and slices that need no reading.
Status leave_files(Input& input, const Manifest& manifest, const Location& output, Continuation continuation,
                   NewPasts& pasts) {
  HEADRACE_TRY(const KnownInputs known, known_inputs(manifest, output));
  std::vector<Slice> slices;
  NewPasts pasts_left;
  input.objects = input.size_bytes = 0;
  for (std::size_t i = 0; i < input.slices.size(); ++i) {
    HEADRACE_TRY(Slice left, unread_part(input.slices[i], known, *pasts[i], continuation));
    if (left.objects == 0) continue;
    input.objects += left.objects;
    input.size_bytes += left.size_bytes;
    slices.push_back(std::move(left));
    pasts_left.push_back(std::move(pasts[i]));
  }
  input.slices = std::move(slices);
  pasts = std::move(pasts_left);
  return {};
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

Result<std::shared_ptr<const BaseDataset>> read_base(const Location& output, Continuation continuation,
                                                     std::optional<std::uint64_t> number) {
  HEADRACE_TRY(std::optional<PublishedFolder> published,
               read_published(output, kDatasetKind, {.number = number}));
  if (!published) {
    return Error{Code::kNotFound, concat("no dataset is published at ", output.describe(),
                                         ": prepare it first, without --", continuation_name(continuation))};
  }
  if (!was_recorded(published->manifest)) {
    return Error{Code::kFailedPrecondition,
                 concat(output.describe(),
                        " was published without a record of its inputs, so new input cannot "
                        "be recognised; prepare it again with --overwrite")};
  }
  const auto base = std::make_shared<BaseDataset>();
  base->number = published->number;
  base->digest = published->digest;
  HEADRACE_TRY(base->attributes, parse_dataset_attributes(published->manifest.attributes_json));
  base->manifest = std::move(published->manifest);
  return std::shared_ptr<const BaseDataset>(base);
}

Status read_inputs(const Location& output, const Manifest& manifest,
                   const std::function<void(const ReadInput&)>& take) {
  return read_lines(output, manifest, kInputsRole, [&](const SourceRow& row) {
    take({text_of(row, "url"), number_of(row, "size_bytes"), text_of(row, "version")});
  });
}

Result<SlicePasts> leave_what_continues(Input& input, const BaseDataset& base, const Location& output,
                                        Continuation continuation) {
  std::vector<std::shared_ptr<SlicePast>> pasts;
  for (std::size_t i = 0; i < input.slices.size(); ++i) pasts.push_back(std::make_shared<SlicePast>());
  RejectedRows elsewhere;
  if (continuation == Continuation::kRetryFailed)
    HEADRACE_CHECK(read_rejected(input, base.manifest, output, pasts, elsewhere));
  const bool is_folder = !input.slices.empty() && input.slices.front().is_range_of_folder();
  if (!is_folder) {
    HEADRACE_CHECK(leave_files(input, base.manifest, output, continuation, pasts));
  } else if (continuation == Continuation::kAppend) {
    HEADRACE_CHECK(read_known_objects(input, base.manifest, output, pasts));
  }
  if (input.slices.empty() && !elsewhere.is_empty()) {
    return Error{Code::kFailedPrecondition,
                 concat("no file of ", input.url, " has rows that were rejected, but other files have: name ",
                        "the input that the rejected rows came from, which the reports show")};
  }
  return SlicePasts(pasts.begin(), pasts.end());
}

Result<KnownInputs::Match> compare_with_base(const Input& input, const InputPlace& place,
                                             const BaseDataset& base, const Location& output) {
  HEADRACE_TRY(const KnownInputs known, known_inputs(base.manifest, output));
  KnownInputs::Match all = KnownInputs::Match::kSame;
  const auto look = [&](std::string_view url, std::string_view version) {
    const KnownInputs::Match match = known.look(url, version);
    if (all != KnownInputs::Match::kChanged && match != KnownInputs::Match::kSame) all = match;
    return all != KnownInputs::Match::kChanged;
  };
  if (!input.slices.empty() && input.slices.front().is_range_of_folder()) {
    const std::string prefix = folder_prefix(place.location->key);
    HEADRACE_CHECK(place.location->store->list(prefix, {}, [&](const ObjectInfo& object) {
      return look(concat(input.url, '/', std::string_view(object.key).substr(prefix.size())),
                  object.version.token);
    }));
  }
  for (const Slice& slice : input.slices) {
    for (const InputFile& file : slice.files) look(file.url, file.version);
    if (!slice.name.empty()) look(slice.name, slice.digest);
  }
  return all;
}

}  // namespace headrace
