#include "lib/service/store/GroupCommit.h"

namespace accord::service {

constexpr size_t kMaxTogether = 256;

/// The error of a whole transaction is that of all of its items.
void GroupCommit::commit(const std::vector<Item *> &batch) {
  auto together = [&](Connection &connection) -> Result<void> {
    if (batch.size() == 1)
      return (*batch[0]->work)(connection);
    for (Item *item : batch) {
      if (auto begun = connection.run("savepoint item"); !begun)
        return begun;
      item->result = (*item->work)(connection);
      if (!item->result)
        if (auto undone = connection.run("rollback to savepoint item"); !undone)
          return item->result;
      if (auto ended = connection.run("release savepoint item"); !ended)
        return ended;
    }
    return {};
  };
  Result<void> done = database.transaction(together);
  for (Item *item : batch)
    if (!done || batch.size() == 1)
      item->result = done;
}

Result<void> GroupCommit::run(const Work &work) {
  Item item;
  item.work = &work;
  std::unique_lock lock(mutex);
  queue.push_back(&item);
  if (isBusy)
    item.changed.wait(lock, [&] { return item.isDone || item.leads; });
  if (item.isDone)
    return std::move(item.result);
  isBusy = true;
  auto end = queue.begin() + std::min(queue.size(), kMaxTogether);
  std::vector<Item *> batch(queue.begin(), end);
  queue.erase(queue.begin(), end);
  lock.unlock();
  commit(batch);
  lock.lock();
  // Under the lock, as the items of others end with their threads.
  for (Item *other : batch)
    if (other != &item) {
      other->isDone = true;
      other->changed.notify_one();
    }
  isBusy = !queue.empty();
  if (isBusy) {
    queue.front()->leads = true;
    queue.front()->changed.notify_one();
  }
  return std::move(item.result);
}

} // namespace accord::service
