#include "lib/exploration/distributed/LeaderExecutor.h"
#include "lib/exploration/distributed/RankMessage.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace accord {
namespace {

using Kind = RankMessage::Kind;
using Clock = ChunkQueue::Clock;
using Span = std::chrono::duration<double>;

/// A chunk of less work than that is not worth its message; nor is a round of as much.
constexpr double kChunkSeconds = 1e-3, kRoundSeconds = 5e-4;

struct Rank {
  enum class Status : uint8_t { Absent, Joining, Ready, Refused, Done, Lost };
  Status status = Status::Absent;
  unsigned threads = 1;
  LeaderStatistics::Rank who;
  std::string error; ///< why it was refused
  struct Out {
    uint64_t round, chunk;
    Clock::time_point since;
  };
  std::vector<Out> out; ///< asked for and not answered yet
};

} // namespace

void ChunkQueue::open(size_t items, size_t size) {
  states_.clear();
  waiting_.clear();
  size = std::max<size_t>(size, 1);
  for (size_t first = 0; first < items; first += size) {
    waiting_.push_back(states_.size());
    states_.emplace_back().chunk = {first, std::min(size, items - first)};
  }
  left_ = states_.size();
}

std::optional<size_t> ChunkQueue::take(size_t holder, Clock::time_point now, Clock::duration patience) {
  std::optional<size_t> number;
  if (!waiting_.empty()) {
    number = waiting_.front();
    waiting_.pop_front();
  } else {
    for (size_t i = 0; i < states_.size() && !number; ++i) {
      const State &state = states_[i];
      if (!state.done && now - state.since >= patience &&
          std::find(state.holders.begin(), state.holders.end(), holder) == state.holders.end())
        number = i;
    }
  }
  if (number) {
    states_[*number].holders.push_back(holder);
    states_[*number].since = now;
  }
  return number;
}

bool ChunkQueue::finish(size_t number) {
  State &state = states_[number];
  if (state.done)
    return false;
  state.done = true;
  --left_;
  return true;
}

void ChunkQueue::lose(size_t holder) {
  for (size_t i = 0; i < states_.size(); ++i) {
    State &state = states_[i];
    if (std::erase(state.holders, holder) && !state.done && state.holders.empty())
      waiting_.push_front(i);
  }
}

// One thread listens and hands out; those that search and compute meet it at the board.
struct LeaderExecutor::State {
  State(LeaderLink &link, const LeaderOptions &options)
      : link(link), options(options), workers(options.threads), threads(std::clamp(options.threads, 1u, 256u)),
        ranks(link.ranks() + 1) {
    statistics.bounds.resize(ranks.size());
    statistics.values.resize(ranks.size());
    listener = std::thread([this] { listen(); });
  }
  ~State() {
    {
      std::lock_guard lock(mutex);
      ending = true;
    }
    link.wake();
    listener.join();
  }

  void send(size_t rank, const RankMessage &message) {
    ++statistics.messages;
    link.send(rank, encoded(message));
  }
  /// To all, and to those that join later.
  void announce(const RankMessage &message) {
    announced.push_back(message);
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      if (present(rank))
        send(rank, message);
  }
  bool present(size_t rank) const {
    return ranks[rank].status == Rank::Status::Joining || ranks[rank].status == Rank::Status::Ready;
  }
  bool any(Rank::Status status) const {
    return std::any_of(ranks.begin() + 1, ranks.end(), [status](const Rank &rank) { return rank.status == status; });
  }
  Clock::duration patience() const {
    return std::max<Clock::duration>(options.patience, std::chrono::duration_cast<Clock::duration>(4 * longest));
  }
  bool silent(const Rank &rank) const {
    Clock::time_point now = Clock::now();
    return std::any_of(rank.out.begin(), rank.out.end(),
                       [&](const Rank::Out &out) { return now - out.since >= patience(); });
  }

  void listen() {
    for (;;) {
      auto event = link.next(std::chrono::milliseconds(200));
      std::lock_guard lock(mutex);
      if (ending)
        return;
      if (event)
        handle(*event);
      handOut();
    }
  }

  void handle(LeaderLink::Event &event) {
    if (event.rank == 0 || event.rank >= ranks.size())
      return;
    Rank &rank = ranks[event.rank];
    auto message = event.message ? decoded(*event.message) : std::nullopt;
    statistics.messages += event.message.has_value();
    bool good = message && rank.status != Rank::Status::Lost;
    switch (good ? message->kind : Kind::Begin) {
    case Kind::Hello:
      if (!(good = rank.status == Rank::Status::Absent))
        break;
      rank.threads = std::clamp(message->threads, 1u, 256u);
      rank.who = {event.rank, message->text, message->process};
      rank.status = Rank::Status::Joining;
      for (const RankMessage &earlier : announced)
        send(event.rank, earlier);
      break;
    case Kind::Ready:
      if (message->number != searches)
        break; // of a search that was over before the rank came to it
      if (message->text == digest) {
        rank.status = Rank::Status::Ready;
      } else {
        rank.status = Rank::Status::Refused;
        rank.error = "has a different mining problem: other files, or another version of accord";
      }
      break;
    case Kind::Answer:
      good = take(event.rank, *message);
      break;
    case Kind::Failed:
      rank.status = Rank::Status::Refused;
      rank.error = "has no mining problem: " + message->text;
      break;
    case Kind::Bye:
      rank.status = Rank::Status::Done;
      chunkQueue.lose(event.rank);
      break;
    case Kind::Begin:
    case Kind::Work:
    case Kind::End:
      good = false;
      break;
    }
    if (!good)
      lose(event);
    changed.notify_all();
  }

  void lose(const LeaderLink::Event &event) {
    Rank &rank = ranks[event.rank];
    if (event.message)
      link.drop(event.rank); // it says what it should not
    if (rank.status == Rank::Status::Absent || present(event.rank)) {
      rank.who.rank = event.rank;
      statistics.lost.push_back(rank.who);
      rank.status = Rank::Status::Lost;
    }
    rank.out.clear();
    chunkQueue.lose(event.rank);
  }

  /// False: no answer to what it was asked.
  bool take(size_t number, RankMessage &answer) {
    Rank &rank = ranks[number];
    auto out = std::find_if(rank.out.begin(), rank.out.end(), [&](const Rank::Out &out) {
      return out.round == answer.number && out.chunk == answer.chunk;
    });
    // Beyond the round, or given twice: known.
    if (out == rank.out.end())
      return answer.number <= round;
    Clock::duration took = Clock::now() - out->since;
    if (took < patience())
      longest = std::max<Span>(longest, took);
    rank.out.erase(out);
    if (answer.number != round || !boxes)
      return true;
    if (answer.results.size() != chunkQueue.chunk(answer.chunk).count)
      return false;
    store(number, answer.chunk, answer.results);
    return true;
  }

  void store(size_t rank, size_t chunk, const std::vector<DesignEvaluation> &results) {
    if (!chunkQueue.finish(chunk))
      return;
    std::copy(results.begin(), results.end(), found.begin() + chunkQueue.chunk(chunk).first);
    bool bound = task.query != EvaluationTask::Query::Evaluate;
    (bound ? statistics.bounds : statistics.values)[rank] += results.size();
  }

  /// To every rank as much as its threads do at once, and one chunk more while there are enough.
  void handOut() {
    if (!boxes || !searching || chunkQueue.complete())
      return;
    for (bool some = true; some;) { // in turns
      some = false;
      for (size_t i = 1; i < ranks.size(); ++i) {
        Rank &rank = ranks[i];
        size_t max = rank.threads + (chunkQueue.waiting() > all() ? 1 : 0);
        if (rank.status != Rank::Status::Ready || rank.out.size() >= max || silent(rank))
          continue;
        Clock::time_point now = Clock::now();
        auto chunk = chunkQueue.take(i, now, patience());
        if (!chunk)
          continue;
        RankMessage work{Kind::Work, round, *chunk};
        work.task = task;
        auto first = boxes->begin() + static_cast<ptrdiff_t>(chunkQueue.chunk(*chunk).first);
        work.boxes.assign(first, first + static_cast<ptrdiff_t>(chunkQueue.chunk(*chunk).count));
        rank.out.push_back({round, *chunk, now});
        send(i, work);
        some = true;
      }
    }
  }
  /// Threads of all processes.
  size_t all() const {
    size_t all = threads;
    for (const Rank &rank : ranks)
      all += rank.status == Rank::Status::Ready ? rank.threads : 0;
    return all;
  }

  /// One of this process's threads, until the round is done.
  void compute(MiningProblem &problem) {
    std::unique_lock lock(mutex);
    while (!chunkQueue.complete()) {
      Clock::time_point began = Clock::now();
      auto chunk = chunkQueue.take(0, began, patience());
      if (!chunk) {
        changed.wait_until(lock, began + std::min<Clock::duration>(patience() / 4, std::chrono::seconds(1)));
        continue;
      }
      ChunkQueue::Chunk part = chunkQueue.chunk(*chunk);
      lock.unlock();
      std::vector<DesignEvaluation> results;
      for (size_t i = part.first; i < part.first + part.count; ++i)
        results.push_back(runEvaluationTask(problem, task, (*boxes)[i]));
      lock.lock();
      Span took = Clock::now() - began;
      longest = std::max(longest, took);
      learn(took, part.count);
      store(0, *chunk, results);
      if (chunkQueue.complete())
        changed.notify_all();
    }
  }
  void learn(Span took, size_t count) {
    double &one = each[static_cast<size_t>(task.query)];
    double now = took.count() / count;
    one = one > 0 ? 0.9 * one + 0.1 * now : now;
  }

  LeaderLink &link;
  const LeaderOptions options;
  ThreadPool workers;
  const size_t threads;

  std::mutex mutex; ///< of all below
  std::condition_variable changed;
  std::vector<Rank> ranks; ///< the first one is this process
  std::vector<RankMessage> announced;
  uint64_t searches = 0, round = 0;
  std::string digest; ///< of the search's problem
  ChunkQueue chunkQueue;
  EvaluationTask task;
  const std::vector<DesignBox> *boxes = nullptr; ///< of the round that is shared out
  std::vector<DesignEvaluation> found;
  Span longest{0};                         ///< that a chunk took
  double each[kNumEvaluationQueries] = {}; ///< seconds of one answer, of late; 0: not known
  LeaderStatistics statistics;
  bool searching = false; ///< the ranks have the problem
  bool ending = false;
  std::thread listener;
};

LeaderExecutor::LeaderExecutor(LeaderLink &link, const LeaderOptions &options)
    : state_(std::make_unique<State>(link, options)) {}
LeaderExecutor::~LeaderExecutor() = default;

MiningResult LeaderExecutor::search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) {
  State &state = *state_;
  std::string digest = sharedDigest(problem);
  std::optional<std::string> error;
  {
    std::unique_lock lock(state.mutex);
    state.digest = digest;
    RankMessage begin{Kind::Begin, ++state.searches};
    begin.text = digest;
    for (Rank &rank : state.ranks)
      if (rank.status == Rank::Status::Ready)
        rank.status = Rank::Status::Joining;
    state.announce(begin);
    state.changed.wait_for(lock, state.options.gathering, [&] {
      return state.any(Rank::Status::Refused) ||
             (!state.any(Rank::Status::Absent) && !state.any(Rank::Status::Joining));
    });
    for (size_t i = 1; i < state.ranks.size() && !error; ++i)
      if (const Rank &rank = state.ranks[i]; rank.status == Rank::Status::Refused)
        error = fmt::format("rank {} on {} {}", i, rank.who.host, rank.error);
    state.searching = true;
  }
  MiningResult result;
  if (error) {
    result.refused = true;
    result.error = *error;
  } else {
    MiningOptions ours = options;
    ours.executor = this;
    result = strategy(problem, ours);
  }
  std::lock_guard lock(state.mutex);
  state.searching = false;
  RankMessage end{Kind::End, state.searches};
  end.result = result;
  end.result.convergence.clear();
  state.announce(end);
  state.link.wake();
  return result;
}

std::vector<DesignEvaluation> LeaderExecutor::results(MiningProblem &problem, const EvaluationTask &task,
                                                      const std::vector<DesignBox> &boxes) {
  State &state = *state_;
  {
    std::lock_guard lock(state.mutex);
    double one = state.each[static_cast<size_t>(task.query)], seconds = one * double(boxes.size());
    size_t all = state.all(), fair = std::max<size_t>(1, boxes.size() / (2 * all));
    size_t max = one > 0 ? static_cast<size_t>(std::min(kChunkSeconds / one, 1e6)) + 1 : 16;
    bool cheap = task.query == EvaluationTask::Query::Bound || one > 0;
    state.chunkQueue.open(boxes.size(), cheap ? std::min(max, fair) : 1);
    state.task = task;
    state.found.assign(boxes.size(), {});
    state.boxes = &boxes;
    ++state.round;
    // What is done sooner than said is not shared out: nobody is woken.
    if (boxes.size() > 1 && all > state.threads && (one == 0 || seconds > kRoundSeconds))
      state.link.wake();
  }
  state.workers.each(std::min(state.threads, state.chunkQueue.chunks()), [&](size_t) { state.compute(problem); });
  std::lock_guard lock(state.mutex);
  state.boxes = nullptr;
  return std::move(state.found);
}

LeaderStatistics LeaderExecutor::statistics() const {
  std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

std::vector<LeaderStatistics::Rank> LeaderExecutor::dismiss() {
  State &state = *state_;
  std::unique_lock lock(state.mutex);
  std::vector<LeaderStatistics::Rank> left;
  auto quiet = [&] { // those that are left have long been silent
    left.clear();
    bool all = true;
    for (size_t i = 1; i < state.ranks.size(); ++i)
      if (state.present(i)) {
        left.push_back(state.ranks[i].who);
        all &= state.silent(state.ranks[i]);
      }
    return all;
  };
  state.changed.wait_for(lock, state.patience(), quiet);
  return left;
}

} // namespace accord
