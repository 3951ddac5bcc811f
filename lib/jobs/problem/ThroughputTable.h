// How fast applications are on types of devices: plain data.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace accord::jobs {

/// Steps a second of an application with a gang of devices, on each type.
struct ThroughputTable {
  std::vector<std::string> types;
  /// By application and gang size; one number for each of `types`, 0 where it does not fit into the memory.
  std::map<std::pair<std::string, unsigned>, std::vector<double>> rates;

  /// The number of a type, or `types.size()`.
  size_t typeOf(const std::string &name) const;
  /// The rates of an application and gang on the types of these names, in their order: 0 where the table does not have
  /// the type; empty where it does not have the application with that gang.
  std::vector<double> ratesOn(const std::vector<std::string> &names, const std::string &application,
                              unsigned gang) const;
  /// The types on which an application with a gang fits, ascending.
  std::vector<size_t> typesThatFit(const std::string &application, unsigned gang) const;
};

} // namespace accord::jobs
