#pragma once

/// \file The connections of one client, which are kept between requests and limited in number. Internal to
/// the HTTP client.

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/net/connector.h"
#include "headrace/net/http/http_client.h"
#include "headrace/net/http/http_exchange.h"
#include "headrace/net/http/http_governor.h"

namespace headrace {

/// Thread-safe.
class HttpConnections {
 public:
  explicit HttpConnections(const HttpClientOptions& options) : options_(options), connector_(options.tls) {}

  /// The right to one open connection, and that connection once it exists. Movable. The destructor gives both
  /// back.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();

    std::unique_ptr<HttpConnection> connection;  // kept for others on destruction, unless it is null
    /// This was the last place that the governor gives.
    bool is_last() const { return is_last_; }

   private:
    friend class HttpConnections;
    Place(HttpConnections* owner, std::string endpoint) : owner_(owner), endpoint_(std::move(endpoint)) {}
    HttpConnections* owner_;
    std::string endpoint_;
    HttpGovernor* governor_ = nullptr;  // the governor that counts this place, if any
    bool is_last_ = false;              // the last place that the governor gives
  };

  /// Takes a place. None if all places are taken, or others have waited longer. Then `wake` is queued, and
  /// woken when its turn comes. A successful call removes the first poller from the queue. Call `withdraw`
  /// before `wake` is destroyed, and when it no longer needs a place.
  std::optional<Place> try_take(const HttpEndpoint& endpoint, Poller* wake);
  void withdraw(Poller* wake);
  /// A place for a request that is sent a second time: a new connection, which does not count towards the
  /// governor's limit. None if `max_connections` connections are in use.
  std::optional<Place> try_take_another(const HttpEndpoint& endpoint);

  HttpGovernor& governor(const HttpEndpoint& endpoint);
  /// How often a place was given back. While this number changes, places become free, so waiting is
  /// worthwhile.
  std::uint64_t places_given_back() const { return places_given_back_; }

  Connector& connector() { return connector_; }
  const HttpClientOptions& options() const { return options_; }

  /// Returns a poller that was used before, or a new one.
  /// \error as for Poller::create
  Result<std::unique_ptr<Poller>> take_poller();
  /// Keeps a poller for later calls of `take_poller`. REQUIRES: it watches nothing.
  void keep(std::unique_ptr<Poller> poller);

 private:
  struct Idle {
    std::string endpoint;
    std::unique_ptr<HttpConnection> connection;
    std::chrono::steady_clock::time_point since;
  };
  struct Server {
    explicit Server(std::size_t most_in_flight) : governor(most_in_flight) {}
    HttpGovernor governor;
    std::deque<Poller*> queue;  // waiting for a place, the longest-waiting first
  };
  Server& server(const std::string& endpoint);  // called with the mutex held
  void give_back(Place& place);
  void make_room(std::vector<Idle>& closing);
  void drop_expired(std::vector<Idle>& closing);

  const HttpClientOptions options_;
  Connector connector_;
  std::mutex mutex_;
  std::map<std::string, Server> servers_;  // by endpoint
  std::vector<Idle> idle_;                 // newest last
  std::size_t in_use_ = 0;
  std::atomic<std::uint64_t> places_given_back_ = 0;
  std::vector<std::unique_ptr<Poller>> pollers_;
};

}  // namespace headrace
