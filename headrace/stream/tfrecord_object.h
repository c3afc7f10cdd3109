#pragma once

/// \file Reads one TFRecord object from front to back, whoever wrote it.

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
  /// Of a compressed object: Inflater::member_starts.
  std::vector<MemberStart> member_starts{};
  /// What damage was passed over; for people, the first hundred.
  std::vector<std::string> remarks{};
};

/// Told of damage that is passed over: `lost_bytes` of the uncompressed stream, at least a frame's, between
/// two records or at the end. Where only the data of a record are damaged, they are its frame and data.
using OnDamage = std::function<void(const Error& error, std::uint64_t lost_bytes)>;

/// Calls `visit` with each record, decompressed and checked, until it returns false. The compression is found
/// out from the object itself. Memory: the largest record and some megabytes; a record of more than
/// `limit_bytes` is an error. `advance` is called with the bytes that were read from the store.
/// `summary` says how far the reading came, also after an error.
/// With `on_damage`, what is damaged is passed over, up to the next header that is sound (find_next_record).
/// \error kDataLoss         damaged or cut short: names object, record and offset. With `on_damage`: it
///                          cannot be inflated any further
/// \error kInvalidArgument  the first bytes are those of no TFRecord file
Status read_tfrecord(const Location& location, const ObjectInfo& object, std::uint64_t limit_bytes,
                     const CallOptions& call, TfrecordSummary& summary,
                     const std::function<bool(BytesView record)>& visit,
                     const std::function<void(std::uint64_t)>& advance, const OnDamage* on_damage = nullptr);

}  // namespace headrace
