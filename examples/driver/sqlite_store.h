#pragma once

/// \file Objects as rows of one SQLite file. A write is a transaction, so it is atomic, also for other
/// processes; a killed one leaves nothing. An object is held in memory while it is written, and has at most
/// 1 GB, which is what SQLite takes.

#include <chrono>
#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

/// `path`: the file, which is made if it is not there. `name`: for messages, as in "sqlite://name". A call
/// waits for other writers of the file for its deadline, but no longer than `busy_timeout`.
/// \error kUnavailable  the file cannot be opened or is no SQLite file
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, std::string name,
                                                 std::chrono::milliseconds busy_timeout);

}  // namespace headrace
