#pragma once

/// \file Quotes names of objects and runs for terminals and pipes, because anyone who can write to a store
/// chooses them.

#include <string>
#include <string_view>

namespace headrace {

enum class Quoting {
  kUnsafe,  // for a pipe: quotes only names that are not printable
  kShell,   // for a terminal: also quotes names that a shell would not take for one word
};

/// Returns `name` as text that never controls a terminal and never ends a line. Control characters, marks of
/// writing direction and bytes that are not UTF-8 are escaped as bash, ksh and zsh read them: $'a\012b'. With
/// `kShell`, the result is one word of a shell: names with spaces or special characters are in single quotes,
/// as in GNU `ls`. Other names are returned unchanged. Pure.
std::string quoted_name(std::string_view name, Quoting quoting);

}  // namespace headrace
