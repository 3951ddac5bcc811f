#include "lib/import/jobs/NoiseTable.h"
#include "lib/import/jobs/PolluxTable.h"
#include <fmt/format.h>
#include <set>

namespace accord::jobs {

Result<std::vector<MeasuredNoise>> readNoiseTable(std::string_view text, const std::string &path) {
  enum Column : size_t { Model, Family, Task, Parameters, Data, Noise };
  constexpr std::string_view kColumns[] = {"model", "family", "task", "parameters", "data", "noise"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<MeasuredNoise> measured;
  std::set<std::string> names;
  for (size_t row = 0; row < table.rows(); ++row) {
    MeasuredNoise &one = measured.emplace_back();
    one.model = table.cell(row, Model).text, one.family = table.cell(row, Family).text;
    one.training.task = table.cell(row, Task).text;
    if (!names.insert(one.model).second)
      return table.wrong(row, Model, fmt::format("model '{}' stands twice", one.model));
    for (auto [column, number] : {std::pair(Parameters, &one.training.parameters),
                                  {Data, &one.training.data},
                                  {Noise, &one.noise}}) {
      if (column == Parameters && table.cell(row, column).text.empty())
        continue;
      ACCORD_TRY(value, table.real(row, column, 0));
      if (value <= 0)
        return table.wrong(row, column, fmt::format("'{}' is 0, but a training has more", kColumns[column]));
      *number = value;
    }
  }
  return measured;
}

Result<std::map<std::string, double>> readAssumedNoise(std::string_view text, const std::string &path) {
  enum Column : size_t { Application, Noise };
  constexpr std::string_view kColumns[] = {"application", "noise"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::map<std::string, double> noises;
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string &application = table.cell(row, Application).text;
    ACCORD_TRY(noise, table.real(row, Noise, 0));
    if (!noises.try_emplace(application, noise).second)
      return table.wrong(row, Application, fmt::format("application '{}' stands twice", application));
  }
  return noises;
}

} // namespace accord::jobs
