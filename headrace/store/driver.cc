#include "headrace/store/driver.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kTextWidth = 96;

// Wraps each paragraph of `text` into lines that begin with `indent`.
std::string in_lines(std::string_view text, std::string_view indent) {
  std::string out;
  for (const std::string& paragraph : split(text, '\n')) {
    std::string line(indent);
    for (const std::string& word : split(paragraph, ' ')) {
      if (line.size() > indent.size() && line.size() + 1 + word.size() > kTextWidth) {
        out += line + "\n";
        line = indent;
      }
      line += concat(line.size() > indent.size() ? " " : "", word);
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace

Result<Environment> with_options(const StoreDriver& driver,
                                 std::span<const std::pair<std::string, std::string>> given,
                                 Environment environment) {
  OptionValues values(driver.options);
  for (const auto& [name, text] : given) HEADRACE_CHECK(values.set(name, text));
  if (driver.check_options != nullptr) HEADRACE_CHECK(driver.check_options(values, environment));
  for (const Option& option : driver.options) {
    if (values.given(option.name))
      environment.variables.insert_or_assign(std::string(option.variable), values.shown(option.name));
  }
  return environment;
}

std::string describe_driver(const StoreDriver& driver) {
  std::string out = concat(driver.example, "\n", in_lines(concat(driver.summary, "."), "  "));
  if (!driver.details.empty()) out += "\n" + in_lines(driver.details, "  ");
  if (!driver.options.empty())
    out += "\n  Options (storage_options in Python), and the environment variable of each:\n";
  for (const Option& option : driver.options) {
    std::string name(option.name);
    std::ranges::replace(name, '-', '_');
    const std::string range = allowed_range(option);
    out += concat("    ", name, "  ", option.variable, "\n",
                  in_lines(concat(option.sentence, option.default_value.empty() ? "" : " Default: ",
                                  option.default_value, option.default_value.empty() ? "" : ".",
                                  range.empty() ? "" : concat(" Range: ", range, ".")),
                           "      "));
  }
  if (!driver.variables.empty()) out += "\n  Other environment variables:\n";
  for (const DriverVariable& variable : driver.variables)
    out += concat("    ", variable.names, "\n", in_lines(variable.sentence, "      "));
  return out;
}

}  // namespace headrace
