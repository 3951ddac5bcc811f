// The open nodes of a best-first search.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

namespace accord {

/// A heap whose nodes may be moved out of it and looked through, which `std::priority_queue` does not allow.
/// `later(a, b)`: b is taken before a; where it says neither, the order is that of the heap, the same each time.
/// A bound that holds for all open nodes is that of the first one, if nodes are ordered by their bounds.
template <class Node, class Later> class BestFirstQueue {
public:
  explicit BestFirstQueue(Later later, std::vector<Node> nodes = {}) : later_(later), nodes_(std::move(nodes)) {
    std::make_heap(nodes_.begin(), nodes_.end(), later_);
  }

  bool empty() const { return nodes_.empty(); }
  size_t size() const { return nodes_.size(); }
  const Node &first() const { return nodes_.front(); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  void push(Node node) {
    nodes_.push_back(std::move(node));
    std::push_heap(nodes_.begin(), nodes_.end(), later_);
  }
  Node pop() {
    std::pop_heap(nodes_.begin(), nodes_.end(), later_);
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    return node;
  }

private:
  Later later_;
  std::vector<Node> nodes_;
};

} // namespace accord
