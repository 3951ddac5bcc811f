// The work of one round, shared out in chunks: what nobody has yet, who has what, what is done.
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace accord {

/// A chunk whose holder is lost is work again; one that is out for too long is given to another as
/// well, and the first answer counts. Holders are numbers. Not for several threads at once.
class ChunkQueue {
public:
  using Clock = std::chrono::steady_clock;
  struct Chunk {
    size_t first = 0, count = 0; ///< of the round's items
  };

  /// A new round of `items` in chunks of `size` (of the last the rest).
  void open(size_t items, size_t size);
  bool complete() const { return left_ == 0; }
  /// Chunks that nobody has.
  size_t waiting() const { return waiting_.size(); }
  /// The next chunk for `holder`: one that nobody has, else one that others have had for `patience` or longer.
  std::optional<size_t> take(size_t holder, Clock::time_point now, Clock::duration patience);
  const Chunk &chunk(size_t number) const { return states_[number].chunk; }
  size_t chunks() const { return states_.size(); }
  /// False: it was done before.
  bool finish(size_t number);
  /// Nothing will come from `holder`.
  void lose(size_t holder);

private:
  struct State {
    Chunk chunk;
    bool done = false;
    std::vector<size_t> holders;
    Clock::time_point since; ///< when it was last given out
  };
  std::vector<State> states_;
  std::deque<size_t> waiting_;
  size_t left_ = 0;
};

} // namespace accord
