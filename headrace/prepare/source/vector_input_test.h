#pragma once

/// \file For tests: a kind of input from outside the list, whose rows lie in vectors.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {

/// A row: an id and a text.
using VectorRow = std::pair<std::string, std::string>;

class VectorRows final : public RowSource {
 public:
  explicit VectorRows(const std::vector<VectorRow>& rows) : rows_(rows) {}

  Result<std::optional<SourceRow>> next() override {
    if (next_ == rows_.size()) return std::optional<SourceRow>();
    const VectorRow& row = rows_[next_++];
    cells_ = {{"text", {.kind = CellKind::kBytes, .data = as_bytes(row.second)}}};
    return std::optional(SourceRow{.place = {.file = 0, .row = next_}, .id = row.first, .cells = cells_});
  }
  std::uint64_t consumed_bytes() const override { return next_; }

 private:
  const std::vector<VectorRow>& rows_;
  std::size_t next_ = 0;
  std::vector<NamedCell> cells_;
};

/// "vector://NAME": rows that the program has, in slices. A slice's place is the number of its first.
class VectorInputs final : public InputKind {
 public:
  explicit VectorInputs(std::map<std::string, std::vector<std::vector<VectorRow>>> tables)
      : tables_(std::move(tables)) {}

  std::string_view name() const override { return "vector"; }

  Result<Input> find(const InputPlace& place, const InputRequest& request) const override {
    const auto table = tables_.find(place.url.authority);
    if (table == tables_.end())
      return Error{Code::kNotFound, concat("there is no vector ", place.describe())};
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < table->second.size(); ++i) {
      slices.push_back({.size_bytes = table->second[i].size(),
                        .digest = concat("v", table->second[i].size()),
                        .name = concat(place.url.text(), "#", i),
                        .place = std::string("\x00", 1) + concat(i)});
    }
    return input_of_slices(place, std::move(slices), request);
  }

  Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice, StoreRegistry&,
                                          const SliceReading&) const override {
    const auto table = tables_.find(input.url.substr(std::string_view("vector://").size()));
    const auto number = slice.place.empty() ? std::nullopt : parse_number<std::size_t>(slice.place.substr(1));
    if (table == tables_.end() || !number || *number >= table->second.size())
      return Error{Code::kDataLoss, concat(slice.name, " has no place in ", input.url)};
    return std::unique_ptr<RowSource>(std::make_unique<VectorRows>(table->second[*number]));
  }

 private:
  const std::map<std::string, std::vector<std::vector<VectorRow>>> tables_;
};

}  // namespace headrace
