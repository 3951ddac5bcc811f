#include "lib/sparsity/accuracy/Evidence.h"
#include "lib/support/NamePattern.h"
#include "lib/sparsity/accuracy/EvidenceTexts.h"
#include "lib/support/ClopperPearson.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace accord {
namespace {

using Kind = SparsityRequest::Evidence::Kind;
using Measured = MeasuredAccuracy;

constexpr size_t kMostRefusals = 20, kMostSearches = 5;
constexpr int64_t kMostSamples = 100'000'000;

/// The value that a short decimal was written for.
Rational written(double value) {
  auto exact = Rational::parse(fmt::format("{}", value));
  return exact ? *exact : Rational::ofDouble(value);
}

/// Measurements that are read together.
struct Basis {
  EvidenceLevel level = EvidenceLevel::Nothing;
  bool elsewhere = false, byLayer = false;
  const Measured *dense = nullptr;
  /// By layer, operand and pattern: from the densest to the sparsest, `dense` not among them.
  std::map<std::tuple<std::string, GemmOperand, std::string>, std::vector<const Measured *>> curves;
};

/// Of one operand of a question: the first `count` points of a curve, and the dense one.
struct Reading {
  const std::vector<const Measured *> *curve = nullptr;
  size_t count = 0;     ///< the last of them is read
  bool between = false; ///< its density lies between two that were measured
};

class Judge {
public:
  Judge(const SparsityRequest &request, const std::vector<AccuracyFile> &files,
        const std::vector<AccuracyQuestion> &questions)
      : request(request), files(files), questions(questions) {}

  AccuracyEvidence run() {
    for (const SparsityRequest::Evidence &source : request.evidence)
      if (source.kind != Kind::Sensitivity && out.metric.empty())
        out.metric = source.metric;
    out.answers.resize(questions.size());
    std::vector<Basis> bases = basesOf();
    if (bases.empty()) {
      nothing();
      return std::move(out);
    }
    size_t fewest = questions.size() + 1;
    for (const Basis &candidate : bases)
      if (size_t open = openIn(candidate); open < fewest) {
        fewest = open;
        basis = &candidate;
      }
    openIn(*basis);
    out.level = basis->level;
    if (request.accuracy)
      out.confidence = request.accuracy->confidence;
    if (basis->level == EvidenceLevel::Sums && request.margin > 0)
      out.margin = written(request.margin);
    out.guaranteed =
        out.confidence > 0 && (basis->level == EvidenceLevel::Configurations || request.margin > 0);
    countLimits();
    answer();
    if (request.accuracy)
      require();
    assume();
    return std::move(out);
  }

private:
  std::vector<Basis> basesOf() {
    Basis configurations, layers, others, otherLayers;
    configurations.level = EvidenceLevel::Configurations;
    layers.level = others.level = otherLayers.level = EvidenceLevel::Sums;
    layers.byLayer = otherLayers.byLayer = true;
    others.elsewhere = otherLayers.elsewhere = true;
    for (const AccuracyFile &file : files) {
      if (file.source.kind == Kind::Sensitivity || file.source.metric != out.metric)
        continue;
      bool elsewhere = file.source.kind == Kind::Elsewhere;
      for (const Measured &a : file.accuracies)
        if (a.pattern == "dense")
          (elsewhere ? others : configurations).dense = &a;
        else
          (a.layer.empty() ? elsewhere ? others : configurations
           : elsewhere     ? otherLayers
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

  /// Reads all questions from a basis; how many it leaves open.
  size_t openIn(const Basis &from) {
    readings.assign(questions.size(), {});
    size_t open = 0;
    std::map<std::string, std::pair<std::string, std::string>> layerOf; // by operation
    for (size_t i = 0; i < questions.size(); ++i) {
      AccuracyAnswer &answer = out.answers[i] = {};
      const AccuracyQuestion &question = questions[i];
      if (from.byLayer) {
        auto [found, isNew] = layerOf.try_emplace(question.operation);
        if (isNew)
          found->second = layersOf(from, question.operation);
        auto &[layer, second] = found->second;
        if (!second.empty())
          answer.refused = ambiguousLayer(question, layer, second);
        answer.group = layer;
      } else {
        answer.group = "*";
      }
      std::vector<const AccuracyQuestion::Zeros *> zeros;
      for (const AccuracyQuestion::Zeros &one : question.zeros)
        if (measuredPattern(one.of, one.pattern) != "dense")
          zeros.push_back(&one);
      if (zeros.size() > 1 && !from.byLayer)
        answer.refused = notTogether(question);
      if (!zeros.empty() && from.level == EvidenceLevel::Sums && !from.dense && !answer.refused)
        answer.refused = noDense(question, out.metric);
      for (const AccuracyQuestion::Zeros *one : zeros)
        if (!answer.refused)
          readings[i].push_back(read(from, question, *one, answer));
      answer.measured = !answer.refused;
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
      if (layer == found.first || !meansName(layer, name))
        continue;
      (found.first.empty() ? found.first : found.second) = layer;
    }
    return found;
  }

  Reading read(const Basis &from, const AccuracyQuestion &question,
               const AccuracyQuestion::Zeros &zeros, AccuracyAnswer &answer) {
    std::string layer = from.byLayer ? answer.group : "";
    std::string pattern = measuredPattern(zeros.of, zeros.pattern);
    if (from.byLayer && layer.empty()) {
      answer.refused = layerNotMeasured(question, out.metric);
      return {};
    }
    auto found = from.curves.find({layer, zeros.of, pattern});
    if (found == from.curves.end()) {
      std::vector<const Measured *> other;
      for (const auto &[key, points] : from.curves)
        if (std::get<0>(key) == layer)
          other.insert(other.end(), points.begin(), points.end());
      if (other.empty() && from.dense)
        other.push_back(from.dense);
      answer.refused = patternNotMeasured(question, zeros, pattern, other);
      return {};
    }
    using Zeros = ZeroPattern::Kind;
    const std::vector<const Measured *> &curve = found->second;
    double density =
        zeros.pattern.kind == Zeros::Structured
            ? static_cast<double>(zeros.pattern.kept) / static_cast<double>(zeros.pattern.of)
        : zeros.pattern.kind == Zeros::Banded ? 0
                                              : zeros.pattern.density;
    size_t last = 0;
    while (last < curve.size() && !(curve[last]->density <= density))
      ++last;
    if (last == curve.size()) {
      answer.refused = sparserThanMeasured(question, zeros, density, *curve.back());
      return {};
    }
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
      points.insert(curve->begin(), curve->begin() + static_cast<ptrdiff_t>(count));
    bool both = basis->level == EvidenceLevel::Sums && basis->dense; // from below and above
    out.together = static_cast<int64_t>(points.size()) + both;
  }
  Rational delta() const {
    return (Rational(1) - written(out.confidence)) / Rational(std::max<int64_t>(out.together, 1));
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
    std::vector<const Measured *> &least = weakestOf[reading.curve];
    while (least.size() < reading.count) {
      const Measured *next = (*reading.curve)[least.size()],
                     *last = least.empty() ? basis->dense : least.back();
      least.push_back(last && limitOf(last) <= limitOf(next) ? last : next);
    }
    return least[reading.count - 1];
  }

  void answer() {
    // Without a measurement of the dense network, it is as accurate as the densest one at least.
    densest = basis->dense;
    for (const auto &[key, curve] : basis->curves)
      if (!basis->dense && !basis->byLayer &&
          (!densest || limitOf(curve.front()) > limitOf(densest)))
        densest = curve.front();
    out.dense = densest ? limitOf(densest) : Rational(0);
    Rational above = out.dense; // of the dense network, for losses of layers that are summed
    if (basis->level == EvidenceLevel::Sums && densest)
      // Shares that are no whole number of answers are rounded up here: a higher accuracy of the
      // dense network makes losses larger.
      above =
          out.confidence > 0
              ? upperLimit((densest->share * Rational(densest->samples)).ceil().toInt64().value(),
                           densest->samples, delta())
              : densest->share;
    std::map<std::string, std::string> first; // operation of a group whose loss counts
    for (size_t i = 0; i < questions.size(); ++i) {
      AccuracyAnswer &answer = out.answers[i];
      if (!answer.group.empty())
        answer.counts = first.try_emplace(answer.group, questions[i].operation).first->second ==
                        questions[i].operation;
      if (!answer.measured)
        continue;
      answer.limit = out.dense;
      std::set<std::tuple<std::string, unsigned>> lines;
      for (const Reading &reading : readings[i]) {
        const Measured *weak = weakest(reading);
        Rational least = limitOf(weak);
        answer.loss = answer.loss + std::max(Rational(0), above - least);
        answer.limit =
            readings[i].size() == 1 ? least : std::max(Rational(0), out.dense - answer.loss);
        for (const Measured *a : {basis->dense, weak, (*reading.curve)[reading.count - 1]})
          if (a && lines.emplace(a->location.file, a->location.line).second)
            answer.lines.push_back(a->location);
      }
    }
  }

  void require() {
    const Rational &least = request.accuracy->least;
    out.budget = out.dense - least;
    for (size_t i = 0; i < questions.size(); ++i) {
      AccuracyAnswer &answer = out.answers[i];
      if (answer.refused)
        refuse(*answer.refused);
      else if (!readings[i].empty() && answer.loss * out.margin > *out.budget)
        answer.refused = basis->level == EvidenceLevel::Sums
                             ? lossTooHigh(*request.accuracy, questions[i], out, answer.loss)
                             : tooWeak(weakest(readings[i].front()), answer.limit, &questions[i]);
    }
    bool sparse =
        std::any_of(readings.begin(), readings.end(), [](const auto &all) { return !all.empty(); });
    if (basis->level == EvidenceLevel::Sums && request.margin <= 0 && sparse)
      refuse(estimatesAlone(*request.accuracy, basis->elsewhere));
    else if (out.budget->sign() < 0 && (densest || out.refusals.empty()))
      refuse(densest ? tooWeak(densest, out.dense, nullptr)
                     : noEvidence(*request.accuracy, questions));
  }

  Refusal tooWeak(const Measured *least, const Rational &limit, const AccuracyQuestion *question) {
    return limitTooLow({*request.accuracy, question, *least, limit, samplesFor(least)});
  }

  /// So many samples with the same share would show what is required.
  std::optional<int64_t> samplesFor(const Measured *a) {
    const Rational &least = request.accuracy->least;
    if (out.confidence <= 0 || a->share <= least)
      return std::nullopt;
    auto [found, isNew] = needed.try_emplace(a);
    if (!isNew || needed.size() > kMostSearches)
      return found->second;
    auto shows = [&](int64_t samples) {
      int64_t right = *(a->share * Rational(samples)).floor().toInt64();
      return lowerLimit(right, samples, delta()) >= least;
    };
    int64_t low = 0, high = std::max<int64_t>(a->samples, 1);
    while (high < kMostSamples && !shows(high))
      low = high, high = std::min(2 * high, kMostSamples);
    if (!shows(high))
      return std::nullopt;
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      (shows(middle) ? high : low) = middle;
    }
    return found->second = high;
  }

  void refuse(const Refusal &refusal) {
    for (const Refusal &other : out.refusals)
      if (other.issue.code == refusal.issue.code && other.issue.message == refusal.issue.message)
        return;
    if (out.refusals.size() < kMostRefusals)
      out.refusals.push_back(refusal);
  }

  void nothing() {
    const SparsityRequest::Evidence *ranks = nullptr;
    for (const SparsityRequest::Evidence &source : request.evidence)
      if (source.kind == Kind::Sensitivity && !ranks)
        ranks = &source;
    out.level = ranks ? EvidenceLevel::Ranking : EvidenceLevel::Nothing;
    for (size_t i = 0; i < questions.size(); ++i)
      out.answers[i].measured =
          std::all_of(questions[i].zeros.begin(), questions[i].zeros.end(), [](const auto &one) {
            return measuredPattern(one.of, one.pattern) == "dense";
          });
    if (!request.accuracy)
      return;
    out.confidence = request.accuracy->confidence;
    out.budget = Rational(0) - request.accuracy->least;
    refuse(ranks ? rankingAlone(*request.accuracy, *ranks)
                 : noEvidence(*request.accuracy, questions));
  }

  void assume() {
    EvidenceFacts facts;
    facts.elsewhere = basis->elsewhere;
    facts.byLayer = basis->byLayer;
    facts.margin = request.margin;
    facts.denseMeasured = basis->dense;
    for (const auto &all : readings)
      for (const Reading &reading : all)
        facts.between |= reading.between;
    for (const auto &[a, limit] : limits)
      facts.rounded |= Rational(a->right) != a->share * Rational(a->samples);
    out.assumptions = assumptionsOf(out, facts);
  }

  const SparsityRequest &request;
  const std::vector<AccuracyFile> &files;
  const std::vector<AccuracyQuestion> &questions;
  const Basis *basis = nullptr;
  const Measured *densest = nullptr;
  std::vector<std::vector<Reading>> readings; ///< by question
  std::map<const Measured *, Rational> limits;
  std::map<const std::vector<const Measured *> *, std::vector<const Measured *>> weakestOf;
  std::map<const Measured *, std::optional<int64_t>> needed;
  AccuracyEvidence out;
};

} // namespace

AccuracyEvidence judge(const SparsityRequest &request, const std::vector<AccuracyFile> &files,
                       const std::vector<AccuracyQuestion> &questions) {
  return Judge(request, files, questions).run();
}

std::optional<double> sensitivityOf(const std::vector<AccuracyFile> &files,
                                    std::string_view operation) {
  std::optional<double> largest;
  for (const AccuracyFile &file : files)
    for (const LayerSensitivity &one : file.sensitivities)
      if (meansName(one.layer, operation))
        largest = std::max(largest.value_or(0), one.value);
  return largest;
}

} // namespace accord
