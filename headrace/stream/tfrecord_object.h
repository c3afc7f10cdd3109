#pragma once

/// \file Reads one TFRecord object of any origin from front to back.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/codec/deflate.h"
#include "headrace/store/location.h"

namespace headrace {

struct TfrecordSummary {
  Compression compression = Compression::kNone;
  std::uint64_t records = 0;
  std::uint64_t uncompressed_bytes = 0;
  /// Inflater::member_starts of a compressed object that was read to its end.
  std::vector<MemberStart> member_starts{};
  /// The first hundred messages for people about damage that was skipped.
  std::vector<std::string> remarks{};
};

/// Called for damage that is skipped. `lost_bytes` is the number of lost bytes of the uncompressed stream,
/// between two records or at the end; it is at least that of a frame. If only the data of a record are
/// damaged, its frame and data are lost.
using OnDamage = std::function<void(const Error& error, std::uint64_t lost_bytes)>;

/// Calls `visit` with each record, decompressed and checked, until it returns false. Detects the compression
/// from the object's first bytes. Calls `advance` with the number of bytes of each piece that it reads from
/// the store. `summary` says how far the reading came, also after an error. With `on_damage`, damage is
/// skipped up to the next sound header (find_next_record). Memory: the largest record and some megabytes.
/// \error kDataLoss           damaged or truncated; the message names object, record and offset. With
///                            `on_damage`: the object cannot be decompressed any further
/// \error kResourceExhausted  a record has more than `limit_bytes`; skipped with `on_damage`
/// \error kInvalidArgument    the first bytes are not those of a TFRecord file
Status read_tfrecord(const Location& location, const ObjectInfo& object, std::uint64_t limit_bytes,
                     const CallOptions& call, TfrecordSummary& summary,
                     const std::function<bool(BytesView record)>& visit,
                     const std::function<void(std::uint64_t)>& advance, const OnDamage* on_damage = nullptr);

}  // namespace headrace
