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
  /// For a compressed object: Inflater::member_starts.
  std::vector<MemberStart> member_starts{};
  /// Messages for people about damage that was skipped, the first hundred.
  std::vector<std::string> remarks{};
};

/// Called for damage that is skipped: `lost_bytes` of the uncompressed stream, at least a frame's, between
/// two records or at the end. If only the data of a record are damaged, the lost bytes are its frame and
/// data.
using OnDamage = std::function<void(const Error& error, std::uint64_t lost_bytes)>;

/// Calls `visit` with each record, decompressed and checked, until it returns false. The compression is
/// detected from the object itself. Memory: the largest record and some megabytes; a record of more than
/// `limit_bytes` is an error. `advance` is called with the number of bytes read from the store. `summary`
/// says how far the reading came, also after an error.
/// With `on_damage`, damage is skipped up to the next sound header (find_next_record).
/// \error kDataLoss         damaged or truncated; names object, record and offset. With `on_damage`: it
///                          cannot be inflated any further
/// \error kInvalidArgument  the first bytes are not those of a TFRecord file
Status read_tfrecord(const Location& location, const ObjectInfo& object, std::uint64_t limit_bytes,
                     const CallOptions& call, TfrecordSummary& summary,
                     const std::function<bool(BytesView record)>& visit,
                     const std::function<void(std::uint64_t)>& advance, const OnDamage* on_damage = nullptr);

}  // namespace headrace
