#include "headrace/net/ignite/scan.h"

#include <algorithm>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kPageBytes = std::size_t{1} << 20;
constexpr std::int32_t kFirstPageRows = 8;
constexpr std::int32_t kPageRowsLimit = 16'384;
constexpr std::int32_t kWholeCache = -1;
constexpr std::chrono::seconds kClosingTime{2};
// How long the scan waits for one of several nodes before it checks the next one.
constexpr std::chrono::milliseconds kTurn{5};

std::uint64_t hash_of(BytesView key) { return siphash(HashKey{}, key); }

bool may_start_again(Code code) { return code == Code::kUnavailable || code == Code::kUnknown; }

}  // namespace

// A partition that is being read.
struct Scan::Part {
  std::int32_t partition = 0;
  std::int32_t page_rows = 0;
  std::int32_t page_rows_limit = kPageRowsLimit;
  std::optional<Backoff> backoff{};  // set if it was restarted after its last page
  std::shared_ptr<Connection> connection{};
  std::int64_t request = 0;
  Time sent{};                           // when the request was sent
  std::optional<std::int64_t> cursor{};  // none: the first page was requested
  std::size_t reserved_bytes = 0;
  std::vector<std::uint64_t> given{};  // hashes of keys
  bool is_remembered = true;           // `given` has all keys returned
  std::unordered_set<std::uint64_t> skip{};
};

Scan::Scan(const Cache& cache, ScanOptions options)
    : cache_(cache), options_(std::move(options)), last_progress_(steady_clock::now()) {
  options_.open_cursors = std::max<std::size_t>(options_.open_cursors, 1);
}

Result<std::unique_ptr<Scan>> Scan::open(const Cache& cache, ScanOptions options,
                                         const std::stop_token& stop) {
  std::unique_ptr<Scan> scan(new Scan(cache, std::move(options)));
  HEADRACE_CHECK(scan->begin(stop));
  return scan;
}

// If the connection is lost meanwhile, the request is repeated, as for other reads.
Status Scan::read_first_map(const std::stop_token& stop) {
  Backoff backoff(cache_.cluster().options().backoff, cache_.cluster().options().seed);
  const Time until = deadline();
  while (true) {
    Result<std::shared_ptr<const PartitionMap>> map = cache_.cluster().partitions(cache_.id(), stop);
    if (map) {
      map_ = *std::move(map);
      return {};
    }
    if (map.error().code != Code::kUnavailable || steady_clock::now() >= until) return std::move(map).error();
    if (!sleep_unless_stopped(backoff.next(), stop)) return Error{Code::kCancelled, "stopped by the caller"};
  }
}

Status Scan::begin(const std::stop_token& stop) {
  const auto described = [&](Error error) {
    return std::move(error).in(concat("cache \"", printable_line(cache_.name(), 200), '"'));
  };
  HEADRACE_TRY(backups_, cache_.backups(stop));  // fails if the cache does not exist
  if (Status read = read_first_map(stop); !read) return described(std::move(read).error());
  owners_at_start_ = map_->owners_of(options_.partitions);
  std::vector<std::int32_t> partitions = options_.partitions;
  std::ranges::sort(partitions);
  partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
  if (map_->owners.empty() && !partitions.empty())
    return described({Code::kInvalidArgument, "it is replicated, so it cannot be read by partitions"});
  if (map_->owners.empty()) partitions = {kWholeCache};
  if (partitions.empty())
    for (std::int32_t i = 0; i < map_->partitions(); ++i) partitions.push_back(i);
  for (const std::int32_t partition : partitions) {
    if (partition != kWholeCache && (partition < 0 || partition >= map_->partitions()))
      return described({Code::kInvalidArgument,
                        concat("there is no partition ", partition, "; it has ", map_->partitions())});
    auto part = std::make_unique<Part>();
    part->partition = partition;
    to_open_.push_back(std::move(part));
  }
  return {};
}

Scan::~Scan() {
  const Time until = steady_clock::now() + kClosingTime;
  for (std::unique_ptr<Part>& part : waiting_) {
    if (part->cursor) {
      part->connection->abandon(part->request);
    } else if (const Result<Response> first = part->connection->receive(part->request, until)) {
      ObjectCursor cursor(first->body());
      std::int64_t id = 0;
      if (cursor.read(id)) part->cursor = id;
    } else if (first.error().code == Code::kDeadlineExceeded) {
      part->connection->lose("a scan ended while it opened a cursor");  // which closes the cursor
    }
    idle_.push_back(std::move(part));
  }
  for (const std::unique_ptr<Part>& part : idle_) close_cursor(*part, until);
}

// Does nothing if the connection was lost, because the cursor was lost with it.
void Scan::close_cursor(Part& part, Time until) {
  if (!part.cursor) return;
  Bytes body;
  append_little_endian(body, *part.cursor);
  part.cursor.reset();
  if (const Result<std::int64_t> request = part.connection->send(Operation::kResourceClose, body, until))
    part.connection->abandon(*request);
}

Scan::Time Scan::deadline() const { return steady_clock::now() + cache_.cluster().options().call_timeout; }

std::int32_t Scan::rows_of_page() const {
  if (options_.page_rows > 0) return options_.page_rows;
  if (row_bytes_ == 0) return kFirstPageRows;
  const std::size_t target = std::min(kPageBytes, std::max<std::size_t>(options_.budget_bytes / 4, 1));
  return static_cast<std::int32_t>(std::clamp<std::size_t>(target / row_bytes_, 1, kPageRowsLimit));
}

// One page may be requested in any case; more pages once the size of rows is known.
bool Scan::may_request(std::int32_t rows) const {
  if (waiting_.empty()) return true;
  if (row_bytes_ == 0) return false;
  return reserved_bytes_ + static_cast<std::size_t>(rows) * row_bytes_ <= options_.budget_bytes;
}

Status Scan::fill(const std::stop_token& stop) {
  while (!idle_.empty() && may_request(idle_.front()->page_rows)) {
    std::unique_ptr<Part> part = std::move(idle_.front());
    idle_.pop_front();
    HEADRACE_CHECK(request_next_page(std::move(part), stop));
  }
  while (!to_open_.empty() && idle_.size() + waiting_.size() < options_.open_cursors &&
         may_request(rows_of_page())) {
    std::unique_ptr<Part> part = std::move(to_open_.front());
    to_open_.pop_front();
    HEADRACE_CHECK(request_first_page(std::move(part), stop));
  }
  return {};
}

Status Scan::request_first_page(std::unique_ptr<Part> part, const std::stop_token& stop) {
  if (Status checked = check_nodes(stop); !checked) return handle(std::move(part), checked.error(), stop);
  const std::optional<NodeId> owner = map_->owner_of(part->partition);
  if (!owner && part->partition != kWholeCache)
    return handle(std::move(part), {Code::kUnavailable, "no node owns it at the moment"}, stop);
  part->page_rows = std::min(rows_of_page(), part->page_rows_limit);
  Bytes body;
  append_little_endian(body, cache_.id());
  append_little_endian(body, std::uint8_t{0});  // no flags
  append_null(body);                            // no filter
  append_little_endian(body, part->page_rows);
  append_little_endian(body, part->partition);
  append_little_endian(body, std::uint8_t{0});  // rows of the cluster, not only of the node
  Result<std::shared_ptr<Connection>> connection = cache_.cluster().connection(owner, stop);
  if (!connection) return handle(std::move(part), connection.error(), stop);
  const Result<std::int64_t> request = (*connection)->send(Operation::kQueryScan, body, deadline(), stop);
  if (!request) return handle(std::move(part), request.error(), stop);
  part->connection = *std::move(connection);
  part->request = *request;
  part->sent = steady_clock::now();
  part->reserved_bytes = static_cast<std::size_t>(part->page_rows) * row_bytes_;
  reserved_bytes_ += part->reserved_bytes;
  waiting_.push_back(std::move(part));
  return {};
}

Status Scan::request_next_page(std::unique_ptr<Part> part, const std::stop_token& stop) {
  Bytes body;
  append_little_endian(body, *part->cursor);
  const Result<std::int64_t> request =
      part->connection->send(Operation::kQueryScanNextPage, body, deadline(), stop);
  if (!request) return handle(std::move(part), request.error(), stop);
  part->request = *request;
  part->sent = steady_clock::now();
  part->reserved_bytes = static_cast<std::size_t>(part->page_rows) * row_bytes_;
  reserved_bytes_ += part->reserved_bytes;
  waiting_.push_back(std::move(part));
  return {};
}

// If a node was lost, the partition starts again on another one. If there are too many cursors, it waits
// until another cursor is closed.
Status Scan::handle(std::unique_ptr<Part> part, Error error, const std::stop_token& stop) {
  const std::size_t open = idle_.size() + waiting_.size();
  if (error.code == Code::kResourceExhausted && !part->cursor && open > 0) {
    options_.open_cursors = open;
    to_open_.push_front(std::move(part));
    return {};
  }
  if (may_start_again(error.code)) return start_again(std::move(part), std::move(error), stop);
  return fail(std::move(part), std::move(error));
}

// The destructor closes the cursor.
Error Scan::fail(std::unique_ptr<Part> part, Error error) {
  error = std::move(error).in(described(*part));
  idle_.push_back(std::move(part));
  return error;
}

std::string Scan::described(const Part& part) const {
  const std::string where = part.partition == kWholeCache ? "" : concat(", partition ", part.partition);
  return concat("scan of cache \"", printable_line(cache_.name(), 200), '"', where);
}

Status Scan::start_again(std::unique_ptr<Part> part, Error why, const std::stop_token& stop) {
  const auto give_up = [&](std::string_view reason) {
    return fail(std::move(part), {Code::kUnavailable, concat(reason, ": ", why.message)});
  };
  if (!part->is_remembered)
    return give_up("it returned more keys than remembered_bytes allows, so no other node can continue it");
  if (steady_clock::now() - last_progress_ > cache_.cluster().options().call_timeout)
    return give_up("no node could continue");
  if (!part->backoff) {
    part->backoff.emplace(cache_.cluster().options().backoff, cache_.cluster().options().seed);
  } else if (!sleep_unless_stopped(part->backoff->next(), stop)) {
    return fail(std::move(part), {Code::kCancelled, "stopped by the caller"});
  }
  // A page larger than the limit of a message ends the connection, and it is unknown whose page it was.
  part->page_rows_limit = std::max(part->page_rows / 2, 1);
  begin_again(std::move(part));
  return {};
}

void Scan::begin_again(std::unique_ptr<Part> part) {
  close_cursor(*part, steady_clock::now() + kClosingTime);
  part->connection.reset();
  part->skip = {part->given.begin(), part->given.end()};
  to_open_.push_front(std::move(part));
}

// If all copies of a partition are lost, so are its rows, and no node reports that by itself.
Status Scan::check_nodes(const std::stop_token& stop) {
  HEADRACE_TRY(std::shared_ptr<const PartitionMap> map, cache_.cluster().partitions(cache_.id(), stop));
  if (map == map_) return {};
  const auto lost = std::ranges::count_if(owners_at_start_, [&](const NodeId& node) {
    return std::ranges::find(map->nodes, node) == map->nodes.end();
  });
  if (lost > backups_)
    return Error{Code::kDataLoss,
                 concat(lost, " node(s) left the cluster during the scan of cache \"",
                        printable_line(cache_.name(), 200), "\", which has ", backups_,
                        " backup(s): rows may be missing; scan again once the data are complete")};
  map_ = std::move(map);
  return {};
}

Result<std::optional<Page>> Scan::next_page(const std::stop_token& stop) {
  if (failed_) return *failed_;
  last_progress_ = steady_clock::now();  // the caller's own time between calls does not count
  Result<std::optional<Page>> page = find_page(stop);
  if (!page) failed_ = page.error();
  return page;
}

Result<std::optional<Page>> Scan::find_page(const std::stop_token& stop) {
  Backoff backoff(cache_.cluster().options().backoff, cache_.cluster().options().seed);
  while (true) {
    HEADRACE_CHECK(fill(stop));
    if (waiting_.empty() && to_open_.empty() && idle_.empty()) {
      // A node that was lost meanwhile may have taken rows with it.
      Status checked = check_nodes(stop);
      if (checked) return std::optional<Page>();
      if (!may_start_again(checked.error().code) ||
          steady_clock::now() - last_progress_ > cache_.cluster().options().call_timeout)
        return std::move(checked).error();
      if (!sleep_unless_stopped(backoff.next(), stop))
        return Error{Code::kCancelled, "stopped by the caller"};
      continue;
    }
    if (waiting_.empty()) continue;
    // A part stays in waiting_ until its response arrives: the response may name a cursor that must be
    // closed.
    HEADRACE_TRY(const std::size_t place, await_any(stop));
    std::unique_ptr<Part> part = std::move(waiting_[place]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
    reserved_bytes_ -= part->reserved_bytes;
    Result<Response> response = part->connection->receive(part->request, deadline(), stop);
    if (!response) {
      HEADRACE_CHECK(handle(std::move(part), std::move(response).error(), stop));
      continue;
    }
    HEADRACE_TRY(std::optional<Page> page, take_page(std::move(part), *std::move(response), stop));
    if (page) return page;
  }
}

// A connection, and the requests sent on it.
struct Scan::Asked {
  Connection* connection = nullptr;
  Time since{};  // when the first of the requests was sent
  std::vector<std::int64_t> requests{};
};

// In the order of the requests, so that no node's pages wait without a limit behind another node's.
std::vector<Scan::Asked> Scan::asked_nodes() const {
  std::vector<Asked> asked;
  for (const std::unique_ptr<Part>& part : waiting_) {
    auto node = std::ranges::find(asked, part->connection.get(), &Asked::connection);
    if (node == asked.end())
      node = asked.insert(node, {.connection = part->connection.get(), .since = part->sent});
    node->requests.push_back(part->request);
  }
  return asked;
}

std::size_t Scan::place_of(const Connection& connection, std::int64_t request) const {
  const auto found = std::ranges::find_if(waiting_, [&](const std::unique_ptr<Part>& part) {
    return part->connection.get() == &connection && part->request == request;
  });
  return static_cast<std::size_t>(found - waiting_.begin());
}

// Returns the place in waiting_ of a part whose response has arrived, or whose connection was lost. Waits for
// several nodes in turns. A node that has sent nothing for a third of the timeout after a request has
// stalled, even if others are busy: there is still time to ask another one.
Result<std::size_t> Scan::await_any(const std::stop_token& stop) {
  const std::vector<Asked> asked = asked_nodes();
  const std::chrono::milliseconds silence = cache_.cluster().options().call_timeout / 3;
  const std::chrono::milliseconds turn = asked.size() == 1 ? silence : kTurn;
  const Time until = deadline();
  for (bool only_looks = asked.size() > 1;; only_looks = false) {
    for (const Asked& node : asked) {
      const Time now = steady_clock::now();
      Result<std::int64_t> ready =
          node.connection->await_any(node.requests, only_looks ? now : std::min(until, now + turn), stop);
      if (ready) return place_of(*node.connection, *ready);
      const std::size_t first = place_of(*node.connection, node.requests.front());
      if (ready.error().code == Code::kUnavailable) return first;
      if (ready.error().code != Code::kDeadlineExceeded || steady_clock::now() >= until)
        return std::move(ready).error().in(described(*waiting_[first]));
      if (steady_clock::now() - std::max(node.since, node.connection->last_received()) >= silence)
        node.connection->lose("it has stopped sending");  // the node's next turn reports this
    }
  }
}

Result<std::optional<Page>> Scan::take_page(std::unique_ptr<Part> part, Response response,
                                            const std::stop_token& stop) {
  Page page{.response = {}, .partition = part->partition};
  bool has_more = false;
  if (Status parsed = parse(response, *part, page, has_more); !parsed)
    return fail(std::move(part), std::move(parsed).error());
  last_progress_ = steady_clock::now();
  part->backoff.reset();
  if (has_more) {
    remember(*part, page);
    if (is_worth_larger_pages(*part)) {
      begin_again(std::move(part));
    } else {
      idle_.push_back(std::move(part));
    }
    HEADRACE_CHECK(fill(stop));
  } else {
    forget(*part);
    page.ends_partition = true;
  }
  if (page.rows.empty() && !page.ends_partition) return std::optional<Page>();
  page.response = std::move(response);
  return std::optional<Page>(std::move(page));
}

// A cursor keeps the size of its pages. A new cursor returns the rows returned so far once more.
bool Scan::is_worth_larger_pages(const Part& part) const {
  const std::int32_t rows = std::min(rows_of_page(), part.page_rows_limit);
  return part.is_remembered && part.page_rows <= rows / 4 &&
         part.given.size() <= static_cast<std::size_t>(rows / 4);
}

Status Scan::parse(const Response& response, Part& part, Page& page, bool& has_more) {
  ObjectCursor cursor(response.body());
  if (std::int64_t id = 0; !part.cursor) {
    if (!cursor.read(id)) return malformed("the number of a cursor");
    part.cursor = id;
  }
  std::size_t count = 0;
  if (!cursor.read_count(2, count)) return malformed("the number of a page's rows");
  if (count > static_cast<std::size_t>(part.page_rows)) return malformed("more rows than a page was to have");
  page.rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    HEADRACE_TRY(const BytesView key, take_object(cursor));
    HEADRACE_TRY(const BytesView value, take_object(cursor));
    if (part.skip.empty() || !part.skip.contains(hash_of(key))) page.rows.push_back({key, value});
  }
  std::uint8_t flag = 0;
  if (!cursor.read(flag)) return malformed("the end of a page");
  has_more = flag != 0;
  if (count > 0)
    row_bytes_ = std::max({response.body().size() / count, row_bytes_ - row_bytes_ / 8, std::size_t{1}});
  return {};
}

void Scan::remember(Part& part, const Page& page) {
  if (!part.is_remembered) return;
  const std::size_t limit = options_.remembered_bytes / sizeof(std::uint64_t);
  if (remembered_ + page.rows.size() > limit) {
    forget(part);
    part.is_remembered = false;
    return;
  }
  for (const Entry& row : page.rows) part.given.push_back(hash_of(row.key));
  remembered_ += page.rows.size();
}

void Scan::forget(Part& part) {
  remembered_ -= part.given.size();
  part.given = {};
}

}  // namespace headrace::ignite
