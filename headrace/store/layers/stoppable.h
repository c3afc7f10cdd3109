#pragma once

/// \file A store in which a stop request ends every call.

#include <memory>
#include <stop_token>

#include "headrace/store/location.h"

namespace headrace {

/// A view of `store` in which each call also ends with Code::kCancelled once `stop` is requested. A call with
/// its own stop token keeps that one instead. Costs only the virtual call; `describe` and `capabilities` are
/// the store's.
///
/// For code that makes many calls for one purpose, such as a stage: it need not pass the token down. Writes
/// that must happen even after a stop, such as the end of a run's record, use the store itself.
std::unique_ptr<Store> make_stoppable(std::shared_ptr<Store> store, std::stop_token stop);

/// The same place, through `make_stoppable`.
Location make_stoppable(Location location, std::stop_token stop);

}  // namespace headrace
