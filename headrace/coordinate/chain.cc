#include "headrace/coordinate/chain.h"

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kReadAttempts = 5;

std::string key_of(const Location& folder, std::uint64_t number) {
  return numbered_key(folder.at(kManifestPrefix).key, number);
}

// Completes `state`, whose last object is a manifest.
Status read_end_with_manifest(const Location& folder, const NumberedObject& object, const CallOptions& call,
                              ChainState& state) {
  auto manifest = parse_manifest(object.data);
  if (!manifest) return std::move(manifest).error().in(folder.store->describe(object.object.key));
  if (manifest->entry > 0) {
    HEADRACE_TRY(state.owner, read_entry(folder, manifest->entry, call));
  }
  state.entry = manifest->entry;
  state.published = object.number;
  return {};
}

Status read_end(const Location& folder, const NumberedObject& object, const CallOptions& call,
                ChainState& state) {
  if (!is_entry(object.data)) return read_end_with_manifest(folder, object, call, state);
  auto entry = parse_entry(object.data, object.number);
  if (!entry) return std::move(entry).error().in(folder.store->describe(object.object.key));
  state.owner = *std::move(entry);
  state.entry = object.number;
  state.published = state.owner.published;
  return {};
}

std::string_view past_tense(OwnershipAction action) {
  switch (action) {
    case OwnershipAction::kOverwrite:
      return "is being overwritten by ";
    case OwnershipAction::kContinue:
      return "was continued by ";
    case OwnershipAction::kRemove:
      return "was removed by ";
    default:
      return "was taken over by ";
  }
}

// Returns the chain if it continues after `number`, else nullopt. The numbers of earlier generations are
// removed, so a process that has stalled for a long time may create one of them again.
Result<std::optional<ChainState>> read_chain_after(const Location& folder, std::uint64_t number,
                                                   const CallOptions& call) {
  HEADRACE_TRY(const bool goes_on,
               has_number_after(*folder.store, folder.at(kManifestPrefix).key, number, call));
  if (!goes_on) return std::optional<ChainState>();
  HEADRACE_TRY(ChainState now, read_chain(folder, call));
  return std::optional(std::move(now));
}

// Names, sizes and checksums of the parts.
std::string parts_text(const Manifest& manifest) { return serialize_manifest({.parts = manifest.parts}); }

}  // namespace

Result<ChainState> read_chain(const Location& folder, const CallOptions& call) {
  for (int attempt = 1;; ++attempt) {
    ChainState state;
    HEADRACE_TRY(const std::optional<std::uint64_t> last,
                 latest_number(*folder.store, folder.at(kManifestPrefix).key, call));
    if (!last) return state;
    state.last = *last;
    HEADRACE_TRY(const std::optional<NumberedObject> object, read_number(folder, *last, call));
    if (!object && attempt < kReadAttempts) continue;  // removed in the meantime: a later one exists
    if (!object)
      return Error{Code::kDataLoss, concat(folder.store->describe(key_of(folder, *last)), " cannot be read")};
    const Status read = read_end(folder, *object, call, state);
    if (read) return state;
    if (read.error().code != Code::kDataLoss) return read.error();
    // A process that has appended another object may have removed the objects that this one names.
    HEADRACE_TRY(const std::optional<std::uint64_t> now,
                 latest_number(*folder.store, folder.at(kManifestPrefix).key, call));
    if (now != last && attempt < kReadAttempts) continue;
    ChainState damaged;
    damaged.last = *last;
    damaged.damage = read.error();
    return damaged;
  }
}

Result<std::optional<NumberedObject>> read_number(const Location& folder, std::uint64_t number,
                                                  const CallOptions& call) {
  auto read = read_object(*folder.store, key_of(folder, number), kManifestLimitBytes, call);
  if (!read && read.error().code == Code::kNotFound) return std::optional<NumberedObject>();
  if (!read) return std::move(read).error();
  return std::optional(NumberedObject{number, std::move(read->data), std::move(read->object)});
}

Result<OwnershipEntry> read_entry(const Location& folder, std::uint64_t number, const CallOptions& call) {
  HEADRACE_TRY(const std::optional<NumberedObject> object, read_number(folder, number, call));
  const std::string name = folder.store->describe(key_of(folder, number));
  if (!object) return Error{Code::kDataLoss, concat(name, " is gone, although the chain names it")};
  auto entry = parse_entry(object->data, number);
  return entry ? std::move(entry) : std::move(entry).error().in(name);
}

Result<std::optional<NumberedObject>> read_current_manifest(const Location& folder, const CallOptions& call) {
  for (int attempt = 1;; ++attempt) {
    HEADRACE_TRY(const std::optional<std::uint64_t> last,
                 latest_number(*folder.store, folder.at(kManifestPrefix).key, call));
    if (!last) return std::optional<NumberedObject>();
    HEADRACE_TRY(std::optional<NumberedObject> object, read_number(folder, *last, call));
    std::uint64_t number = *last;
    bool is_manifest = object && !is_entry(object->data);
    if (object && !is_manifest) {
      auto entry = parse_entry(object->data, *last);
      if (!entry) return std::move(entry).error().in(folder.store->describe(object->object.key));
      number = entry->published;
      if (number == 0) return std::optional<NumberedObject>();
      HEADRACE_TRY(object, read_number(folder, number, call));
      is_manifest = object && !is_entry(object->data);
    }
    if (is_manifest) return object;
    // Another process has published or removed in the meantime; the chain shows it now.
    if (attempt == kReadAttempts) {
      return Error{Code::kDataLoss,
                   concat(folder.store->describe(key_of(folder, number)),
                          object ? " is not a manifest" : " is gone", ", although the chain names it")};
    }
  }
}

bool ChainState::counts(std::uint64_t number) const {
  return damage || number > generation() || number == published;
}

Error lost_output(const Location& folder, std::uint64_t number, const CallOptions& call) {
  const auto error = [&](std::string_view how, const std::string& by) {
    return Error{Code::kAborted, concat(folder.describe(), " ", how, by,
                                        " in the meantime: this process has lost it, and no longer "
                                        "publishes or removes anything")};
  };
  const auto object = read_number(folder, number, call);
  if (object && *object) {
    const auto manifest = parse_manifest((*object)->data);
    auto entry = is_entry((*object)->data)         ? parse_entry((*object)->data, number)
                 : manifest && manifest->entry > 0 ? read_entry(folder, manifest->entry, call)
                                                   : Error{Code::kNotFound, ""};
    if (entry) return error(past_tense(entry->action), describe(entry->actor));
  }
  return error("was taken over by ", "another process");
}

Result<Ownership> Ownership::take(const Location& folder, const ChainState& seen, OwnershipEntry entry,
                                  const CallOptions& call) {
  const std::uint64_t number = seen.last + 1;
  entry.generation = begins_generation(entry.action) ? number : seen.generation();
  const bool keeps_published =
      entry.action != OwnershipAction::kBegin && entry.action != OwnershipAction::kRemove;
  entry.published = keeps_published ? seen.published : 0;
  const std::string text = serialize_entry(entry);
  const std::string key = key_of(folder, number);
  if (text.size() > kOwnershipEntryLimitBytes) {
    return Error{
        Code::kResourceExhausted,
        concat(
            folder.store->describe(key), " would have ", format_size(text.size()), ", more than the ",
            format_size(kOwnershipEntryLimitBytes),
            " allowed: use a smaller schema, or the type string for a feature with a very large vocabulary")};
  }
  const auto created =
      create_numbered(*folder.store, folder.at(kManifestPrefix).key, number, as_bytes(text), call);
  if (created) return Ownership(folder, number, entry.generation, number);
  if (created.error().code != Code::kAlreadyExists) return created.error();
  return lost_output(folder, number, call);
}

Status Ownership::check_held(const CallOptions& call) const {
  HEADRACE_TRY(const std::optional<ChainState> later, read_chain_after(folder_, last_, call));
  return later ? Status(lost_output(folder_, later->last, call)) : Status{};
}

Result<Published> Ownership::publish(Manifest manifest, const CallOptions& call) {
  manifest.entry = entry_;
  const std::string text = serialize_manifest(manifest);
  const std::string key = key_of(folder_, last_ + 1);
  if (text.size() > kManifestLimitBytes) {
    return Error{Code::kResourceExhausted,
                 concat(folder_.store->describe(key), " would have ", format_size(text.size()),
                        ", more than the ", format_size(kManifestLimitBytes),
                        " allowed: make fewer parts, for example with a larger --shard-size")};
  }
  const auto created =
      create_numbered(*folder_.store, folder_.at(kManifestPrefix).key, last_ + 1, as_bytes(text), call);
  if (created) {
    HEADRACE_TRY(const std::optional<ChainState> later, read_chain_after(folder_, last_ + 1, call));
    if (!later || later->counts(last_ + 1)) return Published{++last_, sha256_hex(as_bytes(text))};
    HEADRACE_CHECK(remove_object(*folder_.store, key, call));
    return lost_output(folder_, later->last, call);
  }
  if (created.error().code != Code::kAlreadyExists) return created.error();
  HEADRACE_TRY(const std::optional<NumberedObject> there, read_number(folder_, last_ + 1, call));
  const auto other = there && !is_entry(there->data) ? parse_manifest(there->data)
                                                     : Result<Manifest>(Error{Code::kNotFound, ""});
  const bool is_same = other && other->entry == entry_ && other->plan == manifest.plan &&
                       parts_text(*other) == parts_text(manifest);
  if (is_same) return Published{++last_, sha256_hex(there->data)};
  return lost_output(folder_, last_ + 1, call);
}

}  // namespace headrace
