#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/io/parallel.h"

namespace headrace {
namespace {

constexpr std::size_t kObjectsAtOnce = 10'000;  // listed before any of them is copied

constexpr Positional kPositionals[] = {
    {.name = "FROM", .sentence = "An object, or with -r a folder."},
    {.name = "TO",
     .sentence = "The object's new name, or, ending in '/', the folder it goes into. With -r, the "
                 "folder below which all names are as they were below FROM."},
};

constexpr Option kOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "Copy all objects below FROM.",
     .letter = 'r'},
    {.name = "no-replace",
     .type = OptionType::kFlag,
     .sentence = "Fail where an object of that name exists, instead of replacing it."},
    {.name = "jobs",
     .type = OptionType::kInteger,
     .default_value = "4",
     .unit = "objects",
     .sentence = "How many objects to copy at a time; each takes 8 MiB of memory and what the store buffers.",
     .minimum = 1,
     .maximum = 64},
};

struct CopyState {
  CommandContext& context;
  WriteOptions write;
  std::atomic<std::uint64_t> bytes{0};
  std::uint64_t total_bytes = 0;  // 0: not known

  void add(std::uint64_t more) { context.console.progress("copying", bytes += more, total_bytes, "bytes"); }
};

// Streams the object through memory; returns the CRC32C of what was written.
Result<std::uint32_t> copy_object(CopyState& state, const Location& from, const ObjectInfo& object,
                                  const Location& to) {
  std::uint32_t crc = 0;
  if (object.size_bytes <= kPieceBytes) {
    Bytes data(static_cast<std::size_t>(object.size_bytes));
    HEADRACE_CHECK(read_exactly(*from.store, from.key, data,
                                {.if_version = object.version, .call = state.context.call()}));
    crc = crc32c(data);
    HEADRACE_CHECK(to.store->write(to.key, data, state.write));
    state.add(data.size());
    return crc;
  }
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, to.store->start_upload(to.key, state.write));
  const auto take = [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    HEADRACE_CHECK(upload->append(piece));
    state.add(piece.size());
    return {};
  };
  HEADRACE_CHECK(read_in_pieces(*from.store, object, state.context.call(), take));
  HEADRACE_CHECK(upload->commit());
  return crc;
}

bool same_store(const Location& a, const Location& b) {
  return a.url.scheme == b.url.scheme && a.url.authority == b.url.authority;
}

Status copy_one(CommandContext& context, const Location& from, const ObjectInfo& object, const Location& to,
                const OptionValues& options) {
  if (same_store(from, to) && from.key == to.key)
    return Error{Code::kInvalidArgument, concat(from.describe(), " would be copied onto itself")};
  HEADRACE_TRY(const bool onto_folder, is_folder(to, context.call()));
  if (onto_folder || to.key.empty()) {
    return Error{Code::kFailedPrecondition,
                 concat(to.describe(), " is a folder; end TO with '/' to copy into it")};
  }
  CopyState state{context, {.only_if_absent = options.flag("no-replace"), .call = context.call()}};
  state.total_bytes = object.size_bytes;
  HEADRACE_TRY(const std::uint32_t crc, copy_object(state, from, object, to));
  if (context.console.json()) {
    context.console.result(nlohmann::json({{"from", from.url.text()},
                                           {"to", to.url.text()},
                                           {"objects", 1},
                                           {"size_bytes", object.size_bytes},
                                           {"crc32c", hex32(crc)}})
                               .dump());
  } else {
    context.console.result(
        concat(to.describe(), "  ", format_size(object.size_bytes), "  crc32c ", hex32(crc)));
  }
  return {};
}

// Rank in which objects of a folder appear: what announces the others comes after them.
int rank_of(std::string_view key) {
  if (is_manifest_key(key)) return 2;
  return last_segment(key) == "saved_model.pb" ? 1 : 0;
}

class FolderCopy {
 public:
  FolderCopy(CommandContext& context, const Location& from, const Location& to, const OptionValues& options)
      : state_{context, {.only_if_absent = options.flag("no-replace"), .call = context.call()}},
        from_(from),
        to_(to),
        jobs_(static_cast<int>(options.integer("jobs"))),
        prefix_size_(folder_prefix(from.key).size()) {}

  Status run() {
    std::string after;
    bool more = true;
    while (more) {
      std::vector<ObjectInfo> batch;
      HEADRACE_TRY(more, list_batch(after, batch));
      if (!more && after.empty()) {
        for (const auto* objects : {&batch, &late_[1], &late_[2]}) {
          for (const ObjectInfo& object : *objects) state_.total_bytes += object.size_bytes;
        }
      }
      after = last_listed_;
      HEADRACE_CHECK(copy_all(batch));
    }
    HEADRACE_CHECK(copy_all(late_[1]));
    HEADRACE_CHECK(copy_all(late_[2]));
    return objects_ == 0 ? nothing_at(from_) : Status();
  }

  std::uint64_t objects() const { return objects_; }
  std::uint64_t bytes() const { return state_.bytes; }

 private:
  // False if the listing has come to its end.
  Result<bool> list_batch(const std::string& after, std::vector<ObjectInfo>& batch) {
    bool more = false;
    const ListOptions options = {.after = after, .call = state_.context.call()};
    HEADRACE_CHECK(from_.store->list(folder_prefix(from_.key), options, [&](const ObjectInfo& object) {
      const int rank = rank_of(object.key);
      (rank == 0 ? batch : late_[rank]).push_back(object);
      last_listed_ = object.key;
      more = batch.size() >= kObjectsAtOnce;
      return !more;
    }));
    return more;
  }

  Status copy_all(const std::vector<ObjectInfo>& objects) {
    const auto copy = [&](std::size_t i) -> Status {
      HEADRACE_CHECK(check_stop(state_.context.stop, "copying"));
      const std::string name = objects[i].key.substr(prefix_size_);
      const Location target = to_.at(name);
      HEADRACE_TRY(const std::uint32_t crc, copy_object(state_, from_.at(name), objects[i], target));
      if (!state_.context.console.json()) {
        state_.context.console.result(
            concat(target.describe(), "  ", format_size(objects[i].size_bytes), "  crc32c ", hex32(crc)));
      }
      return {};
    };
    HEADRACE_CHECK(parallel_for(jobs_, objects.size(), copy));
    objects_ += objects.size();
    return {};
  }

  CopyState state_;
  const Location from_;
  const Location to_;
  const int jobs_;
  const std::size_t prefix_size_;
  std::vector<ObjectInfo> late_[3];
  std::string last_listed_;
  std::uint64_t objects_ = 0;
};

// A copy must neither contain itself nor replace what it has yet to read.
Status check_overlap(CommandContext& context, const Location& from, const Location& to) {
  if (!same_store(from, to)) return {};
  const std::string from_prefix = folder_prefix(from.key), to_prefix = folder_prefix(to.key);
  if (to_prefix.starts_with(from_prefix))
    return Error{Code::kInvalidArgument,
                 concat(to.describe(), " lies in ", from.describe(), ": the copy would contain itself")};
  if (!from_prefix.starts_with(to_prefix)) return {};
  // From a/b to a: a/b/b/c would become a/b/c.
  const Location replacing = from.at(from.key.substr(to_prefix.size()));
  HEADRACE_TRY(const bool overlap, is_folder(replacing, context.call()));
  if (!overlap) return {};
  return Error{Code::kInvalidArgument, concat("copying ", from.describe(), " to ", to.describe(),
                                              " would replace objects of the former by those below ",
                                              replacing.describe(), "; copy to another folder first")};
}

Status copy_folder(CommandContext& context, const Location& from, const Location& to,
                   const OptionValues& options) {
  HEADRACE_CHECK(check_overlap(context, from, to));
  HEADRACE_TRY(const auto blocking, find_object(to, context.call()));
  if (blocking)
    return Error{Code::kFailedPrecondition, concat(to.describe(), " is an object; a folder cannot go there")};
  FolderCopy copy(context, from, to, options);
  HEADRACE_CHECK(copy.run());
  if (context.console.json()) {
    context.console.result(nlohmann::json({{"from", from.url.text()},
                                           {"to", to.url.text()},
                                           {"objects", copy.objects()},
                                           {"size_bytes", copy.bytes()}})
                               .dump());
  } else {
    context.console.note(concat("copied ", copy.objects(), " objects, ", format_size(copy.bytes())));
  }
  return {};
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location from, context.stores.open(arguments[0]));
  HEADRACE_TRY(Location to, context.stores.open(arguments[1]));
  HEADRACE_TRY(const auto object, find_object(from, context.call()));
  if (object) {
    if (arguments[1].ends_with('/') || to.key.empty()) to = to.at(last_segment(from.key));
    return copy_one(context, from, *object, to, options);
  }
  if (options.flag("recursive")) return copy_folder(context, from, to, options);
  HEADRACE_TRY(const bool folder, is_folder(from, context.call()));
  if (!folder) return nothing_at(from);
  return Error{Code::kFailedPrecondition,
               concat(from.describe(), " is a folder; -r copies all objects below it")};
}

}  // namespace

extern const Command kCpCommand;
const Command kCpCommand = {
    .name = "cp",
    .summary = "Copy objects from any store to any store",
    .details =
        "Streams through memory, a few megabytes at a time, and shows the CRC32C of what was written.\n"
        "What publishes a folder (manifests, saved_model.pb) is copied last.\n"
        "\n"
        "  headrace cp aclImdb_v1.tar.gz s3://raw/\n"
        "  headrace cp -r s3://datasets/runs/imdb-1/export ./export",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
