#pragma once

/// \file Objects as rows of one SQLite file. A write is a transaction, so it is atomic, also for other
/// processes; a killed one leaves nothing. An object is held in memory while it is written, and has at most
/// 1 GB, which is what SQLite takes.

#include <chrono>
#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// `path`: the file, which the first write makes; until then the store is empty. `name`: for messages, as in
/// "sqlite://name". A call waits for others for its deadline, but no longer than `busy_timeout`. Thread-safe.
/// Every call: \error kUnavailable  the file cannot be opened, is no SQLite file, or others took too long
std::unique_ptr<Store> make_sqlite_store(std::string path, std::string name,
                                         std::chrono::milliseconds busy_timeout);

}  // namespace headrace
