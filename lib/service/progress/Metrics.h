// How far a program is by what it exports for Prometheus: the page is fetched, and one number is read from it.
#pragma once
#include "lib/service/call/HttpCall.h"
#include <string>
#include <string_view>

namespace accord::service {

/// Of a page with metrics: "http://node7:9400/metrics".
struct MetricsPlace {
  HttpUrl server;   ///< without a path
  std::string path; ///< "/metrics", with its query
};

/// Reads a URL; "{node}" in it is the node on which the run has its first process. Error A1208: it does not begin with
/// "http://" or "https://", or has a user, no host, or a port that is none.
Result<MetricsPlace> metricsPlace(std::string_view url, std::string_view node);

/// The page, at most 4 MiB of it, within `seconds` (but for the look-up of the name, which the system limits), of no
/// address that is refused to users (HttpCall.h). Error A1208 with the reason.
Result<std::string> fetchMetrics(const MetricsPlace &place, double seconds);

/// One number of a page.
struct MetricValue {
  double value = 0;       ///< finite, at least 0
  bool isCounter = false; ///< it counts from the start of its process on; else it says how far all is
};

/// Reads a page in the text format of Prometheus (version 0.0.4). `metric` is a name, or a name with labels that a
/// series must have: `samples_total{rank="0"}`. It is a counter by its `# TYPE`, without one by its end "_total". Error
/// A1208: there is no such series, there are several, its value is no such number, `metric` cannot be read.
Result<MetricValue> readMetric(std::string_view page, std::string_view metric);
/// Error A1208: it is no name of a metric with labels.
Result<void> checkMetric(std::string_view metric);

} // namespace accord::service
