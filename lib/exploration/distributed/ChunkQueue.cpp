#include "lib/exploration/distributed/ChunkQueue.h"
#include <algorithm>

namespace accord {

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

} // namespace accord
