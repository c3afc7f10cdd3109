#pragma once

/// \file A store in which a stop request ends every call.

#include <memory>
#include <stop_token>

#include "headrace/store/location.h"

namespace headrace {

/// A view of `store` in which each call also ends with Code::kCancelled once a stop is requested on `stop`. A
/// call that has a stop token of its own keeps that token instead. Cost: one virtual call.
///
/// Use it for code that makes many calls for one purpose, such as a stage, so that it need not pass the token
/// down. Writes that must happen even after a stop, such as the end of a run's record, must use the store
/// itself.
std::unique_ptr<Store> make_stoppable(std::shared_ptr<Store> store, std::stop_token stop);

/// Returns the same place, seen through `make_stoppable`.
Location make_stoppable(Location location, std::stop_token stop);

}  // namespace headrace
