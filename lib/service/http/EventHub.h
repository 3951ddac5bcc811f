// Events to those who watch: streams (server-sent events) and requests that wait for the next one. One thread asks the
// scheduler for all of them, so that a thousand watchers cost it no more than one.
//
// Every watcher gets each event that it may see exactly once, in order. One that takes them slowly has at most 64 KiB
// under way, and is read from the state again when it has caught up.
#pragma once
#include "lib/service/control/Scheduler.h"
#include "lib/service/http/HttpServer.h"
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

namespace accord::service {

struct EventWatch {
  Caller caller;
  std::string token;     ///< asked for again at each heartbeat: the watch ends when it is revoked
  int64_t position = -1; ///< the last event that it has; -1: all that are there now
  bool streams = true;   ///< else it gets one answer, at the latest after `wait`
  size_t limit = 500;
  double wait = 0; ///< seconds
};

class EventHub {
public:
  /// `format` makes the answer of a request that waited.
  EventHub(Scheduler &scheduler, std::function<HttpResponse(std::vector<ServiceEvent>)> format, double heartbeatSeconds)
      : scheduler_(scheduler), format_(std::move(format)), heartbeat_(heartbeatSeconds) {}
  ~EventHub() { stop(); }

  void start(HttpServer &server);
  void stop();
  void add(std::shared_ptr<HttpStream> stream, EventWatch watch);

private:
  struct Watcher {
    std::shared_ptr<HttpStream> stream;
    EventWatch watch;
    double until = 0, checked = 0, sent = 0;
    bool isBehind = true; ///< what it lacks is asked of the scheduler, not taken from `recent_`
  };

  void loop();
  void join(double now);
  void findNewest();
  bool follow();
  /// False: it is over.
  bool serve(Watcher &watcher, double now);
  bool check(Watcher &watcher, double now);
  bool readBehind(Watcher &watcher, double now);
  bool readRecent(Watcher &watcher, double now);
  void send(Watcher &watcher, std::shared_ptr<const std::string> text, double now);
  bool give(Watcher &watcher, std::vector<ServiceEvent> events, double now);
  void pause(double seconds);

  Scheduler &scheduler_;
  std::function<HttpResponse(std::vector<ServiceEvent>)> format_;
  const double heartbeat_;
  HttpServer *server_ = nullptr;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> added_;
  bool ends_ = false;

  // Of the thread alone.
  std::list<Watcher> watchers_;
  std::deque<ServiceEvent> recent_; ///< the last ones, without holes, up to `newest_`
  int64_t newest_ = 0;              ///< number of the last event that is known
  int64_t before_ = 0;              ///< of the one before the first of `recent_`
  size_t asks_ = 0, sent_ = 0;      ///< of this round; of this slice of it
  bool isMoreToRead_ = false;       ///< somebody is behind, and could take more at once
  /// Texts of this round, by position and tenant: most watchers get the same one.
  std::map<std::pair<int64_t, std::string>, std::pair<std::shared_ptr<const std::string>, int64_t>> texts_;
};

} // namespace accord::service
