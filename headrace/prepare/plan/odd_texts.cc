#include "headrace/prepare/plan/odd_texts.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/prepare/schema/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kNamedTexts = 4;
constexpr std::size_t kQuotedTextBytes = 40;
constexpr std::string_view kDigits = "0123456789";

bool is_whole_number(std::string_view text) {
  return text.find_first_of(kDigits) != text.npos &&
         text.find_first_not_of(concat("+-", kDigits)) == text.npos;
}

// Quotes a text for a shell if necessary.
std::string as_argument(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ',' ||
           c == '.' || c == '-' || c == '/';
  });
  return is_plain ? std::string(text) : concat("'", text, "'");
}

}  // namespace

void OddTexts::add_text(std::string_view text, std::string_view place) {
  text = trim(text);
  if (texts_++ == 0) {
    first_text_ = printable_line(text, kQuotedTextBytes);
    first_place_ = place;
  }
  have_decimal_comma_ = have_decimal_comma_ && parse_float(text, ',');
  has_large_number_ = has_large_number_ || is_whole_number(text);
  const bool is_new = std::ranges::find(different_, text) == different_.end();
  if (is_new && different_.size() <= kNamedTexts) different_.emplace_back(text);
}

// Suggests an option. A text with a comma or a quote cannot be part of the value of --missing.
std::string OddTexts::option() const {
  if (have_decimal_comma_) return "If its comma begins a fraction, say --decimal ,";
  if (std::ranges::find(different_, "") != different_.end())
    return "Cells of white space alone are text: leave them empty where there is no value";
  const bool can_be_named =
      different_.size() <= kNamedTexts && std::ranges::all_of(different_, [](auto& text) {
        return text.size() <= kQuotedTextBytes && text.find_first_of(",'") == text.npos;
      });
  return concat("If such a cell means that there is no value, ",
                can_be_named ? concat("say --missing ", as_argument(join(different_, ",")))
                             : "name its text with --missing, or in the key missing of a --schema");
}

std::optional<std::string> OddTexts::remark(std::string_view column) const {
  const bool are_few = texts_ < numbers_ || have_decimal_comma_;
  if (texts_ == 0 || !are_few || has_large_number_) return std::nullopt;
  return concat("column ", column, " has text, not numbers, because of ", texts_, " of the ",
                texts_ + numbers_, " cells that were looked at: ", first_place_, " is \"", first_text_,
                "\". ", option());
}

}  // namespace headrace
