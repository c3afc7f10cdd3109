#include "headrace/store/location.h"

namespace headrace {

Location Location::at(std::string_view name) const {
  Location out = *this;
  out.key = join_key(key, name);
  out.url.path = join_key(url.path, name);
  return out;
}

}  // namespace headrace
