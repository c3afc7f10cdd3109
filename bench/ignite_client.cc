/// How fast do rows of a cache come from Apache Ignite?
///
///   headrace_bench_ignite_client fill-large ADDRESSES CACHE ROWS BYTES    rows that are a byte[]
///   headrace_bench_ignite_client fill-objects ADDRESSES CACHE ROWS        objects of about 4 kB
///   headrace_bench_ignite_client scan ADDRESSES CACHE REPEATS             our client: pages, not decoded
///   headrace_bench_ignite_client null ADDRESS CACHE REPEATS PAGE_ROWS PARTITIONS
///
/// `null` is the limit of any client on one connection: it sends the requests of a scan, as many at once as
/// ours has under way, and receives the answers into one buffer that it never looks at, but for the cursor
/// and whether there is more. ADDRESSES: host:port, several with commas. `scan` and `null` write JSON:
/// "records", "bytes" (of messages), and CPU and wall seconds of each repeat, after one that is not counted.
/// bench/ignite.py runs the peers beside it.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "bench/measuring/ignite_rows.h"
#include "bench/measuring/repeats.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/scan.h"

namespace headrace::ignite {
namespace {

constexpr std::size_t kPutBytes = 4 << 20;

[[noreturn]] void fail(std::string_view why) {
  std::cerr << why << '\n';
  std::exit(1);
}

template <typename T>
T checked(Result<T> result) {
  if (!result) fail(result.error().message);
  return *std::move(result);
}
void checked(const Status& status) {
  if (!status) fail(status.error().message);
}

std::shared_ptr<Cluster> connect(const std::string& addresses) {
  return checked(connect_cluster(addresses, Environment::capture()));
}

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  Bytes out(size);
  for (std::byte& byte : out) byte = static_cast<std::byte>((seed = seed * 6364136223846793005U + 1) >> 56);
  return out;
}

/// Puts `rows` entries, whose keys are their numbers.
template <typename MakeValue>
void fill(Cache& cache, std::int64_t rows, const MakeValue& make_value) {
  std::vector<Bytes> objects;
  std::size_t bytes = 0;
  const auto put = [&] {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < objects.size(); i += 2) entries.push_back({objects[i], objects[i + 1]});
    if (!entries.empty()) checked(cache.put_all(entries));
    objects.clear();
    bytes = 0;
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    objects.push_back(encode_long(i));
    objects.push_back(make_value(i));
    bytes += objects.back().size();
    if (bytes >= kPutBytes) put();
  }
  put();
}

void fill_large(const std::string& addresses, const std::string& name, std::int64_t rows, std::size_t bytes) {
  Cache cache(connect(addresses), name);
  checked(cache.get_or_create({}));
  fill(cache, rows,
       [&](std::int64_t i) { return encode_bytes(random_bytes(bytes, static_cast<std::uint64_t>(i))); });
}

void fill_objects(const std::string& addresses, const std::string& name, std::int64_t rows) {
  const std::shared_ptr<Cluster> cluster = connect(addresses);
  Cache cache(cluster, name);
  checked(cache.get_or_create({}));
  const Bytes vector = bench_vector();
  const auto first = std::get<std::shared_ptr<const ComplexObject>>(bench_row(0, vector, "row 0"));
  checked(register_type(*cluster, *first->type));
  const auto& metadata = std::get<std::shared_ptr<const ComplexObject>>(first->fields.back().value);
  checked(register_type(*cluster, *metadata->type));
  fill(cache, rows, [&](std::int64_t i) {
    Bytes out;
    const std::string text = concat("row ", i);
    checked(append_object(bench_row(i, vector, text), {}, out));
    return out;
  });
}

struct Read {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

void report(int repeats, const std::function<Read()>& read) {
  const Read first = read();
  Repeats times;
  for (int i = 0; i < repeats; ++i) {
    const Read again = times.time(read);
    if (again.rows != first.rows) fail(concat("read ", again.rows, " rows, and before ", first.rows));
  }
  Json answer = times.to_json();
  answer["records"] = first.rows;
  answer["bytes"] = first.bytes;
  std::cout << answer.dump() << '\n';
}

Read scan(const Cache& cache) {
  Read read;
  const std::unique_ptr<Scan> scan = checked(Scan::open(cache, {}));
  while (const std::optional<Page> page = checked(scan->next_page())) {
    read.rows += page->rows.size();
    read.bytes += page->response.buffer.size();
  }
  return read;
}

/// A connection that does nothing but move bytes.
class NullClient {
 public:
  NullClient(const Address& address, std::int32_t cache_id, std::int32_t page_rows, std::int32_t partitions)
      : cache_id_(cache_id), page_rows_(page_rows), partitions_(partitions), buffer_(kBufferBytes) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    ::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
    const int on = 1;
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("cannot connect");
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Bytes hello{std::byte{1}};
    for (const std::int16_t part : {1, 4, 0}) append_little_endian(hello, part);
    append_little_endian(hello, std::uint8_t{2});
    send_message(hello);
    if (receive().size == 0 || buffer_[0] != std::byte{1}) fail("the node refuses the handshake");
  }
  ~NullClient() { ::close(socket_); }
  NullClient(const NullClient&) = delete;
  NullClient& operator=(const NullClient&) = delete;

  Read scan() {
    Read read;
    std::int32_t next = 0;
    std::size_t open = 0;
    for (; next < partitions_ && open < kUnderWay; ++open) ask_first(next++);
    while (open > 0) {
      const Message message = receive();
      const auto flags = load_little_endian<std::int16_t>(buffer_.data() + 8);
      if ((flags & 1) != 0) fail("the node refuses a request");
      const auto number = load_little_endian<std::int64_t>(buffer_.data());
      const bool is_first = (number & kFirst) != 0;
      const std::byte* body = buffer_.data() + kHeaderBytes + ((flags & 2) != 0 ? 12 : 0);
      const std::int64_t cursor = is_first ? load_little_endian<std::int64_t>(body) : number;
      const auto rows = load_little_endian<std::int32_t>(body + (is_first ? 8 : 0));
      read.rows += static_cast<std::uint64_t>(rows);
      read.bytes += message.size;
      if (message.last != std::byte{0}) {
        ask_next(cursor);
      } else if (next < partitions_) {
        ask_first(next++);
      } else {
        --open;
      }
    }
    return read;
  }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;
  static constexpr std::size_t kHeaderBytes = 10;
  static constexpr std::size_t kUnderWay = 19;                   // as 20 MB of pages of 1 MB
  static constexpr std::int64_t kFirst = std::int64_t{1} << 62;  // marks requests that open a cursor

  struct Message {
    std::size_t size = 0;
    std::byte last{};
  };

  void send_message(const Bytes& body) {
    Bytes message;
    append_little_endian(message, static_cast<std::int32_t>(body.size()));
    append(message, body);
    if (::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size()))
      fail("cannot send");
  }

  void take(std::byte* to, std::size_t size) {
    while (size > 0) {
      const ssize_t got = ::recv(socket_, to, size, 0);
      if (got <= 0) fail("the node closed the connection");
      to += got;
      size -= static_cast<std::size_t>(got);
    }
  }

  // The beginning stays in the buffer; later bytes fall on one another.
  Message receive() {
    std::int32_t length = 0;
    take(reinterpret_cast<std::byte*>(&length), sizeof length);
    Message message{.size = static_cast<std::size_t>(length)};
    std::size_t left = message.size;
    std::size_t begin = std::min(left, kBufferBytes / 2);
    take(buffer_.data(), begin);
    left -= begin;
    message.last = buffer_[begin - 1];
    while (left > 0) {
      const std::size_t part = std::min(left, kBufferBytes / 2);
      take(buffer_.data() + kBufferBytes / 2, part);
      message.last = buffer_[kBufferBytes / 2 + part - 1];
      left -= part;
    }
    return message;
  }

  void ask_first(std::int32_t partition) {
    Bytes body;
    append_little_endian(body, Operation::kQueryScan);
    append_little_endian(body, kFirst | partition);
    append_little_endian(body, cache_id_);
    append_little_endian(body, std::uint8_t{0});
    append_null(body);
    append_little_endian(body, page_rows_);
    append_little_endian(body, partition);
    append_little_endian(body, std::uint8_t{0});
    send_message(body);
  }

  void ask_next(std::int64_t cursor) {
    Bytes body;
    append_little_endian(body, Operation::kQueryScanNextPage);
    append_little_endian(body, cursor);  // which is the request's number, too
    append_little_endian(body, cursor);
    send_message(body);
  }

  const std::int32_t cache_id_;
  const std::int32_t page_rows_;
  const std::int32_t partitions_;
  Bytes buffer_;
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

int number(const char* text) { return static_cast<int>(parse_number<std::int64_t>(text).value_or(0)); }

int run(int count, char** arguments) {
  const std::string what = count > 3 ? arguments[1] : "";
  if (what == "fill-large" && count == 6) {
    fill_large(arguments[2], arguments[3], number(arguments[4]),
               static_cast<std::size_t>(number(arguments[5])));
  } else if (what == "fill-objects" && count == 5) {
    fill_objects(arguments[2], arguments[3], number(arguments[4]));
  } else if (what == "scan" && count == 5) {
    const Cache cache(connect(arguments[2]), arguments[3]);
    report(number(arguments[4]), [&] { return scan(cache); });
  } else if (what == "null" && count == 7) {
    NullClient client(checked(parse_address(arguments[2])), java_hash(arguments[3]), number(arguments[5]),
                      number(arguments[6]));
    report(number(arguments[4]), [&] { return client.scan(); });
  } else {
    fail("see the beginning of bench/ignite_client.cc");
  }
  return 0;
}

}  // namespace
}  // namespace headrace::ignite

int main(int count, char** arguments) { return headrace::ignite::run(count, arguments); }
