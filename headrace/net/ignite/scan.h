#pragma once

/// \file Reads all entries of a cache, partition by partition, from the nodes that own them.
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
  /// The partitions to read. Each is read once, even if it is named several times. Empty: all partitions.
  std::vector<std::int32_t> partitions{};
  /// Memory, approximately, for pages that were requested and not yet returned. The size of a page is
  /// estimated from the previous pages.
  std::size_t budget_bytes = 20'000'000;
  /// Rows of a page. 0: as many as make about 1 MiB.
  std::int32_t page_rows = 0;
  /// Largest number of open cursors. A node allows 128 on a connection.
  std::size_t open_cursors = 32;
  /// Memory for the hashes of keys that were already returned, 8 bytes each, in partitions that are open. A
  /// partition that exceeds it cannot be continued at another node.
  std::size_t remembered_bytes = std::size_t{64} << 20;
};

/// Rows inside the response that contains them. In the response, each value follows its key.
struct Page {
  Response response;
  std::int32_t partition = 0;   // -1: the cache as a whole
  bool ends_partition = false;  // this is the last page of the partition
  std::vector<Entry> rows;
};

/// Not thread-safe. Returns every entry that is in the cache during the whole scan exactly once. Entries that
/// are put or removed during the scan may be returned or not. Rows of a partition come in the order of its
/// node. Pages of different partitions are mixed: the page that arrives first is returned first. With one
/// open cursor, partitions come one after another, in ascending order.
///
/// If a node is lost, or sends nothing for a third of the cluster's call_timeout after a page was requested,
/// its partitions are read again from their new owners. Rows whose key was returned before are then dropped.
/// Two keys of a partition with the same 64-bit hash would count as one. With a million rows in the
/// partition, the probability of this is 1 in 3 × 10^7.
class Scan {
 public:
  /// \error kNotFound         there is no such cache
  /// \error kInvalidArgument  `options.partitions` names a partition that does not exist, or the cache is not
  ///                          partitioned
  /// \error                   as for Cluster::call
  static Result<std::unique_ptr<Scan>> open(const Cache& cache, ScanOptions options,
                                            const std::stop_token& stop = {});
  /// Closes the cursors. Waits up to two seconds for cursors that a node is just opening.
  ~Scan();

  /// The next page. Only the last page of a partition may be empty. None: all rows were returned. After an
  /// error, further calls return the same error.
  /// \error kUnavailable       a node was lost, and no other node could continue within the cluster's
  ///                           call_timeout, or remembered_bytes was exceeded; or no node owns a partition
  /// \error kDeadlineExceeded  a page did not arrive within the cluster's call_timeout
  /// \error kDataLoss          more owners left than the cache has backups, so that rows may be missing; or a
  ///                           page is malformed
  /// \error kCancelled         a stop was requested on `stop`
  /// \error                    as for Connection::receive, if the node refuses
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
  std::deque<std::unique_ptr<Part>> waiting_{};  // with a requested page, in the order of the requests
  std::deque<std::unique_ptr<Part>> idle_{};     // with an open cursor, but without a request
  std::size_t row_bytes_ = 0;                    // estimate; 0: not known yet
  std::size_t reserved_bytes_ = 0;               // for the pages of waiting_
  std::size_t remembered_ = 0;                   // number of hashes
  Time last_progress_{};
  std::optional<Error> failed_{};
};

}  // namespace headrace::ignite
