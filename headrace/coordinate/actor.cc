#include "headrace/coordinate/actor.h"

#include <unistd.h>

#include <array>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {

Actor this_process(std::string_view command, std::string_view run,
                   std::chrono::system_clock::time_point now) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  return {.command = std::string(command),
          .run = std::string(run),
          .host = host.data(),
          .process = static_cast<std::uint64_t>(getpid()),
          .time = format_time(now),
          .id = hex64(random_name_bits())};
}

std::string describe(const Actor& actor) {
  return concat("headrace ", actor.command, actor.run.empty() ? "" : concat(", run ", actor.run),
                " (process ", actor.process, " on ", actor.host, ", since ", actor.time, ")");
}

}  // namespace headrace
