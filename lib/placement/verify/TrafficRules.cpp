#include "lib/placement/verify/TrafficRules.h"
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Id = PlacementProblem::Id;
using Kind = LinkTraffic::Kind;

class TrafficRules {
public:
  TrafficRules(const PlacementProblem &problem, const Placement &plan, const LinkTraffic &traffic)
      : problem_(problem), plan_(plan), groups_(plan.groups()), sent_(groups_) {
    for (const LinkTraffic::Flow &flow : traffic.flows) {
      sent_[flow.group][flow.kind] += flow.bytes;
      const LinkTraffic::Link &link = traffic.links[flow.link];
      if (link.deviceType != configOf(flow.group).deviceType)
        find("stage {} sends over '{}', which its devices do not have", flow.group, link.name);
    }
  }

  Errors run() {
    between();
    for (size_t g = 0; g < groups_; ++g) {
      const ParallelConfig &config = configOf(g);
      gradients(g, config);
      // Exchanges of a whole axis are there only where the axis is.
      auto needs = [&](Kind kind, bool may) {
        if (!may && sent_[g].contains(kind))
          find("stage {} sends bytes for '{}', which it has not", g, name(kind));
      };
      needs(Kind::Tensor, config.tensor > 1);
      needs(Kind::Context, config.context > 1);
      needs(Kind::Expert, config.expertDegree() > 1);
      needs(Kind::Tables, config.tables != Tables::Whole);
      needs(Kind::Data, config.data > 1);
    }
    return std::move(errors_);
  }

private:
  template <typename... T> void find(fmt::format_string<T...> text, T &&...args) {
    errors_.push_back({Code::CertificateDisagrees, "traffic: " + fmt::format(text, std::forward<T>(args)...), {}, {}});
  }
  const ParallelConfig &configOf(size_t group) const {
    return problem_.parallelConfigs[plan_.stages[group].parallelConfig];
  }

  /// Of whole groups, then compared as that of each device.
  void between() {
    std::vector<double> is(groups_);
    std::map<Id, size_t> stageOf;
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        stageOf[layer] = s;
    std::map<std::pair<Id, size_t>, int64_t> outputs; // of a layer into a stage, bytes of a sample
    for (const PlacementProblem::Edge &edge : problem_.edges)
      if (size_t from = stageOf[edge.from] % groups_, to = stageOf[edge.to] % groups_; from != to) {
        int64_t &bytes = outputs[{edge.from, stageOf[edge.to]}];
        bytes = std::max(bytes, edge.bytes);
      }
    for (const auto &[output, bytes] : outputs) {
      size_t from = stageOf[output.first] % groups_, to = output.second % groups_;
      double all = static_cast<double>(bytes) * static_cast<double>(configOf(from).samples()) *
                   static_cast<double>(plan_.microbatches);
      is[from] += all, is[to] += all;
    }
    for (const PlacementProblem::Tie &tie : problem_.ties) {
      size_t a = stageOf[tie.a] % groups_, b = stageOf[tie.b] % groups_;
      if (a == b)
        continue;
      auto tied = [&](Id layer, size_t group) {
        return problem_.cost(layer, plan_.stages[group].parallelConfig)->tied;
      };
      double all = static_cast<double>(std::max(tied(tie.a, a), tied(tie.b, b))) *
                   static_cast<double>(std::min(configOf(a).devices(), configOf(b).devices()));
      is[a] += all, is[b] += all;
    }
    for (size_t g = 0; g < groups_; ++g) {
      double each = is[g] / static_cast<double>(configOf(g).devices()), stated = sent_[g][Kind::Pipeline];
      if (!(std::abs(stated - each) <= 1e-9 * std::max(each, 1.0)))
        find("a device of stage {} is stated to send {:.9g} B to other stages, its layers' outputs are {:.9g} B", g,
             stated, each);
      if (sent_[g][Kind::Pipeline] == 0)
        sent_[g].erase(Kind::Pipeline);
    }
  }

  void gradients(size_t group, const ParallelConfig &config) {
    double all = 0, experts = 0;
    for (size_t s = group; s < plan_.stages.size(); s += groups_)
      for (Id layer : plan_.stages[s].layers) {
        const PlacementProblem::Cost &cost = *problem_.cost(layer, plan_.stages[s].parallelConfig);
        all += static_cast<double>(cost.gradients), experts += static_cast<double>(cost.expertGradients);
      }
    auto lowest = [](double bytes, int64_t among) {
      return among > 1 ? bytes * static_cast<double>(among - 1) / static_cast<double>(among) : 0;
    };
    double min = lowest(all, config.data) + lowest(experts, config.data / config.expert);
    auto found = sent_[group].find(Kind::Data);
    double stated = found == sent_[group].end() ? 0 : found->second;
    if (stated < min * (1 - 1e-9))
      find("a device of stage {} is stated to send {:.9g} B of gradients, no exchange of them sends less than {:.9g} B",
           group, stated, min);
  }

  const PlacementProblem &problem_;
  const Placement &plan_;
  size_t groups_;
  std::vector<std::map<Kind, double>> sent_; ///< by each device, by group
  Errors errors_;
};

} // namespace

Errors trafficViolations(const PlacementProblem &problem, const Placement &plan, const LinkTraffic &traffic) {
  return TrafficRules(problem, plan, traffic).run();
}

} // namespace accord
