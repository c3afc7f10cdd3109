#include "headrace/cli/parse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr Option kCommonOptions[] = {
    {.name = "json", .type = OptionType::kFlag, .sentence = "Print the result as one JSON document."},
    {.name = "quiet",
     .type = OptionType::kFlag,
     .sentence = "Print no progress and no remarks.",
     .letter = 'q'},
    {.name = "metrics",
     .unit = "URL",
     .sentence = "At the end, write counters of store requests (requests, faults, hedges, bytes) to this "
                 "URL, as Prometheus text."},
    {.name = "help", .type = OptionType::kFlag, .sentence = "Show this text.", .letter = 'h'},
};

Error refuse(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

struct FoundOption {
  const Option& declaration;
  OptionValues& values;
};

// The option of the command, or of all commands, for which `fits` holds.
template <typename Fits>
std::optional<FoundOption> find_option(ParsedCommandLine& line, Fits fits) {
  for (OptionValues* values : {&line.common, &line.options}) {
    const std::span<const Option> table = values->table();
    const auto found = std::find_if(table.begin(), table.end(), fits);
    if (found != table.end()) return FoundOption{*found, *values};
  }
  return std::nullopt;
}

// `word` as it was typed: "--batchsize", "-x", "-json".
Error unknown_option(const Command& command, std::string_view word) {
  std::vector<std::string> names;
  for (const auto table : {command.options, common_options()}) {
    for (const Option& option : table) names.emplace_back(option.name);
  }
  const std::string_view name = word.substr(word.find_first_not_of('-'));
  const auto nearest = nearest_name(name, names);
  return refuse(concat("there is no option ", word,
                       nearest && name.size() > 1 ? concat("; did you mean --", *nearest, "?") : "",
                       "\nheadrace ", command.name, " --help lists all of them"));
}

// The Python package has a few more commands, and passes all others to this program.
bool is_of_python(std::string_view word) { return word == "demo" || word == "tfrecorder"; }

Error unknown_command(std::span<const Command* const> commands, std::string_view word) {
  if (is_of_python(word)) {
    return refuse(concat("\"", word, "\" is a command of Headrace's Python package, not of this program; ",
                         "if the package is installed, run: python -m headrace ", word));
  }
  std::set<std::string> names = {"help"};
  for (const Command* command : commands) {
    names.emplace(command->name);
    names.emplace(split(command->name, ' ').front());
  }
  const auto nearest = nearest_name(word, {names.begin(), names.end()});
  return refuse(concat("there is no command \"", word, "\"",
                       nearest ? concat("; did you mean \"", *nearest, "\"?") : "",
                       "\nheadrace help lists all of them"));
}

const Command* find_command(std::span<const Command* const> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command* command) { return command->name == name; });
  return found == commands.end() ? nullptr : *found;
}

bool is_group(std::span<const Command* const> commands, std::string_view name) {
  return std::any_of(commands.begin(), commands.end(),
                     [&](const Command* command) { return command->name.starts_with(concat(name, " ")); });
}

// Takes the flags of a word such as "-ry": all of them, or none if one is unknown.
Status take_letters(ParsedCommandLine& line, std::string_view word) {
  std::vector<FoundOption> flags;
  for (const char letter : word.substr(1)) {
    const auto flag = find_option(line, [&](const Option& option) { return option.letter == letter; });
    if (!flag || flag->declaration.type != OptionType::kFlag) return unknown_option(*line.command, word);
    flags.push_back(*flag);
  }
  for (const FoundOption& flag : flags) HEADRACE_CHECK(flag.values.set(flag.declaration.name, "true"));
  return {};
}

Status set_value(const FoundOption& option, std::string_view value) {
  const auto& [declaration, values] = option;
  const bool may_be_repeated =
      declaration.type == OptionType::kTextList || declaration.type == OptionType::kFlag;
  if (!may_be_repeated && values.given(declaration.name))
    return refuse(concat("--", declaration.name, " is given more than once, but takes only one value"));
  return values.set(declaration.name, value);
}

// Takes the value of an option at the front of `words`, which were typed after `word`.
Status take_value(const FoundOption& option, std::string_view word, std::span<const std::string>& words) {
  const Option& declaration = option.declaration;
  if (declaration.type == OptionType::kFlag) return set_value(option, "true");
  if (words.empty()) {
    return refuse(concat(word, " takes a value",
                         declaration.unit.empty() ? "" : concat(" (", declaration.unit, ")"),
                         ", but none follows"));
  }
  const std::string& value = words.front();
  words = words.subspan(1);
  return set_value(option, value);
}

// Takes "--name" or "--name=value" at the front of `words`, and its value.
Status take_named(ParsedCommandLine& line, std::span<const std::string>& words) {
  const std::string_view whole = words.front();
  words = words.subspan(1);
  const std::size_t equals = whole.find('=');
  const std::string_view name = whole.substr(0, equals).substr(2);
  const auto option = find_option(line, [&](const Option& other) { return other.name == name; });
  if (!option) return unknown_option(*line.command, whole.substr(0, equals));
  if (equals != std::string_view::npos) return set_value(*option, whole.substr(equals + 1));
  return take_value(*option, whole, words);
}

// Takes the options at the front of `words`.
Status take_options(ParsedCommandLine& line, std::span<const std::string>& words) {
  if (words.front().starts_with("--")) return take_named(line, words);
  const std::string& word = words.front();
  words = words.subspan(1);
  const auto alone =
      find_option(line, [&](const Option& option) { return word.size() == 2 && option.letter == word[1]; });
  return alone ? take_value(*alone, word, words) : take_letters(line, word);
}

Status check_arguments(const ParsedCommandLine& line) {
  const std::span<const Positional> wanted = line.command->positionals;
  const std::string see = concat("\nheadrace ", line.command->name, " --help shows an example");
  for (std::size_t i = line.arguments.size(); i < wanted.size(); ++i) {
    if (!wanted[i].required) continue;
    return refuse(concat(wanted[i].name, " is missing: ", wanted[i].sentence, see));
  }
  const bool endless = !wanted.empty() && wanted.back().repeated;
  if (!endless && line.arguments.size() > wanted.size()) {
    return refuse(concat("\"", line.arguments[wanted.size()], "\" is one argument too many", see));
  }
  return {};
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

ParsedCommandLine help_about(std::string topic) {
  return {nullptr, {}, OptionValues({}), OptionValues(kCommonOptions), std::move(topic)};
}

Result<ParsedCommandLine> parse_words(const Command& command, std::span<const std::string> words) {
  ParsedCommandLine line = {&command, {}, OptionValues(command.options), OptionValues(kCommonOptions), ""};
  bool options_over = false;
  while (!words.empty()) {
    if (!options_over && words.front() == "--") {
      options_over = true;
      words = words.subspan(1);
    } else if (!options_over && is_option(words.front())) {
      HEADRACE_CHECK(take_options(line, words));
    } else {
      line.arguments.push_back(words.front());
      words = words.subspan(1);
    }
  }
  if (!line.common.flag("help")) HEADRACE_CHECK(check_arguments(line));
  return line;
}

}  // namespace

std::span<const Option> common_options() { return kCommonOptions; }

Result<ParsedCommandLine> parse_command_line(std::span<const Command* const> commands,
                                             std::span<const std::string> words) {
  std::vector<std::string> rearranged;
  if (!words.empty() && words.front() == "help") {
    rearranged.assign(words.begin() + 1, words.end());
    rearranged.emplace_back("--help");
    words = rearranged;
  }
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return help_about("");
  if (is_option(words.front())) return refuse(concat("a command must come before ", words.front()));

  const bool has_second = words.size() > 1 && !is_option(words[1]);
  if (has_second) {
    const Command* two_words = find_command(commands, concat(words[0], " ", words[1]));
    if (two_words != nullptr) return parse_words(*two_words, words.subspan(2));
  }
  if (const Command* one_word = find_command(commands, words[0])) {
    return parse_words(*one_word, words.subspan(1));
  }
  if (!is_group(commands, words[0])) return unknown_command(commands, words[0]);
  if (has_second) return unknown_command(commands, concat(words[0], " ", words[1]));
  return help_about(words[0]);
}

}  // namespace headrace
