// Dates and durations as schedulers write them. Internal to lib/import/jobs.
#pragma once
#include <optional>
#include <string_view>

namespace accord::jobs {

/// Seconds since 1970-01-01 00:00:00 of a date of the Gregorian calendar from year 1970 to 9999, all of them as if in
/// one zone: "2024-01-05T10:00:00", the same with a blank for the T, with a fraction of seconds, without seconds, or
/// without a time; or a number of seconds. Nothing for other texts.
std::optional<double> readDate(std::string_view text);

/// Seconds of a duration as Slurm prints it (man sacct): "[days-]hours:minutes:seconds", "minutes:seconds", either with
/// a fraction of seconds. Nothing for other texts.
std::optional<double> readSlurmDuration(std::string_view text);

} // namespace accord::jobs
