#pragma once

/// \file Finds the runs that concern a URL without reading the others: docs/formats/run-record.md, "Catalog".
/// An entry only points to a run; the record of the run says what it read and made.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// An entry points to this part of a run.
struct CatalogEntry {
  std::string command;
  std::string part;
  std::string run;
};

enum class CatalogIndex : std::uint8_t { kInput, kOutput };

/// Creates the entry of a URL below `root`, if it is not there. Call it before the record that the entry
/// points to is written. One request.
Status add_to_catalog(const Location& root, CatalogIndex index, std::string_view url,
                      const CatalogEntry& entry, const CallOptions& call = {});
/// The entries of an artifact: of its URL and, for an output, of its manifest's digest.
Status add_to_catalog(const Location& root, CatalogIndex index, const Artifact& artifact,
                      const CatalogEntry& entry, const CallOptions& call = {});

/// Runs with an entry of the URL, of a URL below it, or of a folder above it. One listing, and one for each
/// folder above. None of a URL that no key can hold. \error kResourceExhausted  there are more than 100,000
Result<std::set<std::string>> runs_near(const Location& root, CatalogIndex index, std::string_view url,
                                        const CallOptions& call = {});
/// Runs that published a manifest of that digest. One listing.
Result<std::set<std::string>> runs_that_published(const Location& root, std::string_view digest,
                                                  const CallOptions& call = {});

/// Entries of parts of that command and rank whose output is the URL, newest first, `most` of them. One
/// request.
Result<std::vector<CatalogEntry>> newest_entries(const Location& root, std::string_view output,
                                                 std::string_view command, std::uint64_t rank,
                                                 std::size_t most, const CallOptions& call = {});

/// Whether there are entries at all. One request.
Result<bool> has_catalog(const Location& root, const CallOptions& call = {});

/// Creates the entries that records of version 2 below `root` lack, for the newest 100,000 runs. Reads every
/// part and lists the catalog. May be called at any time, by several processes. Returns the number of entries
/// that were missing.
/// A damaged record is passed over: `list_runs` reports it. So is a URL that no key can hold.
/// \error kNotFound  no runs are recorded there; of the store
Result<std::size_t> repair_catalog(const Location& root, const CallOptions& call = {});

}  // namespace headrace
