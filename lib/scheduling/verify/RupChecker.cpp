#include "lib/scheduling/verify/RupChecker.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {

RupChecker::RupChecker(int32_t variables)
    : store(1, 0), watches(2 * size_t(variables) + 2), value(2 * size_t(variables) + 2, 0),
      reasons(size_t(variables) + 1, kNone), buckets(1 << 16, kNone) {}

/// The same for every order of the literals.
uint32_t RupChecker::hashOf(llvm::ArrayRef<int32_t> clause) {
  uint64_t sum = 0, product = 1;
  for (int32_t literal : clause) {
    uint64_t number = index(literal);
    sum += number * 0x9E3779B97F4A7C15u;
    product *= 2 * number + 1;
  }
  return uint32_t((sum ^ product) >> 17);
}

void RupChecker::assign(int32_t literal, Place reason) {
  value[index(literal)] = 1, value[index(-literal)] = -1;
  reasons[literal > 0 ? literal : -literal] = reason;
  trail.push_back(literal);
}

/// False at a contradiction.
bool RupChecker::propagate() {
  while (propagated < trail.size()) {
    int32_t fallen = -trail[propagated++];
    std::vector<Watch> &list = watches[index(fallen)];
    size_t kept = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      Watch watch = list[i];
      if (value[index(watch.other)] > 0) {
        list[kept++] = watch;
        continue;
      }
      int32_t *literals = &store[watch.clause];
      int32_t length = size(watch.clause);
      if (length == 0) // it was removed
        continue;
      if (literals[0] == fallen)
        std::swap(literals[0], literals[1]);
      int32_t first = literals[0];
      if (value[index(first)] > 0) {
        list[kept++] = {watch.clause, first};
        continue;
      }
      int32_t next = 2;
      while (next < length && value[index(literals[next])] < 0)
        ++next;
      if (next < length) {
        std::swap(literals[1], literals[next]);
        watches[index(literals[1])].push_back({watch.clause, first});
        continue;
      }
      list[kept++] = watch;
      if (value[index(first)] == 0) {
        assign(first, watch.clause);
        continue;
      }
      while (++i < list.size())
        list[kept++] = list[i];
      list.resize(kept);
      return false;
    }
    list.resize(kept);
  }
  return true;
}

void RupChecker::add(llvm::ArrayRef<int32_t> clause) {
  if (refuted)
    return;
  if (++count > 2 * buckets.size())
    grow();
  uint32_t hash = hashOf(clause) & uint32_t(buckets.size() - 1);
  store.push_back(int32_t(clause.size()));
  store.push_back(int32_t(buckets[hash]));
  Place place = Place(store.size());
  buckets[hash] = place;
  store.insert(store.end(), clause.begin(), clause.end());
  int32_t *literals = store.data() + place; // of the empty clause there are none
  // What is not false goes first, to be watched.
  size_t open = 0;
  for (size_t i = 0; i < clause.size() && open < 2; ++i)
    if (value[index(literals[i])] >= 0)
      std::swap(literals[open++], literals[i]);
  if (open == 0) {
    refuted = true;
    return;
  }
  if (clause.size() > 1)
    for (int one : {0, 1})
      watches[index(literals[one])].push_back({place, literals[1 - one]});
  if (open == 1 && value[index(literals[0])] == 0) {
    assign(literals[0], place);
    refuted = !propagate();
  }
}

void RupChecker::grow() {
  std::vector<Place> places;
  for (Place last : buckets)
    for (; last != kNone; last = Place(store[last - 1]))
      if (size(last) > 0)
        places.push_back(last);
  llvm::sort(places);
  buckets.assign(4 * buckets.size(), kNone);
  for (Place place : places) {
    uint32_t hash = hashOf({&store[place], size_t(size(place))}) & uint32_t(buckets.size() - 1);
    store[place - 1] = int32_t(buckets[hash]);
    buckets[hash] = place;
  }
  count = places.size();
}

bool RupChecker::derive(llvm::ArrayRef<int32_t> lemma) {
  return derive(lemma, [](auto) { return false; });
}

bool RupChecker::derive(llvm::ArrayRef<int32_t> lemma,
                        llvm::function_ref<bool(llvm::function_ref<int(int32_t)> valueOf)> contradicts) {
  if (refuted)
    return true;
  size_t before = trail.size();
  bool follows = false;
  for (int32_t literal : lemma) {
    follows |= value[index(literal)] > 0;
    if (value[index(literal)] == 0)
      assign(-literal, kNone);
  }
  follows = follows || !propagate() || contradicts([&](int32_t literal) { return int{value[index(literal)]}; });
  for (; trail.size() > before; trail.pop_back()) {
    int32_t literal = trail.back();
    value[index(literal)] = value[index(-literal)] = 0;
    reasons[literal > 0 ? literal : -literal] = kNone;
  }
  propagated = before;
  if (follows)
    add(lemma);
  return follows;
}

void RupChecker::remove(llvm::ArrayRef<int32_t> clause) {
  std::vector<int32_t> sorted(clause.begin(), clause.end()), other;
  llvm::sort(sorted);
  Place bucket = hashOf(clause) & uint32_t(buckets.size() - 1);
  for (Place place = buckets[bucket]; place != kNone; place = Place(store[place - 1])) {
    if (size_t(size(place)) != clause.size() || clause.empty())
      continue;
    other.assign(&store[place], &store[place] + size(place));
    llvm::sort(other);
    if (other != sorted)
      continue;
    // A literal that follows is moved to the front by whoever assigns it.
    int32_t literal = store[place];
    if (value[index(literal)] > 0 && reasons[literal > 0 ? literal : -literal] == place)
      return;
    store[place - kHead] = 0;
    return;
  }
}

} // namespace accord
