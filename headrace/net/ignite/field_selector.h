#pragma once

/// \file Selects fields of objects by name, and finds their positions in objects of each schema.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// The path of a field in the object at `above`: "val.metadata", or "val.#97" for a field that has only an
/// id.
std::string field_path(std::string_view above, std::string_view name, std::int32_t id);

/// Paths of fields, from the name of a root down. "val.metadata.label" is the field "label" of the object in
/// the field "metadata" of "val". Immutable.
class FieldPaths {
 public:
  /// No paths: all fields are selected.
  explicit FieldPaths(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// Whether `name` is a path or lies below a path.
  bool select(std::string_view name) const;
  /// Whether a path lies at, above or below `name`. If not, the value at `name` can be skipped.
  bool lead_to(std::string_view name) const;

 private:
  std::vector<std::string> paths_;
};

struct FieldPlan;

/// A name that paths lead to.
struct FieldLevel {
  std::string name;
  bool is_selected = false;                              // false: only fields below it are selected
  std::unordered_map<std::uint64_t, FieldPlan> plans{};  // by type and schema id; empty if is_selected
};

/// The positions, in objects of one schema, of the fields that paths lead to.
struct FieldPlan {
  struct Step {
    std::size_t index = 0;  // in the footer
    FieldLevel* level = nullptr;
  };
  std::size_t field_count = 0;  // number of fields in the schema
  std::vector<Step> steps{};
};

/// Finds the selected fields of each schema once. Not thread-safe. Memory: a plan for each schema and each
/// name that paths lead through.
class FieldSelector {
 public:
  /// Borrows `types`.
  FieldSelector(FieldPaths paths, BinaryTypes& types) : paths_(std::move(paths)), types_(types) {}

  BinaryTypes& types() const { return types_; }
  /// The level of a name, which lives as long as the selector. Null if no path leads to the name.
  FieldLevel* level(std::string_view name);
  /// The plan for objects at a level whose is_selected is false. Null if the schema cannot be found.
  const FieldPlan* plan(FieldLevel& level, std::int32_t type_id, std::int32_t schema_id);

 private:
  FieldPaths paths_;
  BinaryTypes& types_;
  std::map<std::string, FieldLevel, std::less<>> levels_{};
};

/// The values at the selected paths.
struct SelectedFields {
  struct Field {
    std::string_view name;  // name of its level
    Value value;
  };
  std::vector<Field> fields{};
  std::size_t passed_by = 0;  // objects that were entered, plus their fields to which no path leads
};

}  // namespace headrace::ignite
