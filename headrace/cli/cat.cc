#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "URL", .sentence = "An object; several are written one after another.", .repeated = true}};

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  if (context.console.json())
    return Error{Code::kInvalidArgument, "cat writes the bytes of objects as they are; it has no --json"};
  for (const std::string& url : arguments) {
    HEADRACE_TRY(const Location location, context.stores.open(url));
    HEADRACE_TRY(const ObjectInfo object, location.store->stat(location.key, context.call()));
    HEADRACE_CHECK(read_in_pieces(*location.store, object, context.call(),
                                  [&](BytesView piece) { return context.console.result_bytes(piece); }));
  }
  return {};
}

}  // namespace

extern const Command kCatCommand;
const Command kCatCommand = {
    .name = "cat",
    .summary = "Write objects to standard output",
    .details =
        "  headrace cat s3://datasets/preprocessed-data/_headrace/manifest-00000001 | python3 -m json.tool",
    .positionals = kPositionals,
    .options = {},
    .run = run};

}  // namespace headrace
