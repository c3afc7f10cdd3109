#include "headrace/cli/text_table.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows, Align alignment) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - row[i].size(), ' ');
      const bool is_right = i > 0 && alignment == Align::kRight;
      line += concat(i > 0 ? "  " : "", is_right ? room : "", row[i], is_right ? "" : room);
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace headrace
