#pragma once

/// \file The arguments of a program, and its standard output, alike on Linux and Windows.

#include <string>
#include <vector>

/// Returns the arguments in UTF-8, without the program's name. From now on, standard output takes bytes as
/// they are, and a window of Windows shows them as UTF-8. Call it once, first in main.
std::vector<std::string> open_console(int count, char** arguments);
