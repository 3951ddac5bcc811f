#include "lib/jobs/problem/ThroughputTable.h"
#include <algorithm>

namespace accord::jobs {

size_t ThroughputTable::typeOf(const std::string &name) const {
  return static_cast<size_t>(std::find(types.begin(), types.end(), name) - types.begin());
}

std::vector<double> ThroughputTable::ratesOn(const std::vector<std::string> &names, const std::string &application,
                                             unsigned gang) const {
  const auto found = rates.find({application, gang});
  if (found == rates.end())
    return {};
  std::vector<double> result;
  for (const std::string &name : names) {
    const size_t type = typeOf(name);
    result.push_back(type < types.size() ? found->second[type] : 0);
  }
  return result;
}

std::vector<size_t> ThroughputTable::typesThatFit(const std::string &application, unsigned gang) const {
  std::vector<size_t> fit;
  if (const auto found = rates.find({application, gang}); found != rates.end())
    for (size_t type = 0; type < types.size(); ++type)
      if (found->second[type] > 0)
        fit.push_back(type);
  return fit;
}

} // namespace accord::jobs
