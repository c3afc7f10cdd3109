#pragma once

/// \file For property tests: how many cases a program may draw that a sanitizer slows down.

namespace headrace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)  // Clang
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// The number of cases: a tenth where every memory access is checked, which tells as much of each.
constexpr unsigned cases(unsigned number) { return kSanitized ? number / 10 : number; }

}  // namespace headrace
