#include "lib/service/http/RateLimit.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace accord::service {

double RateLimit::leftOf(const Bucket &bucket, double now) const {
  return std::min(burst_, bucket.left + std::max(0.0, now - bucket.since) * perSecond_);
}

void RateLimit::makeRoom(double now) {
  std::erase_if(buckets_, [&](const auto &entry) { return leftOf(entry.second, now) >= burst_; });
  if (buckets_.size() < kMaxKeys)
    return;
  // All are in use: the half that was used longest ago goes.
  std::vector<double> times;
  for (const auto &[key, bucket] : buckets_)
    times.push_back(bucket.since);
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(buckets_, [&](const auto &entry) { return entry.second.since <= *middle; });
}

bool RateLimit::take(const std::string &key, double now) {
  std::scoped_lock lock(mutex_);
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kMaxKeys)
      makeRoom(now);
    found = buckets_.emplace(key, Bucket{burst_, now}).first;
  }
  double left = leftOf(found->second, now);
  bool may = left >= 1;
  found->second = {may ? left - 1 : left, now};
  return may;
}

bool RateLimit::has(const std::string &key, double now) const {
  std::scoped_lock lock(mutex_);
  auto found = buckets_.find(key);
  return found == buckets_.end() || leftOf(found->second, now) >= 1;
}

int RateLimit::secondsUntil(const std::string &key, double now) const {
  std::scoped_lock lock(mutex_);
  auto found = buckets_.find(key);
  double missing = found == buckets_.end() ? 0 : 1 - leftOf(found->second, now);
  return perSecond_ > 0 ? static_cast<int>(std::clamp(std::ceil(missing / perSecond_), 1.0, 3600.0)) : 3600;
}

bool KnownTokens::has(const std::string &hash) const {
  std::scoped_lock lock(mutex_);
  return hashes_.contains(hash);
}

void KnownTokens::add(const std::string &hash) {
  std::scoped_lock lock(mutex_);
  if (hashes_.size() >= kMaxKeys && !hashes_.contains(hash))
    hashes_.clear();
  hashes_.insert(hash);
}

void KnownTokens::remove(const std::string &hash) {
  std::scoped_lock lock(mutex_);
  hashes_.erase(hash);
}

} // namespace accord::service
