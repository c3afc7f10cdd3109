#pragma once

/// \file Reads the records of a request log. Their content is not trusted.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/location.h"

namespace headrace {

/// The largest number of records to read, and of bytes of their files.
struct RecordLimits {
  std::uint64_t records = 1'000;
  std::uint64_t bytes = 64 << 20;
};

/// PredictionLog messages, not yet parsed.
struct LoggedRecords {
  std::vector<BytesView> records{};
  std::vector<std::shared_ptr<const Bytes>> files{};  // hold the records
  /// Describes damage of the files; empty: none. The records before the damage are there.
  std::string remark{};
};

/// Reads the first records of a file on this machine.
/// \error kNotFound          there is no such file
/// \error kPermissionDenied  or a similar error of the system
Result<LoggedRecords> read_record_file(const std::string& path, const RecordLimits& limits = {});

/// Reads the newest records of one model's request log: those in the object `place`, else in the folder
/// `place`/`model`, else in the folder `place`. The newest file comes first; the records of a file keep their
/// order. If a file has more records than are wanted, its last ones are read. If it has more bytes than the
/// limit leaves, only its end is read. Only the 64 newest files count.
/// Cost: one listing, and one read for each file that is needed.
/// \error kNotFound  there is no such object or folder, or it has no log file
/// \error of the store
Result<LoggedRecords> read_newest_records(const Location& place, std::string_view model,
                                          const CallOptions& call, const RecordLimits& limits = {});

}  // namespace headrace
