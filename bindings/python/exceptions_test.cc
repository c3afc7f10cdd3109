#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "bindings/python/errors.h"

namespace headrace::python {
namespace {

Code code_of(const std::exception& exception) { return error_of(exception).code; }

TEST(Exceptions, WantOfMemoryOrThreadsIsResourceExhausted) {
  EXPECT_EQ(code_of(std::bad_alloc()), Code::kResourceExhausted);
  EXPECT_EQ(code_of(std::bad_array_new_length()), Code::kResourceExhausted);
  EXPECT_EQ(code_of(std::length_error("vector::reserve")), Code::kResourceExhausted);
  EXPECT_EQ(code_of(std::system_error(EAGAIN, std::generic_category())), Code::kResourceExhausted);
}

TEST(Exceptions, AnyOtherIsInternalAndIsQuoted) {
  const Error error = error_of(std::out_of_range("vector::at"));
  EXPECT_EQ(error.code, Code::kInternal);
  EXPECT_NE(error.message.find("vector::at"), std::string::npos);
  EXPECT_EQ(code_of(std::system_error(EIO, std::generic_category())), Code::kInternal);
}

}  // namespace
}  // namespace headrace::python
