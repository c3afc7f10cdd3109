#include "headrace/io/http_client.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/io/http_connection.h"

namespace headrace {
namespace {

using std::chrono::steady_clock;

// Whoever can put a line break into a request can put a second request into it.
Status check_request(const HttpRequest& request) {
  const auto has_control = [](std::string_view text, unsigned char lowest) {
    return std::ranges::any_of(text, [&](char c) {
      return static_cast<unsigned char>(c) < lowest || static_cast<unsigned char>(c) == 0x7f;
    });
  };
  bool refused = request.method.empty() || !request.target.starts_with('/') ||
                 has_control(request.method, 0x21) || has_control(request.target, 0x21);
  for (const HttpHeader& header : request.headers) {
    refused =
        refused || header.name.empty() || has_control(header.name, 0x21) || has_control(header.value, 0x20);
  }
  if (refused) {
    return Error{Code::kInvalidArgument, "a control character in the method, target or a header field"};
  }
  return {};
}

}  // namespace

// Keeps idle connections, newest last, and counts all that are open.
class HttpClient::Pool {
 public:
  explicit Pool(const HttpClientOptions& options) : options_(options) {}

  // A place for one connection, with an idle one in it if there is one for this endpoint.
  struct Lease {
    Pool* pool;
    std::string endpoint;
    std::unique_ptr<HttpConnection> connection;

    Lease(Pool* from, std::string to) : pool(from), endpoint(std::move(to)) {}
    Lease(Lease&& other) noexcept
        : pool(std::exchange(other.pool, nullptr)),
          endpoint(std::move(other.endpoint)),
          connection(std::move(other.connection)) {}
    ~Lease() {
      if (pool != nullptr) pool->give_back(endpoint, std::move(connection));
    }
  };

  Result<Lease> take(const HttpRequest& request) {
    Lease lease(nullptr, concat(request.endpoint.tls ? "https:" : "http:", request.endpoint.host_field()));
    std::vector<Idle> closing;  // declared before the lock: closed after it is released
    std::unique_lock lock(mutex_);
    const bool has_room = changed_.wait_for(lock, request.stop, request.stall_timeout,
                                            [&] { return in_use_ < options_.max_connections; });
    if (request.stop.stop_requested()) return Error{Code::kCancelled, "stopped by the caller"};
    if (!has_room) {
      return Error{Code::kDeadlineExceeded,
                   concat("all ", options_.max_connections, " connections were busy for ",
                          request.stall_timeout.count(), " ms")};
    }
    drop_expired(closing);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const Idle& idle) { return idle.endpoint == lease.endpoint; });
    if (found != idle_.rend()) {
      lease.connection = std::move(found->connection);
      idle_.erase(std::next(found).base());
    } else if (in_use_ + idle_.size() >= options_.max_connections) {
      closing.push_back(std::move(idle_.front()));  // another server's makes room
      idle_.erase(idle_.begin());
    }
    ++in_use_;
    lease.pool = this;
    return lease;
  }

  Status connect(Lease& lease, const HttpRequest& request) {
    lease.connection.reset();
    const auto timeout = std::min(options_.connect_timeout, request.stall_timeout);
    HEADRACE_TRY(FileDescriptor socket, connect_tcp(request.endpoint, timeout, request.stop));
    std::unique_ptr<ByteStream> stream;
    if (request.endpoint.tls) {
      HEADRACE_TRY(const TlsContext* tls, tls_context());
      IoWait wait(timeout, request.stop);
      HEADRACE_TRY(stream, tls->connect(std::move(socket), request.endpoint.host, wait));
    } else {
      stream = plain_stream(std::move(socket));
    }
    lease.connection = std::make_unique<HttpConnection>(std::move(stream), options_.limits);
    return {};
  }

 private:
  struct Idle {
    std::string endpoint;
    std::unique_ptr<HttpConnection> connection;
    steady_clock::time_point since;
  };

  void give_back(const std::string& endpoint, std::unique_ptr<HttpConnection> connection) {
    std::vector<Idle> closing;
    if (connection && !connection->reusable()) connection.reset();
    const std::scoped_lock lock(mutex_);
    --in_use_;
    if (connection) idle_.push_back({endpoint, std::move(connection), steady_clock::now()});
    drop_expired(closing);
    changed_.notify_all();
  }

  void drop_expired(std::vector<Idle>& closing) {
    const auto oldest = steady_clock::now() - options_.idle_timeout;
    while (!idle_.empty() && idle_.front().since < oldest) {
      closing.push_back(std::move(idle_.front()));
      idle_.erase(idle_.begin());
    }
  }

  // Made when first needed: plain connections do without certificate authorities.
  Result<const TlsContext*> tls_context() {
    const std::scoped_lock lock(tls_mutex_);
    if (!tls_) {
      HEADRACE_TRY(tls_, TlsContext::create(options_.tls));
    }
    return tls_.get();
  }

  const HttpClientOptions options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Idle> idle_;
  std::size_t in_use_ = 0;
  std::mutex tls_mutex_;
  std::unique_ptr<TlsContext> tls_;
};

HttpClient::HttpClient(const HttpClientOptions& options) : pool_(std::make_unique<Pool>(options)) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::perform(const HttpRequest& request) {
  const auto explained = [&](Error error) {
    return std::move(error).in(concat(request.method, " to ", request.endpoint.text()));
  };
  if (Status checked = check_request(request); !checked) return explained(std::move(checked).error());
  Result<Pool::Lease> lease = pool_->take(request);
  if (!lease) return explained(std::move(lease).error());
  if (lease->connection && !lease->connection->is_quiet()) lease->connection.reset();
  while (true) {
    const bool was_kept = lease->connection != nullptr;
    if (!was_kept) {
      if (Status connected = pool_->connect(*lease, request); !connected)
        return explained(std::move(connected).error());
    }
    IoWait wait(request.stall_timeout, request.stop);
    Result<HttpResponse> response = lease->connection->exchange(request, wait);
    if (response) return response;
    const bool stale = was_kept && request.repeatable && !lease->connection->answered() &&
                       response.error().code == Code::kUnavailable;
    if (!stale) return explained(std::move(response).error());
    lease->connection.reset();
  }
}

}  // namespace headrace
