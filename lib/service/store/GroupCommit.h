// Changes from many threads in one transaction and one flush to the disk (group commit; DeWitt et al., Implementation
// Techniques for Main Memory Database Systems, SIGMOD 1984): the first that comes commits; those that come meanwhile
// wait, and the first of them commits all of them together.
#pragma once
#include "lib/service/store/Database.h"
#include <condition_variable>
#include <deque>
#include <mutex>

namespace accord::service {

class GroupCommit {
public:
  using Work = std::function<Result<void>(Connection &)>;
  explicit GroupCommit(Database &database) : database(database) {}

  /// Returns when `work` is on the disk, or nothing of it happened. `work` may be called again, and on another thread;
  /// if it fails, only what it did is undone.
  Result<void> run(const Work &work);

private:
  struct Item {
    const Work *work = nullptr;
    Result<void> result;
    bool isDone = false, leads = false;
    std::condition_variable changed;
  };
  void commit(const std::vector<Item *> &batch);

  Database &database;
  std::mutex mutex;
  std::deque<Item *> queue;
  bool isBusy = false; ///< a thread commits
};

} // namespace accord::service
