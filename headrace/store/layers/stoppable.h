#pragma once

/// \file A store whose every call a stop request ends.

#include <memory>
#include <stop_token>

#include "headrace/store/location.h"

namespace headrace {

/// A view of `store` in which each call also ends with Code::kCancelled once `stop` is requested. A call that
/// brings a stop token of its own keeps that one instead. Costs nothing but the virtual call; `describe` and
/// `capabilities` are the store's.
///
/// For code that makes many calls for one purpose, such as a stage: it need not hand the token down. What
/// must be written even after a stop, such as the end of a run's record, uses the store itself.
std::unique_ptr<Store> make_stoppable(std::shared_ptr<Store> store, std::stop_token stop);

/// The same place, through `make_stoppable`.
Location make_stoppable(Location location, std::stop_token stop);

}  // namespace headrace
