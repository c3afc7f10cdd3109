#pragma once

/// \file Finds the runs that concern a URL without reading any other run. docs/formats/run-record.md,
/// "Catalog". An entry only points to a run; the record of the run says what it read and made.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// The part of a run that an entry points to.
struct CatalogEntry {
  std::string command;
  std::string part;
  std::string run;
};

enum class CatalogIndex : std::uint8_t { kInput, kOutput };

/// Creates the entry of a URL below `root`, unless it is there. Call it before you write the record that the
/// entry points to. Cost: one request.
/// \error kInvalidArgument  no key can hold the URL
Status add_to_catalog(const Location& root, CatalogIndex index, std::string_view url,
                      const CatalogEntry& entry, const CallOptions& call = {});
/// Creates the entries of an artifact: of its URL and, for an output, of its manifest's digest.
Status add_to_catalog(const Location& root, CatalogIndex index, const Artifact& artifact,
                      const CatalogEntry& entry, const CallOptions& call = {});

/// Ids of the runs with an entry of the URL, of a URL below it, or of a folder above it. Empty if no key can
/// hold the URL. Cost: one listing, and one for each folder above.
/// \error kResourceExhausted  there are more than 100,000
Result<std::set<std::string>> runs_near(const Location& root, CatalogIndex index, std::string_view url,
                                        const CallOptions& call = {});
/// Ids of the runs that published a manifest with that digest. Cost: one listing.
Result<std::set<std::string>> runs_that_published(const Location& root, std::string_view digest,
                                                  const CallOptions& call = {});

/// The entries of parts with that command, rank and output, newest first, at most `most`. Cost: one request.
Result<std::vector<CatalogEntry>> newest_entries(const Location& root, std::string_view output,
                                                 std::string_view command, std::uint64_t rank,
                                                 std::size_t most, const CallOptions& call = {});

/// Whether the catalog has any entries. Cost: one request.
Result<bool> has_catalog(const Location& root, const CallOptions& call = {});

/// Creates the missing entries of the newest 100,000 runs of version 2 below `root`. Returns how many were
/// missing. May be called at any time, by several processes. Damaged records (`list_runs` reports them) and
/// URLs that no key can hold are skipped. Cost: reads every part, and lists the catalog.
/// \error kNotFound  no runs are recorded there; of the store
Result<std::size_t> repair_catalog(const Location& root, const CallOptions& call = {});

}  // namespace headrace
