#pragma once

/// \file Names of objects and runs for the terminal and for pipes: anyone who can write to a store chooses
/// them.

#include <string>
#include <string_view>

namespace headrace {

enum class Quoting {
  kUnsafe,  // for a pipe: names that a program can read as they are stay as they are
  kShell,   // for a terminal: also names that a shell would not take for one word
};

/// `name` as one word of a shell that never steers a terminal and never ends a line. Control characters,
/// marks of writing direction and bytes that are not UTF-8 are written as bash, ksh and zsh read them:
/// $'a\012b'. With `kShell`, spaces and special characters are in single quotes, as `ls` of GNU does. The
/// result of other names is `name`. Pure.
std::string quoted_name(std::string_view name, Quoting quoting);

}  // namespace headrace
