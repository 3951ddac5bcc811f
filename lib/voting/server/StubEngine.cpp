#include "lib/support/ThreadRole.h"
#include "lib/voting/server/VoteEngine.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

namespace accord::voting {
namespace {

using Clock = std::chrono::steady_clock;

/// A thread calls back at the end of each service time. Times begin when an input comes, or when one of `parallel`
/// computations is over, whichever is later.
class StubEngine final : public VoteEngine {
public:
  StubEngine(VoteRows rows, size_t column, const StubOptions &options)
      : rows_(std::move(rows)), column_(column), options_(options), thread_([this] { loop(); }) {
    for (size_t i = 0; i < options.parallel; ++i)
      free_.push(Clock::time_point::min());
  }
  ~StubEngine() override {
    {
      std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void vote(int64_t id, const llvm::json::Value &input, std::function<void(EngineVote)> done) override {
    const auto sample = input.getAsInteger();
    if (!sample || *sample < 0)
      return done({.error = "the input of a stub is the number of a sample, from 0"});
    const auto number = static_cast<uint64_t>(id);
    SplitMix random(SplitMix(options_.seed ^ ~number).next());
    if (random.unit() < options_.lost)
      return; // and so is its request
    const int64_t row = *sample % rows_.samples();
    const bool isWrong = (rows_.wrongOf(row) >> column_ & 1) || random.unit() < options_.changed;
    MemberVote vote{.label = isWrong ? wrongLabel(*sample, options_.classes) : trueLabel(*sample, options_.classes)};
    vote.probabilities.resize(static_cast<size_t>(options_.classes));
    vote.probabilities[static_cast<size_t>(vote.label)] = 1;
    if (options_.time.isNone())
      return done({.vote = std::move(vote)});
    const auto time = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(options_.time.of(options_.seed, number)));
    std::scoped_lock lock(mutex_);
    Clock::time_point begin = Clock::now();
    if (options_.parallel > 0) {
      begin = std::max(begin, free_.top());
      free_.pop();
      free_.push(begin + time);
    }
    const bool isFirst = due_.empty() || begin + time < due_.begin()->first;
    due_.emplace(begin + time, Due{std::move(vote), std::move(done)});
    if (isFirst)
      changed_.notify_all();
  }

private:
  struct Due {
    MemberVote vote;
    std::function<void(EngineVote)> done;
  };

  void loop() {
    nameThread("votes");
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (due_.empty()) {
        changed_.wait(lock);
        continue;
      }
      if (const auto at = due_.begin()->first; Clock::now() < at) {
        changed_.wait_until(lock, at);
        continue;
      }
      Due due = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      lock.unlock();
      due.done({.vote = std::move(due.vote)});
      lock.lock();
    }
  }

  const VoteRows rows_;
  const size_t column_;
  const StubOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, Due> due_;
  /// When each of the computations is over, the earliest on top.
  std::priority_queue<Clock::time_point, std::vector<Clock::time_point>, std::greater<>> free_;
  bool ends_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace

std::unique_ptr<VoteEngine> makeStubEngine(VoteRows rows, size_t column, const StubOptions &options) {
  return std::make_unique<StubEngine>(std::move(rows), column, options);
}

} // namespace accord::voting
