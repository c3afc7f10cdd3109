#include "headrace/store/outside_drivers.h"

namespace headrace {

std::span<const StoreDriver* const> outside_drivers() { return {}; }

}  // namespace headrace
