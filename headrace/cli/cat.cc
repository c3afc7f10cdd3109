#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr Positional kCatPositionals[] = {
    {.name = "URL",
     .sentence = "An object, or a quoted pattern of objects. Several are written one after another.",
     .repeated = true}};

constexpr Option kCatOptions[] = {
    {.name = "offset",
     .type = OptionType::kSize,
     .default_value = "0",
     .unit = "bytes",
     .sentence = "Offset in each object at which to begin."},
    {.name = "bytes",
     .type = OptionType::kSize,
     .unit = "bytes",
     .sentence = "Number of bytes of each object to write. Default: all up to its end."},
};

Status write_object(CommandContext& context, const Location& location, const OptionValues& options) {
  HEADRACE_TRY(const ObjectInfo object, location.store->stat(location.key, context.call()));
  const std::uint64_t offset = options.size_bytes("offset");
  if (offset > object.size_bytes) {
    return Error{Code::kOutOfRange, concat(location.describe(), " has ", object.size_bytes,
                                           " bytes; --offset ", offset, " lies past its end")};
  }
  const std::uint64_t rest = object.size_bytes - offset;
  const std::uint64_t size = options.has("bytes") ? std::min(options.size_bytes("bytes"), rest) : rest;
  return read_in_pieces(*location.store, object, offset, size, context.call(),
                        [&](BytesView piece) { return context.console.result_bytes(piece); });
}

Status run_cat(CommandContext& context, const std::vector<std::string>& arguments,
               const OptionValues& options) {
  if (context.console.json())
    return Error{Code::kInvalidArgument, "cat writes the bytes of objects as they are; it has no --json"};
  for (const std::string& url : arguments) {
    HEADRACE_TRY(const Location location, context.stores.open(url));
    bool by_pattern = false;
    if (is_pattern(location.key)) {
      HEADRACE_TRY(const Named named, look_up(location, url, context.call()));
      by_pattern = named.kind == Named::Kind::kPattern;
    }
    if (!by_pattern) {
      HEADRACE_CHECK(write_object(context, location, options));
      continue;
    }
    HEADRACE_CHECK(visit_matches(location, Matched::kObjects, context.call(), [&](const ObjectInfo& object) {
      return write_object(context, with_key(location, object.key), options);
    }));
  }
  return {};
}

}  // namespace

extern const Command kCatCommand;
const Command kCatCommand = {
    .name = "cat",
    .summary = "Write objects to standard output",
    .details =
        "  headrace cat s3://datasets/preprocessed-data/_headrace/manifest-00000001 | python3 -m json.tool\n"
        "  headrace cat 's3://logs/2026-11-*/events.jsonl' | wc -l\n"
        "  headrace cat --offset 128 --bytes 16 model.safetensors | xxd",
    .positionals = kCatPositionals,
    .options = kCatOptions,
    .run = run_cat};

}  // namespace headrace
