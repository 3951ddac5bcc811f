#include "lib/service/http/EventHub.h"
#include "lib/service/http/ViewJson.h"
#include "lib/support/ThreadRole.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace accord::service {
namespace {

constexpr size_t kRecent = 8192, kUnderWay = size_t(64) << 10, kAsks = 32, kAtOnce = 500;
/// Seconds between two rounds, so that many events go out together; and after each `kSlice` watchers that were sent
/// some, so that requests do not wait for the thread of the connections until it has served a thousand.
constexpr double kRound = 0.03, kSlicePause = 0.005;
constexpr size_t kSlice = 50;

double steadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool isSeen(const Caller &caller, const ServiceEvent &event) {
  return caller.tenant.empty() || event.tenant.empty() || event.tenant == caller.tenant;
}

std::string textOf(const std::vector<ServiceEvent> &events) {
  std::string text;
  for (const ServiceEvent &event : events)
    text += fmt::format("id: {}\ndata: {}\n\n", event.number, jsonLine(toDocument(event)));
  return text;
}

/// Sees everything.
const Caller kEverybody{.name = "", .tenant = "", .role = Role::Operator};

} // namespace

void EventHub::start(HttpServer &server) {
  server_ = &server;
  thread_ = std::thread([this] { loop(); });
}

void EventHub::stop() {
  {
    std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void EventHub::add(std::shared_ptr<HttpStream> stream, EventWatch watch) {
  {
    std::scoped_lock lock(mutex_);
    added_.push_back({.stream = std::move(stream), .watch = std::move(watch)});
  }
  changed_.notify_all();
}

void EventHub::pause(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ends_; });
}

void EventHub::loop() {
  blockSignals();
  nameThread("events");
  for (;;) {
    bool wasIdle = watchers_.empty();
    {
      std::unique_lock lock(mutex_);
      if (wasIdle)
        changed_.wait(lock, [&] { return ends_ || !added_.empty(); });
      if (ends_)
        return;
    }
    if (wasIdle)
      findNewest();
    double now = steadyNow();
    join(now);
    asks_ = 0;
    isMoreToRead_ = false;
    texts_.clear();
    sent_ = 0;
    for (auto at = watchers_.begin(); at != watchers_.end();) {
      at = serve(*at, now) ? std::next(at) : watchers_.erase(at);
      if (sent_ >= kSlice) {
        sent_ = 0;
        pause(kSlicePause);
      }
    }
    if (!watchers_.empty() && follow())
      pause(kRound);
  }
}

void EventHub::join(double now) {
  std::scoped_lock lock(mutex_);
  for (Watcher &watcher : added_) {
    watcher.until = now + watcher.watch.wait;
    watcher.checked = watcher.sent = now;
    if (watcher.watch.streams && watcher.watch.position < 0) {
      // Where it begins, so that a client whose connection breaks before the first event loses none.
      watcher.watch.position = newest_;
      server_->send(watcher.stream, std::make_shared<std::string>(fmt::format("retry: 2000\nid: {}\n\n", newest_)));
    }
    watcher.isBehind = watcher.watch.position < newest_;
    watchers_.push_back(std::move(watcher));
  }
  added_.clear();
}

/// The number of the last event, by doubling and halving: whether there is one above a number is monotone in it.
void EventHub::findNewest() {
  auto isAbove = [&](int64_t number) {
    auto events = scheduler_.events(kEverybody, number, 1, std::chrono::milliseconds(0));
    return events && !events->empty();
  };
  int64_t low = newest_, step = 1;
  while (step < (int64_t(1) << 60) && isAbove(low + step - 1))
    low += step, step *= 2;
  // There is an event `low` or above (or none at all), and none above `low + step - 1`.
  int64_t high = low + step - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (isAbove(middle))
      low = middle + 1;
    else
      high = middle;
  }
  newest_ = before_ = low;
  recent_.clear();
}

/// Takes in what is new, or waits a little for it.
bool EventHub::follow() {
  auto events = scheduler_.events(kEverybody, newest_, kAtOnce * 2, std::chrono::milliseconds(isMoreToRead_ ? 0 : 100));
  if (!events) {
    pause(0.2);
    return false;
  }
  for (ServiceEvent &event : *events) {
    if (event.number <= newest_)
      continue;
    newest_ = event.number;
    recent_.push_back(std::move(event));
    if (recent_.size() > kRecent) {
      before_ = recent_.front().number;
      recent_.pop_front();
    }
  }
  return !events->empty();
}

bool EventHub::serve(Watcher &watcher, double now) {
  if (watcher.stream->isClosed || !check(watcher, now))
    return false;
  if (watcher.watch.streams && watcher.stream->pending > kUnderWay)
    return true;
  if (watcher.watch.position < before_)
    watcher.isBehind = true;
  if (watcher.isBehind)
    return readBehind(watcher, now);
  return watcher.watch.position >= newest_ || readRecent(watcher, now);
}

/// Whether it may go on: its token is good, and there is time left.
bool EventHub::check(Watcher &watcher, double now) {
  if (!watcher.watch.streams && now >= watcher.until + (watcher.isBehind ? 2 : 0)) {
    server_->finish(watcher.stream, format_({}));
    return false;
  }
  if (now - watcher.checked < heartbeat_)
    return true;
  watcher.checked = now;
  auto caller = scheduler_.callerOf(watcher.watch.token);
  if (!caller || caller->tenant != watcher.watch.caller.tenant) {
    server_->finish(watcher.stream, format_({}));
    return false;
  }
  if (watcher.watch.streams && now - watcher.sent >= heartbeat_ && watcher.stream->pending == 0) {
    // Tells a client that has gone from one that waits, and how far it is among events that it may not see.
    send(watcher, std::make_shared<std::string>(fmt::format("id: {}\n\n", watcher.watch.position)), now);
  }
  return true;
}

bool EventHub::readBehind(Watcher &watcher, double now) {
  if (++asks_ > kAsks) {
    isMoreToRead_ = true; // in the next round
    return true;
  }
  int64_t known = newest_;
  size_t limit = std::min(kAtOnce, watcher.watch.limit);
  auto events = scheduler_.events(watcher.watch.caller, watcher.watch.position, limit, std::chrono::milliseconds(0));
  if (!events)
    return true;
  bool isAll = events->size() < limit;
  if (!events->empty())
    watcher.watch.position = std::max(watcher.watch.position, events->back().number);
  isMoreToRead_ |= !isAll;
  if (isAll) {
    watcher.watch.position = std::max(watcher.watch.position, known);
    watcher.isBehind = false;
  }
  return events->empty() || give(watcher, std::move(*events), now);
}

bool EventHub::readRecent(Watcher &watcher, double now) {
  auto key = std::make_pair(watcher.watch.position, watcher.watch.caller.tenant);
  if (watcher.watch.streams)
    if (auto found = texts_.find(key); found != texts_.end()) {
      watcher.watch.position = found->second.second;
      send(watcher, found->second.first, now);
      return true;
    }
  auto first = std::ranges::upper_bound(recent_, watcher.watch.position, {}, &ServiceEvent::number);
  std::vector<ServiceEvent> events;
  for (auto one = first; one != recent_.end() && events.size() < std::min(kAtOnce, watcher.watch.limit); ++one) {
    if (isSeen(watcher.watch.caller, *one))
      events.push_back(*one);
    watcher.watch.position = one->number;
  }
  if (!watcher.watch.streams)
    return events.empty() || give(watcher, std::move(events), now);
  auto text = std::make_shared<const std::string>(textOf(events));
  texts_[key] = {text, watcher.watch.position};
  send(watcher, std::move(text), now);
  return true;
}

void EventHub::send(Watcher &watcher, std::shared_ptr<const std::string> text, double now) {
  if (text->empty())
    return;
  server_->send(watcher.stream, std::move(text));
  watcher.sent = now;
  ++sent_;
}

bool EventHub::give(Watcher &watcher, std::vector<ServiceEvent> events, double now) {
  if (watcher.watch.streams) {
    send(watcher, std::make_shared<std::string>(textOf(events)), now);
    return true;
  }
  ++sent_;
  server_->finish(watcher.stream, format_(std::move(events)));
  return false;
}

} // namespace accord::service
