#include "lib/exploration/distributed/ServerExecutor.h"
#include "lib/exploration/distributed/RankMessage.h"
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace accord {
namespace {

using Kind = RankMessage::Kind;

/// Threads that answer what is asked, while the caller listens.
class Desk {
public:
  Desk(ServerLink &link, MiningProblem &problem, unsigned threads) : link_(link), problem_(problem) {
    for (unsigned i = 0; i < std::clamp(threads, 1u, 256u); ++i) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error &) {
        if (threads_.empty())
          throw;
        break; // fewer than asked for will do
      }
    }
  }
  ~Desk() {
    {
      std::lock_guard lock(mutex_);
      asked_.clear(); // done by others, where it counts
      ending_ = true;
    }
    more_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
  }
  void query(RankMessage work) {
    {
      std::lock_guard lock(mutex_);
      asked_.push_back(std::move(work));
    }
    more_.notify_one();
  }

private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [&] { return ending_ || !asked_.empty(); });
      if (asked_.empty())
        return;
      RankMessage work = std::move(asked_.front());
      asked_.pop_front();
      lock.unlock();
      RankMessage answer{Kind::Answer, work.number, work.chunk};
      for (const DesignBox &box : work.boxes)
        answer.results.push_back(runEvaluationTask(problem_, work.task, box));
      link_.send(encoded(answer)); // that the leader is lost is noticed by who listens
      lock.lock();
    }
  }

  ServerLink &link_;
  MiningProblem &problem_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<RankMessage> asked_;
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

/// Nothing in it is beyond the problem's parameters.
bool makesSense(const RankMessage &work, const std::vector<DesignParameter> &parameters) {
  bool whole = work.task.query == EvaluationTask::Query::Bound || work.task.query == EvaluationTask::Query::TightenBox;
  return std::all_of(work.boxes.begin(), work.boxes.end(), [&](const DesignBox &box) {
    return isValidDesign(box.low, parameters) && (!whole || isValidDesign(box.high, parameters));
  });
}

} // namespace

ServerExecutor::ServerExecutor(ServerLink &link, unsigned threads, const std::string &host, uint64_t process)
    : link_(link), threads_(threads) {
  RankMessage hello{Kind::Hello};
  hello.threads = threads;
  hello.text = host;
  hello.process = process;
  lost_ = !link_.send(encoded(hello));
}

ServerExecutor::~ServerExecutor() {
  if (!lost_)
    link_.send(encoded({Kind::Bye}));
}

void ServerExecutor::fail(const std::string &error) {
  RankMessage failed{Kind::Failed};
  failed.text = error;
  lost_ |= !link_.send(encoded(failed));
  while (!lost_)
    lost_ = !link_.receive();
}

MiningResult ServerExecutor::search(MiningStrategy, MiningProblem &problem, const MiningOptions &) {
  uint64_t number = ++searches_;
  bool begun = false;
  Desk desk(link_, problem, threads_);
  while (!lost_) {
    auto text = link_.receive();
    auto message = text ? decoded(*text) : std::nullopt;
    bool known = false;
    if (message && message->kind == Kind::Begin && message->number == number && !begun) {
      RankMessage ready{Kind::Ready, number};
      ready.text = sharedDigest(problem);
      begun = known = link_.send(encoded(ready));
    } else if (message && message->kind == Kind::Work && begun) {
      if ((known = makesSense(*message, problem.parameters())))
        desk.query(std::move(*message));
    } else if (message && message->kind == Kind::End && message->number == number) {
      return std::move(message->result);
    }
    lost_ = !known;
  }
  MiningResult nothing;
  nothing.refused = true;
  nothing.error = "the process that leads the search is lost";
  return nothing;
}

std::vector<DesignEvaluation> ServerExecutor::results(MiningProblem &problem, const EvaluationTask &task,
                                                      const std::vector<DesignBox> &boxes) {
  return makeThreadExecutor(threads_)->results(problem, task, boxes);
}

} // namespace accord
