// Processes of a search as threads of the test, on a link that loses, delays and repeats.
#pragma once
#include "lib/exploration/distributed/LeaderExecutor.h"
#include "lib/exploration/distributed/RankMessage.h"
#include "lib/exploration/distributed/ServerExecutor.h"
#include "test/lib/exploration/MineProblems.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace accord::test {

/// What goes wrong with one rank; counted in its answers.
struct Fault {
  size_t lostAfter = SIZE_MAX;   ///< then its end of the line is closed
  size_t silentAfter = SIZE_MAX; ///< then nothing it says arrives
  size_t garbageAt = SIZE_MAX;   ///< this one says what no rank may say
  size_t shortAt = SIZE_MAX;     ///< this one has an answer too few
  int delay = 0;                 ///< milliseconds, before every answer
  bool twice = false;            ///< every answer comes twice
};

class FakeLink : public LeaderLink {
public:
  explicit FakeLink(size_t ranks) : to_(ranks + 1) {}

  size_t ranks() const override { return to_.size() - 1; }
  void send(size_t rank, std::string message) override {
    std::lock_guard lock(mutex_);
    if (!to_[rank].closed)
      to_[rank].queue.push_back(std::move(message));
    changed_.notify_all();
  }
  std::optional<Event> next(std::chrono::milliseconds wait) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [&] { return woken_ || !events_.empty(); });
    woken_ = false;
    if (events_.empty())
      return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  void wake() override {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void drop(size_t rank) override { close(rank, false); }

  void close(size_t rank, bool tell) {
    std::lock_guard lock(mutex_);
    if (!std::exchange(to_[rank].closed, true) && tell)
      events_.push_back({rank, std::nullopt});
    changed_.notify_all();
  }
  bool say(size_t rank, const std::string &message) {
    std::lock_guard lock(mutex_);
    if (to_[rank].closed)
      return false;
    events_.push_back({rank, message});
    changed_.notify_all();
    return true;
  }
  std::optional<std::string> hear(size_t rank) {
    std::unique_lock lock(mutex_);
    Line &line = to_[rank];
    changed_.wait(lock, [&] { return line.closed || !line.queue.empty(); });
    if (line.closed)
      return std::nullopt;
    std::string message = std::move(line.queue.front());
    line.queue.pop_front();
    return message;
  }

private:
  struct Line {
    std::deque<std::string> queue;
    bool closed = false;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Line> to_;
  std::deque<Event> events_;
  bool woken_ = false;
};

class FakeServerLink : public ServerLink {
public:
  FakeServerLink(FakeLink &link, size_t rank, const Fault &fault) : link_(link), rank_(rank), fault_(fault) {}

  bool send(const std::string &message) override {
    auto said = decoded(message);
    if (!said || said->kind != RankMessage::Kind::Answer)
      return link_.say(rank_, message);
    size_t answer = answers_++;
    if (fault_.delay)
      std::this_thread::sleep_for(std::chrono::milliseconds(fault_.delay));
    if (answer >= fault_.lostAfter) {
      link_.close(rank_, true);
      return false;
    }
    if (answer >= fault_.silentAfter)
      return true;
    if (answer == fault_.garbageAt)
      return link_.say(rank_, "\x04 this is no answer");
    if (answer == fault_.shortAt) {
      said->results.pop_back();
      return link_.say(rank_, encoded(*said));
    }
    return link_.say(rank_, message) && (!fault_.twice || link_.say(rank_, message));
  }
  std::optional<std::string> receive() override { return link_.hear(rank_); }

private:
  FakeLink &link_;
  size_t rank_;
  Fault fault_;
  std::atomic<size_t> answers_ = 0;
};

/// Takes its time, so that there is something to share out.
class SlowProblem : public MultiLevelProblem {
public:
  SlowProblem(uint64_t seed, int microseconds)
      : MultiLevelProblem(seed, seed % 3 ? 0 : 0.1), microseconds(microseconds) {}
  double bound(const DesignBox &box) override {
    pause(microseconds / 50);
    return MultiLevelProblem::bound(box);
  }
  double tightenBound(const Design &design, unsigned level) override {
    pause(microseconds / 5);
    return MultiLevelProblem::tightenBound(design, level);
  }
  double value(const Design &design) override {
    pause(microseconds);
    return MultiLevelProblem::value(design);
  }
  DesignEvaluation evaluate(const Design &design, double below) override {
    pause(microseconds);
    return MultiLevelProblem::evaluate(design, below);
  }
  std::string digest() override { return said; }

  static void pause(int microseconds) {
    if (microseconds > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }
  int microseconds;
  std::string said;
};

} // namespace accord::test
