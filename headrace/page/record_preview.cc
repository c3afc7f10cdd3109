#include "headrace/page/record_preview.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/page/thumbnail.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

constexpr std::size_t kValueBytes = 60;  // shown of the name of a value
constexpr std::size_t kShownTexts = 8;   // texts shown of a list

using Names = std::vector<std::string>;

// Whether bytes are a text, which may have a few invalid bytes.
bool is_nearly_text(std::string_view bytes) {
  constexpr std::size_t kLooked = 400, kBytesForEachBad = 10;
  const std::string_view looked = bytes.substr(0, kLooked);
  if (looked.find('\0') != looked.npos) return false;
  return replace_invalid_utf8(looked).replaced * kBytesForEachBad <= looked.size();
}

std::string first_texts(const std::vector<BytesView>& values, std::size_t most_bytes) {
  if (values.size() == 1) return beginning_of(as_text(values.front()), most_bytes);
  const std::size_t shown = std::min(values.size(), kShownTexts);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < shown; ++i)
    out.push_back(beginning_of(as_text(values[i]), most_bytes / kShownTexts));
  if (values.size() > shown) out.push_back(concat("… (", values.size(), " values)"));
  return join(out, ", ");
}

std::string shown_number(float number) { return shortened(static_cast<double>(number)); }
std::string shown_number(std::int64_t number) { return concat(number); }

// If the vocabulary has as many values as the record, it names the places of values that are not 0. Otherwise
// it names ids.
template <typename Number>
std::string shown_numbers(const std::vector<Number>& values, const Names* names) {
  std::vector<std::string> out;
  if (names != nullptr && names->size() == values.size() && values.size() > 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) out.push_back(beginning_of((*names)[i], kValueBytes));
    }
    return out.empty() ? "none" : join(out, ", ");
  }
  for (const Number value : values) {
    const bool is_named = names != nullptr && value >= 0 && value < static_cast<Number>(names->size());
    out.push_back(is_named ? beginning_of((*names)[static_cast<std::size_t>(value)], kValueBytes)
                           : shown_number(value));
  }
  return join(out, ", ");
}

class Previewer {
 public:
  explicit Previewer(const PreviewLimits& limits) : limits_(limits) {}

  void add(const std::string&, std::monostate, const Names*) {}
  void add(const std::string& feature, const std::vector<BytesView>& values, const Names*) {
    if (values.empty()) return;
    if (std::ranges::all_of(values, [](BytesView value) { return is_valid_utf8(as_text(value)); }))
      return add_text(feature, values);
    if (preview.thumbnails.size() < limits_.pictures) {
      if (auto jpeg = make_thumbnail(values.front())) {
        preview.thumbnails.emplace_back(feature, std::move(*jpeg));
        return;
      }
    }
    if (std::ranges::all_of(values, [](BytesView value) { return is_nearly_text(as_text(value)); }))
      add_text(feature, values);
  }
  template <typename Number>
  void add(const std::string& feature, const std::vector<Number>& values, const Names* names) {
    const bool are_named = names != nullptr && names->size() == values.size();
    if (preview.numbers.size() == limits_.numbers || values.empty()) return;
    if (values.size() <= kPreviewNumbers || are_named)
      preview.numbers.emplace_back(feature, beginning_of(shown_numbers(values, names), kNumbersBytes));
  }

  RecordPreview preview{};

 private:
  static constexpr std::size_t kNumbersBytes = 400;

  void add_text(const std::string& feature, const std::vector<BytesView>& values) {
    if (preview.texts.size() < limits_.texts)
      preview.texts.emplace_back(feature, first_texts(values, limits_.text_bytes));
  }

  const PreviewLimits limits_;
};

}  // namespace

Result<RecordPreview> preview_record(BytesView record,
                                     const std::map<std::string, std::vector<std::string>>& vocabularies,
                                     const PreviewLimits& limits) {
  HEADRACE_TRY(const std::vector<Feature> example, parse_example(record));
  Previewer previewer(limits);
  for (const Feature& feature : example) {
    const auto found = vocabularies.find(feature.name);
    const Names* const names = found == vocabularies.end() ? nullptr : &found->second;
    std::visit([&](const auto& values) { previewer.add(feature.name, values, names); }, feature.values);
  }
  return std::move(previewer.preview);
}

}  // namespace headrace
