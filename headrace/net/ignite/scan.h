#pragma once

/// \file All entries of a cache, read partition by partition from the nodes that own them.
///
///   HEADRACE_TRY(const std::unique_ptr<Scan> scan, Scan::open(reviews, {}, stop));
///   while (true) {
///     HEADRACE_TRY(const std::optional<Page> page, scan->next_page(stop));
///     if (!page) break;
///     for (const Entry& row : page->rows) ...
///   }

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <unordered_set>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {

struct ScanOptions {
  /// The partitions to read, each once, however often it is named; empty: all. Numbers beyond the last
  /// partition are refused.
  std::vector<std::int32_t> partitions{};
  /// Pages that were asked for and not given yet take about so much memory, judged by the pages before them.
  std::size_t budget_bytes = 20'000'000;
  /// Rows of a page; 0: as many as make about 1 MiB.
  std::int32_t page_rows = 0;
  /// Cursors that are open at once; a node allows 128 on a connection.
  std::size_t open_cursors = 32;
  /// Memory for hashes of keys already given, 8 bytes each, of those partitions that are open. A partition
  /// that outgrows it cannot be read on at another node.
  std::size_t remembered_bytes = std::size_t{64} << 20;
};

/// Rows inside the response that brought them; the value of each lies behind its key.
struct Page {
  Response response;
  std::int32_t partition = 0;   // -1: the cache as a whole
  bool ends_partition = false;  // all its rows were given
  std::vector<Entry> rows;
};

/// Not thread-safe. Gives every entry that is in the cache during the whole scan exactly once; of those that
/// are put or removed meanwhile, any. Rows of a partition come in the order of its node; partitions mix: the
/// page that is there first is given first. With one open cursor, partitions come one after another,
/// ascending.
///
/// If a node is lost, or sends nothing for a third of the cluster's call_timeout after it was asked for a
/// page, its partitions are read again from their new owners, and rows whose key was given before are
/// dropped. Two keys of a partition with the same 64-bit hash would then count as one: with a million rows in
/// the partition, the odds are 1 to 3 × 10^7.
class Scan {
 public:
  /// \error kNotFound  there is no such cache; otherwise as Cluster::call
  /// \error kInvalidArgument  a partition that the cache has not, or partitions of a cache that is not
  ///                          partitioned
  static Result<std::unique_ptr<Scan>> open(const Cache& cache, ScanOptions options,
                                            const std::stop_token& stop = {});
  /// Closes its cursors; waits up to two seconds for those that a node is just opening.
  ~Scan();

  /// The next page, which may be empty only if it ends its partition; none: all rows were given. After an
  /// error the scan gives that error again.
  /// \error kUnavailable       a node was lost, and no other could go on within the cluster's call_timeout;
  ///                           or no node owns a partition
  /// \error kDeadlineExceeded  a page did not arrive within the cluster's call_timeout
  /// \error kDataLoss          more owners left than the cache has backups, so rows may be missing; or a page
  ///                           that cannot be read
  /// \error kCancelled, or as the node refuses
  Result<std::optional<Page>> next_page(const std::stop_token& stop = {});

 private:
  using Time = Connection::Time;
  struct Part;
  Scan(const Cache& cache, ScanOptions options);
  Status begin(const std::stop_token& stop);
  Status read_first_map(const std::stop_token& stop);
  Status fill(const std::stop_token& stop);
  Status request_first_page(std::unique_ptr<Part> part, const std::stop_token& stop);
  Status request_next_page(std::unique_ptr<Part> part, const std::stop_token& stop);
  Status start_again(std::unique_ptr<Part> part, Error why, const std::stop_token& stop);
  Status handle(std::unique_ptr<Part> part, Error error, const std::stop_token& stop);
  Error fail(std::unique_ptr<Part> part, Error error);
  void begin_again(std::unique_ptr<Part> part);
  static void close_cursor(Part& part, Time until);
  std::string described(const Part& part) const;
  Result<std::optional<Page>> find_page(const std::stop_token& stop);
  struct Asked;
  std::vector<Asked> asked_nodes() const;
  Result<std::size_t> await_any(const std::stop_token& stop);
  std::size_t place_of(const Connection& connection, std::int64_t request) const;
  Result<std::optional<Page>> take_page(std::unique_ptr<Part> part, Response response,
                                        const std::stop_token& stop);
  Status parse(const Response& response, Part& part, Page& page, bool& has_more);
  bool is_worth_larger_pages(const Part& part) const;
  void remember(Part& part, const Page& page);
  void forget(Part& part);
  bool may_request(std::int32_t rows) const;
  std::int32_t rows_of_page() const;
  Status check_nodes(const std::stop_token& stop);
  Time deadline() const;

  Cache cache_;
  ScanOptions options_;
  std::int32_t backups_ = 0;
  std::vector<NodeId> owners_at_start_{};
  std::shared_ptr<const PartitionMap> map_{};  // checked
  std::deque<std::unique_ptr<Part>> to_open_{};
  std::deque<std::unique_ptr<Part>> waiting_{};  // for a page that was asked for; in the order of asking
  std::deque<std::unique_ptr<Part>> idle_{};     // with an open cursor, and nothing asked for
  std::size_t row_bytes_ = 0;                    // 0: not known yet
  std::size_t reserved_bytes_ = 0;               // for waiting_
  std::size_t remembered_ = 0;                   // hashes
  Time last_progress_{};
  std::optional<Error> failed_{};
};

}  // namespace headrace::ignite
