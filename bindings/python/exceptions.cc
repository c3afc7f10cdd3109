#include <new>
#include <stdexcept>
#include <system_error>

#include "bindings/python/errors.h"
#include "headrace/base/text.h"

namespace headrace::python {

Error error_of(const std::exception& exception) {
  // length_error: a container of more elements than memory can hold.
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
      dynamic_cast<const std::length_error*>(&exception) != nullptr)
    return {Code::kResourceExhausted, "there is not enough memory"};
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return {Code::kResourceExhausted, "the system refuses to start a thread"};
  return {Code::kInternal, concat("an unexpected exception: ", exception.what())};
}

}  // namespace headrace::python
