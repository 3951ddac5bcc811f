// How often somebody may do something: a bucket for each, that refills with time. And who is known.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace accord::service {

/// Of each key `burst` at once and `perSecond` on average. It keeps at most `kMaxKeys`; those that have been idle for
/// long are forgotten first. Any thread.
class RateLimit {
public:
  static constexpr size_t kMaxKeys = 16384;
  RateLimit(double perSecond, double burst) : perSecond_(perSecond), burst_(burst) {}

  /// Takes one, if there is one. `now` in seconds of a clock that never goes back.
  bool take(const std::string &key, double now);
  /// Whether there is one; takes none.
  bool has(const std::string &key, double now) const;
  /// Whole seconds until there is one again, 1 or more: for "Retry-After".
  int secondsUntil(const std::string &key, double now) const;

private:
  struct Bucket {
    double left = 0, since = 0;
  };
  double leftOf(const Bucket &bucket, double now) const;
  void makeRoom(double now);

  const double perSecond_, burst_;
  mutable std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

/// Tokens that were good, with the address that they came from: who has one is not shut out by others who guess at
/// theirs. What is kept are hashes, of at most `kMaxKeys`. Any thread.
class KnownTokens {
public:
  static constexpr size_t kMaxKeys = 8192;
  bool has(const std::string &hash) const;
  void add(const std::string &hash);
  void remove(const std::string &hash);

private:
  mutable std::mutex mutex_;
  std::set<std::string> hashes_;
};

} // namespace accord::service
