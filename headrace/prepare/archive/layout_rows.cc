#include "headrace/prepare/archive/layout_rows.h"

#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Cell text_cell(std::string_view text) { return {.kind = CellKind::kBytes, .data = as_bytes(text)}; }

}  // namespace

LayoutRows::LayoutRows(Layout layout, std::uint64_t cell_limit_bytes)
    : layout_(layout), cell_limit_bytes_(cell_limit_bytes) {
  cells_[kContent].name = holds_images(layout) ? "image" : "text";
  cells_[kLabel].name = "label";
  cells_[kSplit].name = "split";
  cells_[kId].name = "id";
}

SourceRow LayoutRows::classify(std::string path, std::string_view archive, RowPlace place) {
  path_ = classify_path(layout_, path);
  place_ = place;
  id_ = archive.empty() ? std::move(path) : concat(archive, ':', path);
  if (path_.verdict == PathVerdict::kExample) return {.place = place_, .id = id_};
  id_ = replace_invalid_utf8(id_).text;
  const bool is_ignored = path_.verdict == PathVerdict::kIgnored;
  return {.verdict = is_ignored ? RowVerdict::kIgnored : RowVerdict::kRejected,
          .place = place_,
          .id = id_,
          .reason = path_.reason};
}

SourceRow LayoutRows::row(const Cell& content) {
  cells_[kContent].cell = content;
  cells_[kLabel].cell = path_.label.empty() ? Cell{} : text_cell(path_.label);
  cells_[kSplit].cell = path_.split.empty() ? Cell{} : text_cell(path_.split);
  cells_[kId].cell = text_cell(id_);
  return {.place = place_, .id = id_, .cells = cells_};
}

SourceRow LayoutRows::reject(std::string reason, std::string detail) const {
  return {.verdict = RowVerdict::kRejected,
          .place = place_,
          .id = id_,
          .reason = std::move(reason),
          .detail = std::move(detail)};
}

SourceRow LayoutRows::reject_as_too_large(std::string detail) const {
  const std::string_view what =
      holds_images(layout_) ? "image larger than --max-cell " : "text larger than --max-cell ";
  return reject(concat(what, format_size(cell_limit_bytes_)), std::move(detail));
}

}  // namespace headrace
