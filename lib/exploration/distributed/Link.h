// Messages between the process that leads a search and those that serve it.
#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace accord {

/// The leader's side. Ranks that serve are 1 to `ranks()`. Each one's messages come whole and in order until it is
/// lost, which is told once. `send` and `wake` may be called from any thread, `next` from one.
class LeaderLink {
public:
  struct Event {
    size_t rank = 0;
    std::optional<std::string> message; ///< nothing: the rank is lost
  };
  virtual ~LeaderLink() = default;
  virtual size_t ranks() const = 0;
  /// Returns at once. To a rank that is lost, or not there yet: nothing happens.
  virtual void send(size_t rank, std::string message) = 0;
  /// Nothing: the time is over, or `wake` was called.
  virtual std::optional<Event> next(std::chrono::milliseconds wait) = 0;
  virtual void wake() = 0;
  /// Takes the rank for lost; no event says so.
  virtual void drop(size_t rank) = 0;
};

/// A serving rank's side. `send` may be called from any thread.
class ServerLink {
public:
  virtual ~ServerLink() = default;
  /// False: the leader is lost.
  virtual bool send(const std::string &message) = 0;
  /// Nothing: the leader is lost.
  virtual std::optional<std::string> receive() = 0;
};

} // namespace accord
