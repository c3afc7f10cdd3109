#pragma once

/// \file For property tests: how many cases to draw if a sanitizer slows the program down.

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

/// The number of cases to draw: `number`, or a tenth of it under a sanitizer, which checks every memory
/// access.
constexpr unsigned cases(unsigned number) { return kSanitized ? number / 10 : number; }

}  // namespace headrace
