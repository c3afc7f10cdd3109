#pragma once

/// \file Records of a log of requests, as they are read again. Their content is not trusted.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/location.h"

namespace headrace {

/// Most records, and bytes of files with them, that are read.
struct RecordLimits {
  std::uint64_t records = 1'000;
  std::uint64_t bytes = 64 << 20;
};

/// PredictionLog messages, which nobody has looked into.
struct LoggedRecords {
  std::vector<BytesView> records{};
  std::vector<std::shared_ptr<const Bytes>> files{};  // hold the records
  /// Tells what is wrong with the files; empty: nothing. The records before are there.
  std::string remark{};
};

/// The first records of a file on this machine.
/// \error kNotFound          there is no such file
/// \error kPermissionDenied  and the like: of the system
Result<LoggedRecords> read_record_file(const std::string& path, const RecordLimits& limits = {});

/// The newest records of the log of one model's requests: those in the object `place`, or in the folder
/// `place`/`model`, or in the folder `place`. Newest first by file, and in their order within a file; if a
/// file has more than are wanted, its last. The end is read of a file that has more bytes than are left.
/// Cost: one listing, and one read for each file that is needed.
/// \error kNotFound  there is no such object or folder, or it has no file of a log; of the store
Result<LoggedRecords> read_newest_records(const Location& place, std::string_view model,
                                          const CallOptions& call, const RecordLimits& limits = {});

}  // namespace headrace
