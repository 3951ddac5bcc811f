#include "lib/import/jobs/PolluxWorkload.h"
#include "lib/import/jobs/PolluxTable.h"
#include <fmt/format.h>
#include <limits>
#include <map>

namespace accord::jobs {

Result<std::vector<PolluxJob>> readPolluxWorkload(std::string_view text, const std::string &path) {
  enum Column : size_t { Name, Time, Application, Devices, Batch };
  constexpr std::string_view kColumns[] = {"name", "time", "application", "num_replicas", "batch_size"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<PolluxJob> jobs;
  std::map<std::string, unsigned> lines; // of each name
  for (size_t row = 0; row < table.rows(); ++row) {
    const Cell &name = table.cell(row, Name), &application = table.cell(row, Application);
    if (name.text.empty())
      return table.wrong(row, Name, "the job has no name");
    if (application.text.empty())
      return table.wrong(row, Application, fmt::format("job '{}' has no application", name.text));
    const auto [before, isNew] = lines.emplace(name.text, name.line);
    if (!isNew)
      return table.wrong(row, Name, fmt::format("job '{}' stands in line {} too", name.text, before->second));
    ACCORD_TRY(arrival, table.real(row, Time, 0));
    ACCORD_TRY(devices, table.whole(row, Devices, 1));
    ACCORD_TRY(batch, table.whole(row, Batch, 1));
    if (devices > std::numeric_limits<int32_t>::max())
      return table.wrong(row, Devices,
                         fmt::format("job '{}' asks for {} devices, at most {} are allowed", name.text, devices,
                                     std::numeric_limits<int32_t>::max()));
    jobs.push_back({name.text, application.text, arrival, static_cast<unsigned>(devices), batch, name.line});
  }
  return jobs;
}

Result<std::vector<PolluxJob>> readPolluxWorkloadFile(const std::string &path) {
  ACCORD_TRY(text, readPolluxFile(path));
  return readPolluxWorkload(text, path);
}

} // namespace accord::jobs
