#include "headrace/coordinate/ownership_entry.h"

#include <array>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"

namespace headrace {
namespace {

constexpr std::string_view kFormat = "headrace.ownership";
constexpr std::uint64_t kVersion = 1;
// Members are sorted, and manifests have no member `action`.
constexpr std::string_view kBeginning = "{\"action\":";

// In the order of OwnershipAction.
constexpr std::array<std::string_view, 5> kActionNames = {"begin", "take over", "overwrite", "continue",
                                                          "remove"};

OwnershipAction action_from_json(const Json& from) {
  const auto name = from.as<std::string>("action");
  for (std::size_t i = 0; i < kActionNames.size(); ++i) {
    if (name == kActionNames[i]) return static_cast<OwnershipAction>(i);
  }
  throw JsonError(concat("action is ", printable_line(name, 40)));
}

Result<OwnershipEntry> read_entry(const Json& document) {
  const auto version = document.get<std::uint64_t>("version");
  if (document.get<std::string>("format") != kFormat) throw JsonError("format is unknown");
  if (version > kVersion) {
    return Error{Code::kUnimplemented,
                 concat("the entry of ownership has version ", version, "; this Headrace reads up to ",
                        kVersion, ": install a newer one")};
  }
  OwnershipEntry entry{.action = action_from_json(document.at("action")),
                       .generation = document.get<std::uint64_t>("generation"),
                       .published = document.get<std::uint64_t>("published"),
                       .output_entry = document.get<std::uint64_t>("output_entry"),
                       .configuration = document.get<Configuration>("configuration")};
  const Json& actor = document.at("actor");
  entry.actor = {.command = actor.get<std::string>("command"),
                 .run = actor.get<std::string>("run"),
                 .host = actor.get<std::string>("host"),
                 .process = actor.get<std::uint64_t>("process"),
                 .time = actor.get<std::string>("time"),
                 .id = actor.get<std::string>("id")};
  return entry;
}

// Parses an entry without checking it against its number.
Result<OwnershipEntry> parse_any_entry(BytesView data) {
  const std::string complaint = "the entry of ownership is not as docs/formats/ownership.md says";
  auto entry = read_json(as_text(data), complaint, read_entry);
  if (!entry || is_sealed_json(as_text(data))) return entry;
  return Error{Code::kDataLoss, "the entry of ownership was altered or damaged: its checksum does not match"};
}

// Whether `entry` may have this number in a chain. The removal of superseded objects relies on this.
bool has_right_numbers(const OwnershipEntry& entry, std::uint64_t number) {
  const bool publishes_nothing =
      entry.action == OwnershipAction::kBegin || entry.action == OwnershipAction::kRemove;
  const bool is_right_generation =
      begins_generation(entry.action) ? entry.generation == number : entry.generation < number;
  return is_right_generation && (publishes_nothing ? entry.published == 0 : entry.published < number);
}

}  // namespace

bool begins_generation(OwnershipAction action) {
  return action == OwnershipAction::kBegin || action == OwnershipAction::kOverwrite ||
         action == OwnershipAction::kRemove;
}

std::string serialize_entry(const OwnershipEntry& entry) {
  const Actor& actor = entry.actor;
  const Json document = {{"format", kFormat},
                         {"version", kVersion},
                         {"action", kActionNames[static_cast<std::size_t>(entry.action)]},
                         {"generation", entry.generation},
                         {"published", entry.published},
                         {"output_entry", entry.output_entry},
                         {"configuration", entry.configuration},
                         {"actor",
                          {{"command", actor.command},
                           {"run", actor.run},
                           {"host", actor.host},
                           {"process", actor.process},
                           {"time", actor.time},
                           {"id", actor.id}}}};
  return seal_json(document.dump() + "\n");
}

bool is_entry(BytesView data) { return as_text(data).starts_with(kBeginning); }

Result<OwnershipEntry> parse_entry(BytesView data, std::uint64_t number) {
  HEADRACE_TRY(OwnershipEntry entry, parse_any_entry(data));
  if (has_right_numbers(entry, number)) return entry;
  return Error{Code::kDataLoss,
               concat("the entry of ownership was altered: entry ", number, " cannot have generation ",
                      entry.generation, " and name manifest ", entry.published)};
}

}  // namespace headrace
