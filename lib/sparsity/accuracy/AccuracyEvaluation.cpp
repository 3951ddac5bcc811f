#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/sparsity/accuracy/AccuracyMessages.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/NamePattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace accord {
namespace {

using Kind = SparsityRequest::AccuracyMeasurements::Kind;
using Measured = MeasuredAccuracy;

constexpr size_t kMaxRejections = 20, kMaxSearches = 5;
constexpr int64_t kMaxSamples = 100'000'000;

/// The value that a short decimal was written for.
Rational written(double value) {
  auto exact = Rational::parse(fmt::format("{}", value));
  return exact ? *exact : Rational::ofDouble(value);
}

/// Measurements that are read together.
struct Basis {
  AccuracyBasis level = AccuracyBasis::None;
  bool published = false, byLayer = false;
  const Measured *dense = nullptr;
  /// By layer, operand and pattern: from the densest to the sparsest, `dense` not among them.
  std::map<std::tuple<std::string, GemmOperand, std::string>, std::vector<const Measured *>> curves;
};

/// Of one operand of a question: the first `count` points of a curve, and the dense one.
struct Reading {
  const std::vector<const Measured *> *curve = nullptr;
  size_t count = 0;                    ///< the last of them is read
  bool hasIntermediateDensity = false; ///< its density lies between two that were measured
};

class AccuracyEvaluator {
public:
  AccuracyEvaluator(const SparsityRequest &request, const std::vector<AccuracyFile> &files,
                    const std::vector<AccuracyQuery> &queries, const SparsityScope *scope)
      : request(request), files(files), queries(queries), scope(scope) {}

  AccuracyEvaluation run() {
    for (const SparsityRequest::AccuracyMeasurements &source : request.measurements)
      if (source.kind != Kind::Sensitivity && out.metric.empty())
        out.metric = source.metric;
    out.results.resize(queries.size());
    std::vector<Basis> bases = basesOf();
    if (bases.empty()) {
      rejectUnmeasured();
      return std::move(out);
    }
    size_t minOpen = queries.size() + 1;
    for (const Basis &candidate : bases)
      if (size_t open = openIn(candidate); open < minOpen) {
        minOpen = open;
        basis = &candidate;
      }
    openIn(*basis);
    out.level = basis->level;
    if (request.accuracy)
      out.confidence = request.accuracy->confidence;
    if (basis->level == AccuracyBasis::LayerLossSums && request.margin > 0)
      out.margin = written(request.margin);
    out.guaranteed = out.confidence > 0 && (basis->level == AccuracyBasis::WholeConfigurations || request.margin > 0);
    countLimits();
    answer();
    if (request.accuracy)
      require();
    stateAssumptions();
    return std::move(out);
  }

private:
  std::vector<Basis> basesOf() {
    Basis configurations, layers, others, otherLayers;
    configurations.level = AccuracyBasis::WholeConfigurations;
    layers.level = others.level = otherLayers.level = AccuracyBasis::LayerLossSums;
    layers.byLayer = otherLayers.byLayer = true;
    others.published = otherLayers.published = true;
    for (const AccuracyFile &file : files) {
      if (file.source.kind == Kind::Sensitivity || file.source.metric != out.metric)
        continue;
      bool published = file.source.kind == Kind::Published;
      for (const Measured &a : file.accuracies)
        if (!isOfScope(a))
          violations.push_back(&a);
        else if (a.pattern == "dense")
          (published ? others : configurations).dense = &a;
        else
          (a.layer.empty() ? published ? others : configurations
           : published     ? otherLayers
                           : layers)
              .curves[{a.layer, a.of, a.pattern}]
              .push_back(&a);
    }
    layers.dense = configurations.dense;
    otherLayers.dense = others.dense;
    std::vector<Basis> bases;
    Basis alone = configurations, othersAlone = others; // of the dense network, the last resort
    alone.curves.clear(), othersAlone.curves.clear();
    for (Basis *one : {&configurations, &layers, &others, &otherLayers, &alone, &othersAlone}) {
      for (auto &[key, points] : one->curves)
        std::sort(points.begin(), points.end(), [](const Measured *a, const Measured *b) {
          return std::pair(a->density, b->right) > std::pair(b->density, a->right);
        });
      bool last = one == &alone || one == &othersAlone;
      if (last ? one->dense != nullptr : !one->curves.empty())
        bases.push_back(std::move(*one));
    }
    return bases;
  }

  /// What a line says of dense layers and the distribution is as here.
  bool isOfScope(const Measured &a) const {
    if (!scope || !a.layer.empty() || a.pattern == "dense" || a.of != GemmOperand::Weights)
      return true;
    return (!a.denseEnds || *a.denseEnds == std::pair(scope->isFirstDense, scope->isLastDense)) &&
           (!a.isErdosRenyi || *a.isErdosRenyi == scope->isErdosRenyi);
  }
  /// Of lines of another scope and of this pattern, one that is as near to it as any; null: there is none.
  const Measured *violationOf(const AccuracyQuery::Pattern &sparsity) const {
    const std::string pattern = measuredPattern(sparsity.of, sparsity.pattern);
    const Measured *nearest = nullptr;
    std::pair<int, bool> min;
    for (const Measured *a : violations) {
      const bool differs = a->isErdosRenyi && *a->isErdosRenyi != scope->isErdosRenyi;
      const bool hasOtherEnds = a->denseEnds && *a->denseEnds != std::pair(scope->isFirstDense, scope->isLastDense);
      const std::pair distance(differs + hasOtherEnds, differs);
      if (a->of == sparsity.of && a->pattern == pattern && (!nearest || distance < min))
        nearest = a, min = distance;
    }
    return nearest;
  }

  /// Reads all questions from a basis; how many it leaves open.
  size_t openIn(const Basis &from) {
    readings.assign(queries.size(), {});
    size_t open = 0;
    std::map<std::string, std::pair<std::string, std::string>> layerOf; // by operation
    for (size_t i = 0; i < queries.size(); ++i) {
      AccuracyQueryResult &answer = out.results[i] = {};
      const AccuracyQuery &query = queries[i];
      if (from.byLayer) {
        auto [found, isNew] = layerOf.try_emplace(query.operation);
        if (isNew)
          found->second = layersOf(from, query.operation);
        auto &[layer, second] = found->second;
        if (!second.empty())
          answer.rejected = ambiguousLayer(query, layer, second);
        answer.group = layer;
      } else {
        answer.group = "*";
      }
      std::vector<const AccuracyQuery::Pattern *> sparsity;
      for (const AccuracyQuery::Pattern &one : query.sparsity)
        if (measuredPattern(one.of, one.pattern) != "dense")
          sparsity.push_back(&one);
      if (sparsity.size() > 1 && !from.byLayer)
        answer.rejected = notMeasuredJointly(query);
      if (!sparsity.empty() && from.level == AccuracyBasis::LayerLossSums && !from.dense && !answer.rejected)
        answer.rejected = denseNotMeasured(query, out.metric);
      for (const AccuracyQuery::Pattern *one : sparsity)
        if (!answer.rejected)
          readings[i].push_back(read(from, query, *one, answer));
      answer.measured = !answer.rejected;
      if (!answer.measured)
        readings[i].clear();
      open += !answer.measured;
    }
    return open;
  }

  /// The layers of a basis that mean an operation, two at most.
  static std::pair<std::string, std::string> layersOf(const Basis &from, const std::string &name) {
    std::pair<std::string, std::string> found;
    for (const auto &[key, points] : from.curves) {
      const std::string &layer = std::get<0>(key);
      if (layer == found.first || !matchesPattern(layer, name))
        continue;
      (found.first.empty() ? found.first : found.second) = layer;
    }
    return found;
  }

  Reading read(const Basis &from, const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity,
               AccuracyQueryResult &answer) {
    std::string layer = from.byLayer ? answer.group : "";
    std::string pattern = measuredPattern(sparsity.of, sparsity.pattern);
    if (from.byLayer && layer.empty()) {
      answer.rejected = layerNotMeasured(query, out.metric);
      return {};
    }
    auto found = from.curves.find({layer, sparsity.of, pattern});
    if (found == from.curves.end()) {
      if (const Measured *violation = from.byLayer ? nullptr : violationOf(sparsity)) {
        answer.rejected = scopeNotMeasured(query, sparsity, *scope, *violation);
        return {};
      }
      std::vector<const Measured *> other;
      for (const Measured *violation : violations)
        other.push_back(violation);
      for (const auto &[key, points] : from.curves)
        if (std::get<0>(key) == layer)
          other.insert(other.end(), points.begin(), points.end());
      if (other.empty() && from.dense)
        other.push_back(from.dense);
      answer.rejected = patternNotMeasured(query, sparsity, pattern, other);
      return {};
    }
    using Pattern = SparsityPattern::Kind;
    const std::vector<const Measured *> &curve = found->second;
    double density = sparsity.pattern.kind == Pattern::Structured ? double(sparsity.pattern.kept) / sparsity.pattern.of
                     : sparsity.pattern.kind == Pattern::Banded   ? 0
                                                                  : sparsity.pattern.density;
    size_t last = 0;
    while (last < curve.size() && !(curve[last]->density <= density))
      ++last;
    if (last == curve.size()) {
      answer.rejected = sparserThanMeasured(query, sparsity, density, *curve.back());
      return {};
    }
    // Of equal densities all count.
    while (last + 1 < curve.size() && curve[last + 1]->density == curve[last]->density)
      ++last;
    return {&curve, last + 1, curve[last]->density != density};
  }

  /// All limits that are read hold at once: each gets an equal part of the error (Bonferroni).
  void countLimits() {
    std::set<const Measured *> points;
    if (basis->dense)
      points.insert(basis->dense);
    for (const auto &[key, curve] : basis->curves)
      if (!basis->dense && !basis->byLayer)
        points.insert(curve.front()); // the dense network is no less accurate
    std::map<const std::vector<const Measured *> *, size_t> counts;
    for (const auto &all : readings)
      for (const Reading &reading : all)
        counts[reading.curve] = std::max(counts[reading.curve], reading.count);
    for (auto [curve, count] : counts)
      points.insert(curve->begin(), curve->begin() + count);
    bool both = basis->level == AccuracyBasis::LayerLossSums && basis->dense; // from below and above
    out.numSimultaneousLimits = points.size() + both;
  }
  Rational delta() const {
    return (Rational(1) - written(out.confidence)) / Rational(std::max<int64_t>(out.numSimultaneousLimits, 1));
  }
  Rational limitOf(const Measured *a) {
    if (out.confidence <= 0)
      return a->share;
    auto [found, isNew] = limits.try_emplace(a);
    if (isNew)
      found->second = lowerLimit(a->right, a->samples, delta());
    return found->second;
  }
  /// Of the points of a reading, the one with the least limit: the densest of equal ones.
  const Measured *weakest(const Reading &reading) {
    std::vector<const Measured *> &min = weakestOf[reading.curve];
    while (min.size() < reading.count) {
      const Measured *next = (*reading.curve)[min.size()], *last = min.empty() ? basis->dense : min.back();
      min.push_back(last && limitOf(last) <= limitOf(next) ? last : next);
    }
    return min[reading.count - 1];
  }

  void answer() {
    // Without a measurement of the dense network, it is as accurate as the densest one at least.
    densest = basis->dense;
    for (const auto &[key, curve] : basis->curves)
      if (!basis->dense && !basis->byLayer && (!densest || limitOf(curve.front()) > limitOf(densest)))
        densest = curve.front();
    out.dense = densest ? limitOf(densest) : Rational(0);
    Rational above = out.dense; // of the dense network, for losses of layers that are summed
    if (basis->level == AccuracyBasis::LayerLossSums && densest)
      // Shares that are no whole number of answers are rounded up here: a higher accuracy of the dense network makes
      // losses larger.
      above = out.confidence > 0 ? upperLimit((densest->share * Rational(densest->samples)).ceil().toInt64().value(),
                                              densest->samples, delta())
                                 : densest->share;
    std::map<std::string, std::string> first; // operation of a group whose loss counts
    for (size_t i = 0; i < queries.size(); ++i) {
      AccuracyQueryResult &answer = out.results[i];
      if (!answer.group.empty())
        answer.counts = first.try_emplace(answer.group, queries[i].operation).first->second == queries[i].operation;
      if (!answer.measured)
        continue;
      answer.limit = out.dense;
      std::set<std::tuple<std::string, unsigned>> lines;
      for (const Reading &reading : readings[i]) {
        const Measured *weak = weakest(reading);
        Rational min = limitOf(weak);
        answer.loss = answer.loss + std::max(Rational(0), above - min);
        answer.limit = readings[i].size() == 1 ? min : std::max(Rational(0), out.dense - answer.loss);
        for (const Measured *a : {basis->dense, weak, (*reading.curve)[reading.count - 1]})
          if (a && lines.emplace(a->location.file, a->location.line).second)
            answer.lines.push_back(a->location);
      }
    }
  }

  void require() {
    const Rational &min = request.accuracy->min;
    out.budget = out.dense - min;
    for (size_t i = 0; i < queries.size(); ++i) {
      AccuracyQueryResult &answer = out.results[i];
      if (answer.rejected)
        addRejection(*answer.rejected);
      else if (!readings[i].empty() && answer.loss * out.margin > *out.budget)
        answer.rejected = basis->level == AccuracyBasis::LayerLossSums
                              ? lossTooHigh(*request.accuracy, queries[i], out, answer.loss)
                              : belowRequirement(weakest(readings[i].front()), answer.limit, &queries[i]);
    }
    bool sparse = std::any_of(readings.begin(), readings.end(), [](const auto &all) { return !all.empty(); });
    if (basis->level == AccuracyBasis::LayerLossSums && request.margin <= 0 && sparse)
      addRejection(estimatesOnly(*request.accuracy, basis->published));
    else if (out.budget->sign() < 0 && (densest || out.rejections.empty()))
      addRejection(densest ? belowRequirement(densest, out.dense, nullptr)
                           : noMeasurements(*request.accuracy, queries));
  }

  Rejection belowRequirement(const Measured *min, const Rational &limit, const AccuracyQuery *query) {
    return limitTooLow(*request.accuracy, query, *min, limit, samplesFor(min));
  }

  /// So many samples with the same share would show what is required.
  std::optional<int64_t> samplesFor(const Measured *a) {
    const Rational &min = request.accuracy->min;
    if (out.confidence <= 0 || a->share <= min)
      return std::nullopt;
    auto [found, isNew] = needed.try_emplace(a);
    if (!isNew || needed.size() > kMaxSearches)
      return found->second;
    auto shows = [&](int64_t samples) {
      int64_t right = *(a->share * Rational(samples)).floor().toInt64();
      return lowerLimit(right, samples, delta()) >= min;
    };
    int64_t low = 0, high = std::max<int64_t>(a->samples, 1);
    while (high < kMaxSamples && !shows(high))
      low = high, high = std::min(2 * high, kMaxSamples);
    if (!shows(high))
      return std::nullopt;
    while (high - low > 1) { // not everywhere monotone, for `right` is a whole number
      int64_t middle = low + (high - low) / 2;
      (shows(middle) ? high : low) = middle;
    }
    return found->second = high;
  }

  void addRejection(const Rejection &rejection) {
    for (const Rejection &other : out.rejections)
      if (other.error.code == rejection.error.code && other.error.message == rejection.error.message)
        return;
    if (out.rejections.size() < kMaxRejections)
      out.rejections.push_back(rejection);
  }

  void rejectUnmeasured() {
    const SparsityRequest::AccuracyMeasurements *ranks = nullptr;
    for (const SparsityRequest::AccuracyMeasurements &source : request.measurements)
      if (source.kind == Kind::Sensitivity && !ranks)
        ranks = &source;
    out.level = ranks ? AccuracyBasis::SensitivityRanking : AccuracyBasis::None;
    for (size_t i = 0; i < queries.size(); ++i)
      out.results[i].measured =
          std::all_of(queries[i].sparsity.begin(), queries[i].sparsity.end(),
                      [](const auto &one) { return measuredPattern(one.of, one.pattern) == "dense"; });
    if (!request.accuracy)
      return;
    out.confidence = request.accuracy->confidence;
    out.budget = Rational(0) - request.accuracy->min;
    for (const AccuracyQuery &query : queries)
      for (const AccuracyQuery::Pattern &sparsity : query.sparsity)
        if (const Measured *violation = violationOf(sparsity))
          return addRejection(scopeNotMeasured(query, sparsity, *scope, *violation));
    addRejection(ranks ? sensitivitiesOnly(*request.accuracy, *ranks) : noMeasurements(*request.accuracy, queries));
  }

  void stateAssumptions() {
    MeasurementProperties properties;
    properties.published = basis->published;
    properties.byLayer = basis->byLayer;
    properties.margin = request.margin;
    properties.denseIsMeasured = basis->dense;
    for (const auto &all : readings)
      for (const Reading &reading : all)
        properties.hasIntermediateDensity |= reading.hasIntermediateDensity;
    if (scope)
      for (const auto &[key, curve] : basis->curves)
        for (const Measured *a : curve)
          properties.isScopeUnstated |=
              a->layer.empty() && a->of == GemmOperand::Weights && (!a->denseEnds || !a->isErdosRenyi);
    for (const auto &[a, limit] : limits)
      properties.rounded |= Rational(a->right) != a->share * Rational(a->samples);
    out.assumptions = assumptionsOf(out, properties);
  }

  const SparsityRequest &request;
  const std::vector<AccuracyFile> &files;
  const std::vector<AccuracyQuery> &queries;
  const SparsityScope *scope;
  std::vector<const Measured *> violations; ///< of another scope
  const Basis *basis = nullptr;
  const Measured *densest = nullptr;
  std::vector<std::vector<Reading>> readings; ///< by question
  std::map<const Measured *, Rational> limits;
  std::map<const std::vector<const Measured *> *, std::vector<const Measured *>> weakestOf;
  std::map<const Measured *, std::optional<int64_t>> needed;
  AccuracyEvaluation out;
};

} // namespace

AccuracyEvaluation evaluateAccuracy(const SparsityRequest &request, const std::vector<AccuracyFile> &files,
                                    const std::vector<AccuracyQuery> &queries, const SparsityScope *scope) {
  return AccuracyEvaluator(request, files, queries, scope).run();
}

} // namespace accord
