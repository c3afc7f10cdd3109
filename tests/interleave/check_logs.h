#pragma once

/// \file Checks that logs and artifacts have what their writers were promised.

#include <string>
#include <vector>

#include "tests/interleave/world.h"

namespace headrace::interleave {

/// Adds what is wrong with the logs of metrics. Each has the first values that were logged, at least those
/// that are in the store for certain; each once, in a chain of segments that verifies. After a kill of
/// everybody, once `runs recover` has run, the acknowledged ones are there, too. A log that was removed in
/// part is read so, or refused.
void check_metric_logs(const World& world, std::vector<std::string>& damage);

/// The same of media: whole records, each once. The order of segments does not count.
void check_media_logs(const World& world, std::vector<std::string>& damage);

/// Adds what is wrong with the logs of requests: each file has whole records; no value is there twice; and
/// all that are in the store for certain are there, unless something was removed.
void check_request_logs(const World& world, std::vector<std::string>& damage);

/// Adds what `headrace artifacts verify` finds: versions whose entries cannot be read, or are not what was
/// logged, and aliases of versions that are not there; unless something was removed that `gc` had not given
/// up.
void check_artifacts(const World& world, std::vector<std::string>& damage);

}  // namespace headrace::interleave
