
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/folder_copy.h"
#include "headrace/cli/objects.h"
#include "headrace/store/glob.h"
#include "headrace/store/transfer/object_transfer.h"

namespace headrace {
namespace {

constexpr Positional kCpPositionals[] = {
    {.name = "FROM", .sentence = "An object, a quoted pattern of objects, or with -r a folder."},
    {.name = "TO",
     .sentence = "The object's new name, or the folder for it if TO ends in '/'. With -r or a pattern, a "
                 "folder; names below it are those below FROM, or below the last folder of the pattern "
                 "before its first * or ?."},
};

constexpr Option kCpOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "Copy all objects below FROM.",
     .letter = 'r'},
    {.name = "resume",
     .type = OptionType::kFlag,
     .sentence = "Continue an earlier run: skip objects that are already the same at TO, and parts of an "
                 "unfinished object that an S3 store already has. If this run is interrupted, the parts "
                 "that it has sent stay there, for the next run or for headrace gc."},
    {.name = "no-replace",
     .type = OptionType::kFlag,
     .sentence = "Fail if an object of that name exists, instead of replacing it."},
    kVerifyOption,
    kJobsOption,
};

void show_same(Console& console, const Location& from, const Location& to, const ObjectInfo& object) {
  if (!console.json())
    return console.result(
        concat(console.name(to.describe()), "  ", format_size(object.size_bytes), "  was already the same"));
  const Json out = {{"from", from.url.text()},
                    {"to", to.url.text()},
                    {"objects", 0},
                    {"same_objects", 1},
                    {"size_bytes", object.size_bytes}};
  console.result(out.dump());
}

// Whether TO holds these bytes already.
Result<bool> is_there(const Location& from, const ObjectInfo& object, const Location& to,
                      const ObjectTransferOptions& options) {
  // A server copies sooner than this would compare.
  if (copies_inside(from, to)) return false;
  const auto there = to.store->stat(to.key, options.write.call);
  const auto same = there ? have_same_content(from, object, to, *there, options) : there.error();
  const bool has_changed =
      !same && (same.error().code == Code::kNotFound || same.error().code == Code::kFailedPrecondition);
  return has_changed ? false : same;
}

void show_copy(Console& console, const Location& from, const Location& to, const ObjectTransfer& done) {
  if (!console.json()) {
    return console.result(concat(console.name(to.describe()), "  ", format_size(done.target.size_bytes),
                                 done.crc32c ? concat("  crc32c ", hex32(*done.crc32c)) : ""));
  }
  Json out = {{"from", from.url.text()},
              {"to", to.url.text()},
              {"objects", 1},
              {"size_bytes", done.target.size_bytes}};
  if (done.crc32c) out["crc32c"] = hex32(*done.crc32c);
  console.result(out.dump());
}

Status copy_one(CommandContext& context, const Location& from, const ObjectInfo& object, const Location& to,
                const OptionValues& options) {
  if (is_same_store(from, to) && from.key == to.key)
    return Error{Code::kInvalidArgument, concat(from.describe(), " would be copied onto itself")};
  HEADRACE_TRY(const bool onto_folder, is_folder(to, context.call()));
  if (onto_folder || to.key.empty()) {
    return Error{Code::kFailedPrecondition,
                 concat(to.describe(), " is a folder; end TO with '/' to copy into it")};
  }
  ObjectTransferOptions transfer;
  // Objects of a chain are never replaced.
  transfer.write = {.only_if_absent = options.flag("no-replace") || is_manifest_key(to.key),
                    .resumes = options.flag("resume"),
                    .call = context.call()};
  std::uint64_t done = 0;
  std::string_view doing = "comparing";
  transfer.advance = [&](std::int64_t bytes) {
    context.console.progress(doing, done += static_cast<std::uint64_t>(bytes), object.size_bytes, "bytes");
  };
  if (options.flag("resume")) {
    HEADRACE_TRY(const bool is_same, is_there(from, object, to, transfer));
    if (is_same) {
      show_same(context.console, from, to, object);
      return {};
    }
  }
  done = 0;
  doing = "copying";
  transfer.verify = options.flag("verify");
  transfer.advance(0);
  HEADRACE_TRY(const ObjectTransfer copy, transfer_object(from, object, to, transfer));
  show_copy(context.console, from, to, copy);
  return {};
}

FolderTransferOptions folder_options(const OptionValues& options) {
  return {.same = options.flag("resume") ? SameObjects::kKnown : SameObjects::kNone,
          .only_if_absent = options.flag("no-replace"),
          .verify = options.flag("verify"),
          .jobs = static_cast<int>(options.integer("jobs"))};
}

// Copies all matches, and with `recursive` also everything in folders that match.
Status copy_matches(CommandContext& context, const Location& pattern, bool only_folders, const Location& to,
                    const OptionValues& options) {
  const std::string folder(literal_folder(pattern.key));
  const Location from = with_key(pattern, folder);
  const std::size_t folder_size = folder_prefix(folder).size();
  FolderTransferOptions transfer = folder_options(options);
  transfer.name_prefix = literal_prefix(pattern.key).substr(folder_size);
  transfer.selects = [&, below = pattern.key.substr(folder_size)](std::string_view name) {
    bool found = !only_folders && matches_pattern(below, name);
    for (std::size_t at = 0; !found && options.flag("recursive") && (at = name.find('/', at)) != name.npos;
         ++at)
      found = matches_pattern(below, name.substr(0, at));
    return found;
  };
  Status copied = copy_folder(context, from, to, std::move(transfer));
  if (!copied && copied.error().code == Code::kNotFound) return nothing_matches(pattern);
  return copied;
}

Status run_cp(CommandContext& context, const std::vector<std::string>& arguments,
              const OptionValues& options) {
  HEADRACE_TRY(const Location from, context.stores.open(arguments[0]));
  HEADRACE_TRY(Location to, context.stores.open(arguments[1]));
  HEADRACE_TRY(const Named named, look_up(from, arguments[0], context.call()));
  switch (named.kind) {
    case Named::Kind::kObject:
      if (arguments[1].ends_with('/') || to.key.empty()) to = to.at(last_segment(from.key));
      return copy_one(context, from, named.object, to, options);
    case Named::Kind::kPattern:
      return copy_matches(context, from, asks_for_folder(arguments[0]), to, options);
    case Named::Kind::kNothing:
      return nothing_at(from);
    case Named::Kind::kFolder:
      break;
  }
  if (options.flag("recursive")) return copy_folder(context, from, to, folder_options(options));
  return Error{Code::kFailedPrecondition,
               concat(from.describe(), " is a folder; -r copies all objects below it")};
}

}  // namespace

extern const Command kCpCommand;
const Command kCpCommand = {
    .name = "cp",
    .summary = "Copy objects from any store to any store",
    .details =
        "Each object appears at TO whole, as one version, and is shown with the CRC32C of the written bytes, "
        "unless the store copied it itself. Objects that publish a folder (manifests, saved_model.pb) come "
        "last. --resume continues an interrupted run: objects that were copied, or that turn out to be the "
        "same, are not copied again, and S3 uploads continue where they were. See also: headrace sync.\n"
        "\n"
        "  headrace cp aclImdb_v1.tar.gz s3://raw/\n"
        "  headrace cp -r s3://datasets/runs/imdb-1/export ./export\n"
        "  headrace cp 's3://datasets/reviews/train-*.tfrecord.gz' ./train/",
    .positionals = kCpPositionals,
    .options = kCpOptions,
    .run = run_cp};

}  // namespace headrace
