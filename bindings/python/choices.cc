#include "bindings/python/choices.h"

#include <initializer_list>

#include "bindings/python/errors.h"
#include "headrace/base/text.h"

namespace headrace::python {

namespace {

template <typename Choice>
Choice choose(std::string_view what, std::string_view name, std::initializer_list<Choice> choices,
              std::string_view (*name_of)(Choice)) {
  std::vector<std::string> names;
  for (const Choice choice : choices) {
    if (name_of(choice) == name) return choice;
    names.emplace_back(name_of(choice));
  }
  raise({Code::kInvalidArgument, concat(what, " is '", name, "'; it may be ", join(names, ", "))});
}

}  // namespace

CorruptionPolicy policy_of(std::string_view name) {
  return choose("on_corrupt", name,
                {CorruptionPolicy::kFail, CorruptionPolicy::kSkipRecord, CorruptionPolicy::kSkipShard},
                &policy_name);
}

ShuffleMode shuffle_mode_of(std::string_view name) {
  return choose("shuffle", name, {ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact},
                &shuffle_mode_name);
}

DataType data_type_of(std::string_view name) {
  return choose("a column's type", name, {DataType::kFloat32, DataType::kInt64, DataType::kBytes},
                &data_type_name);
}

ResizeMethod resize_method_of(std::string_view name) {
  return choose("method", name, {ResizeMethod::kBilinear, ResizeMethod::kArea}, &resize_method_name);
}

}  // namespace headrace::python
