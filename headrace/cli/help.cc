#include "headrace/cli/help.h"

#include <algorithm>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/parse.h"

namespace headrace {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::size_t kLeftColumn = 30;

// Wraps the text beside a left column; its first line follows `left`.
std::string two_columns(std::string left, std::string_view text) {
  std::string out = std::move(left);
  if (out.size() + 2 > kLeftColumn) out += "\n";
  std::size_t column = out.ends_with('\n') ? 0 : out.size();
  for (const std::string& word : split(text, ' ')) {
    if (column > kLeftColumn && column + 1 + word.size() > kWidth) {
      out += "\n";
      column = 0;
    }
    const std::size_t gap = column < kLeftColumn ? kLeftColumn - column : 1;
    out.append(gap, ' ').append(word);
    column += gap + word.size();
  }
  return out + "\n";
}

// Wraps paragraphs to the width. Lines that begin with a blank are examples, and stay as they are.
std::string fit_details(std::string_view details) {
  std::string out;
  std::size_t column = 0;  // of the open paragraph's last line; 0 if none is open
  for (const std::string& line : split(details, '\n')) {
    const bool verbatim = line.empty() || line.front() == ' ';
    if (verbatim) out += concat(column > 0 ? "\n" : "", line, "\n");
    if (verbatim) column = 0;
    for (const std::string& word : verbatim ? std::vector<std::string>() : split(line, ' ')) {
      const bool fits = column > 0 && column + 1 + word.size() <= kWidth;
      if (column > 0) out += fits ? ' ' : '\n';
      column = (fits ? column + 1 : 0) + word.size();
      out += word;
    }
  }
  return column > 0 ? out + "\n" : out;
}

std::string value_name(const Option& option) {
  if (!option.choices.empty()) return std::string(option.choices);
  if (!option.unit.empty()) return std::string(option.unit);
  switch (option.type) {
    case OptionType::kInteger:
    case OptionType::kNumber:
      return "NUMBER";
    case OptionType::kSize:
      return "SIZE";
    default:
      return "TEXT";
  }
}

std::string option_help(const Option& option) {
  std::string left = option.letter != 0 ? concat("  -", option.letter, ", --", option.name)
                                        : concat("      --", option.name);
  if (option.type != OptionType::kFlag) left += concat(" ", value_name(option));
  std::vector<std::string> facts;
  if (!option.default_value.empty()) facts.push_back(concat("default ", option.default_value));
  if (const std::string range = allowed_range(option); !range.empty()) facts.push_back(range);
  if (option.type == OptionType::kTextList) facts.emplace_back("may be repeated");
  return two_columns(left, facts.empty() ? std::string(option.sentence)
                                         : concat(option.sentence, " (", join(facts, "; "), ")"));
}

std::string usage(const Command& command) {
  std::string line = concat("headrace ", command.name);
  for (const Positional& positional : command.positionals) {
    const std::string name = concat(positional.name, positional.repeated ? "…" : "");
    line += positional.required ? concat(" ", name) : concat(" [", name, "]");
  }
  return line + " [OPTIONS]";
}

}  // namespace

std::string command_help(const Command& command) {
  std::string out = concat(usage(command), "\n\n", command.summary, ".\n");
  if (!command.details.empty()) out += concat("\n", fit_details(command.details));
  if (!command.positionals.empty()) out += "\nArguments:\n";
  for (const Positional& positional : command.positionals) {
    out += two_columns(concat("  ", positional.name), positional.sentence);
  }
  out += "\nOptions:\n";
  for (const auto table : {command.options, common_options()}) {
    for (const Option& option : table) out += option_help(option);
  }
  return out;
}

std::string overview(std::span<const Command* const> commands, std::string_view group) {
  std::string out = group.empty() ? "headrace COMMAND [ARGUMENTS] [OPTIONS]\n\n"
                                    "From raw data in an object store to a trained, evaluated model, with a "
                                    "record of how.\n"
                                  : concat("headrace ", group, " COMMAND [ARGUMENTS] [OPTIONS]\n");
  if (group.empty()) {
    out += "\nURLs:\n";
    for (const StoreDriver* driver : StoreRegistry::drivers())
      out += two_columns(concat("  ", driver->example), driver->summary);
  }
  out += "\nCommands:\n";
  for (const Command* command : commands) {
    if (!group.empty() && !command->name.starts_with(concat(group, " "))) continue;
    out += two_columns(concat("  ", command->name), command->summary);
  }
  return out +
         "\nheadrace help COMMAND shows what a command does, with examples.\n"
         "headrace stores shows which environment variables give servers and credentials; HEADRACE_PYTHON "
         "names\nthe Python with TensorFlow.\n";
}

}  // namespace headrace
