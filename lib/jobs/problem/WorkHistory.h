// What jobs that are complete say of the work that others still have.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace accord::jobs {

/// A job of which only the application, the work that is done and its best rate are known.
struct UnknownWork {
  std::string application;
  double done = 0;     ///< in the unit of its application
  double frontier = 0; ///< the most that a job of the application has done and is not complete; at least `done`
  double rate = 0;     ///< work a second where it is fastest, more than 0
  double expected = 0; ///< work that a job at the frontier is expected to have left without any history, more than 0
};

/// A job that is complete.
struct CompleteJob {
  std::string application;
  double work = 0; ///< all that it had, in the unit of its application
  double rate = 0; ///< work a second where it was fastest
};

/// The total work of complete jobs by application, and what it says of the work that another job has left: the mean of
/// what those have left that had more work than it has done, and of one more job that stands for what they do not say.
/// As jobs of an application are alike, this one ends behind the frontier, by the mean of what the jobs of all
/// applications have left that came so far, in seconds at the best rate; among these, one more has left what is
/// expected without any history. So of jobs of an application of which none is complete, the one that has done most
/// comes first, and is the first to say how much they have.
///
/// Jobs that were complete before, on another cluster, speak for their own applications alone: how long those of others
/// took there says nothing of an application that was never seen there (docs/learning.md, "Regret").
class WorkHistory {
public:
  void add(const CompleteJob &job) {
    if (keep(job))
      secondsHere.push_back(job.work / job.rate);
  }
  void addEarlier(const CompleteJob &job) {
    if (keep(job))
      earlier.insert(job.application);
  }

  /// The work that the job is expected to have left; more than 0.
  double left(const UnknownWork &job) const {
    const double beyond =
        job.rate * meanLeft(secondsFor(job.application), job.frontier / job.rate, job.expected / job.rate);
    const double more = job.frontier - job.done + beyond;
    const auto known = works.find(job.application);
    return known == works.end() ? more : meanLeft(known->second, job.done, more);
  }

  size_t size() const { return seconds.size(); } ///< complete jobs
  /// The total works of the complete jobs of each application.
  const std::map<std::string, std::vector<double>> &workOf() const { return works; }
  /// Work / rate of the complete jobs that speak for an application of which they are not.
  const std::vector<double> &secondsFor(const std::string &application) const {
    return earlier.contains(application) ? seconds : secondsHere;
  }

private:
  /// False: it had nothing to do.
  bool keep(const CompleteJob &job) {
    if (!(job.work > 0) || !(job.rate > 0))
      return false;
    works[job.application].push_back(job.work);
    seconds.push_back(job.work / job.rate);
    return true;
  }
  /// Of what is left of totals that are more than `done`, and of `more`.
  static double meanLeft(const std::vector<double> &totals, double done, double more) {
    double sum = more, count = 1;
    for (double total : totals)
      if (total > done)
        sum += total - done, ++count;
    return sum / count;
  }

  std::map<std::string, std::vector<double>> works; ///< of each application
  std::vector<double> seconds, secondsHere;         ///< of all: work / rate; of those of this cluster
  std::set<std::string> earlier;                    ///< applications of those that were complete before
};

} // namespace accord::jobs
