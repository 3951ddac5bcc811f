#include "lib/machine/calibration/Accuracy.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::calibrate {
namespace {

constexpr unsigned kSplits = 5;
constexpr size_t kMinOfSize = 4; // rows of a model that is left out
constexpr double kNoise = 1.03;  // what repeated runs differ by

bool belongs(const Case &one, const Study &study) {
  auto row = [&](const char *column) {
    auto found = one.columns.find(column);
    return found == one.columns.end() ? std::string() : found->second;
  };
  return row("source").find(study.source) != std::string::npos && row("accelerator").starts_with(study.accelerator) &&
         row("precision").starts_with(study.precision) && (!*study.family || row("family") == study.family) &&
         row("framework").starts_with(study.framework);
}

std::vector<Case> casesOf(const std::vector<Case> &cases, const std::string &calibrationGroup) {
  std::vector<Case> members;
  for (const Case &one : cases)
    if (std::any_of(studies().begin(), studies().end(), [&](const Study &study) {
          return calibrationGroup == study.calibrationGroup && belongs(one, study);
        }))
      members.push_back(one);
  return members;
}

/// Computed by a calibration on the other half, in both directions or only for the reserved half.
std::optional<std::vector<Residual>> reserved(const std::vector<Case> &cases, unsigned split, bool balanced,
                                              bool swapped = false) {
  std::vector<bool> half = calibrationHalf(cases, split, balanced);
  std::vector<Case> seen, unseen;
  for (size_t i = 0; i < cases.size(); ++i)
    (half[i] != swapped ? seen : unseen).push_back(cases[i]);
  if (seen.empty() || unseen.empty())
    return std::nullopt;
  auto fitted = fit(seen);
  auto *good = fitted.get();
  if (!good)
    return std::nullopt;
  return residualsOf(unseen, good->factors);
}

void splitScores(const std::vector<Case> &cases, const std::vector<Accuracy *> &scored, bool balanced) {
  for (unsigned split = 0; split < kSplits; ++split) {
    auto residuals = reserved(cases, split, balanced);
    if (!residuals)
      continue;
    for (Accuracy *accuracy : scored) {
      std::set<std::string> ids;
      for (const Case &one : cases)
        if (belongs(one, accuracy->study))
          ids.insert(one.id);
      std::vector<Residual> own;
      for (const Residual &r : *residuals)
        if (ids.count(r.id))
          own.push_back(r);
      if (own.empty())
        continue;
      double mape = 100 * scoreOf(own).mape;
      SplitScore &score = balanced ? accuracy->balanced : accuracy->hashed;
      score.mean += mape, score.worst = std::max(score.worst, mape);
      ++score.splits;
    }
  }
}

} // namespace

const std::vector<Study> &studies() {
  static const std::vector<Study> all = {
      {"Megatron-DeepSpeed, several servers (vTrain)", "ground_truth_multi", "a100", "", "", "", "vTrain", 8},
      {"Megatron-DeepSpeed, one server (vTrain)", "ground_truth_single", "a100", "", "", "", "vTrain", 8},
      {"Megatron-LM weak scaling (Narayanan et al. 2021)", "Narayanan", "a100", "", "", "", "Selene", 5},
      {"Megatron-LM selective recomputation (Korthikanti et al. 2022)", "Korthikanti", "a100", "", "", "", "Selene",
       3.65},
      {"BLOOM trials, Omni-Path (BigScience)", "tr11-176B", "a100", "", "", "", "BLOOM", 10},
      {"MPT with FSDP, A100 (llm-foundry)", "llm-foundry", "a100", "bf16", "", "", "MPT A100", 10},
      {"MPT with FSDP, H100 bf16 (llm-foundry)", "llm-foundry", "h100", "bf16", "", "", "MPT H100", 10},
      {"BERT, PyTorch", "PyTorch/LanguageModeling/BERT", "", "", "bert", "PyTorch", "BERT PyTorch", 15},
      {"BERT, TensorFlow", "LanguageModeling/BERT", "", "", "bert", "TensorFlow", "BERT TensorFlow", 15},
      {"convolutions, 16 bit, PyTorch", "ConvNets", "", "fp16", "cnn", "PyTorch", "CNN 16", 15},
      {"convolutions, all types, PyTorch", "ConvNets", "", "", "cnn", "PyTorch", "CNN", 15},
      {"GNMT, PyTorch", "GNMT", "", "", "rnn", "PyTorch", "GNMT", 15},
      {"DLRM", "DLRM", "", "", "recsys", "", "DLRM", 15},
      {"TPU v5e (MaxText)", "maxtext", "tpu-v5e", "", "", "", "TPU", 25},
      {"Trainium (Neuron SDK)", "aws-neuron", "trainium1", "", "", "", "Trainium", 25},
      {"all-reduce, A100, 2 devices", "AR_GPU2", "a100", "", "", "", "AR A", 3},
      {"all-reduce, A100, 4 devices", "AR_GPU4", "a100", "", "", "", "AR A", 3},
      {"all-reduce, A100, 8 devices", "AR_GPU8", "a100", "", "", "", "AR A", 3},
      {"all-reduce, V100, 2 devices", "AR_GPU2", "v100", "", "", "", "AR V", 3},
      {"all-reduce, V100, 4 devices", "AR_GPU4", "v100", "", "", "", "AR V", 3},
      {"all-reduce, V100, 8 devices", "AR_GPU8", "v100", "", "", "", "AR V", 3},
  };
  return all;
}

std::vector<Accuracy> accuracyOf(const std::vector<Case> &cases) {
  std::vector<Accuracy> all;
  for (const Study &study : studies()) {
    Accuracy one;
    one.study = study;
    std::vector<Case> own;
    for (const Case &c : cases)
      if (belongs(c, study))
        own.push_back(c);
    one.rows = own.size();
    one.prior = scoreOf(residualsOf(own, unitFactors()));
    if (auto fitted = fit(own); auto *good = fitted.get())
      one.seen = scoreOf(residualsOf(own, good->factors));
    if (one.rows)
      all.push_back(one);
  }
  std::map<std::string, std::vector<Accuracy *>> calibrationGroup;
  for (Accuracy &one : all)
    calibrationGroup[one.study.calibrationGroup].push_back(&one);
  for (auto &[name, scored] : calibrationGroup) {
    std::vector<Case> members = casesOf(cases, name);
    for (bool balanced : {true, false})
      splitScores(members, scored, balanced);
  }
  for (Accuracy &one : all)
    for (SplitScore *score : {&one.balanced, &one.hashed})
      score->mean /= std::max(1u, score->splits);
  return all;
}

std::vector<std::optional<CaseParameters>> parametersByCase(const std::vector<Case> &cases) {
  std::vector<std::optional<CaseParameters>> made(cases.size());
  std::map<std::string, std::vector<size_t>> calibrationGroup;
  for (size_t i = 0; i < cases.size(); ++i)
    for (const Study &study : studies())
      if (!made[i] && belongs(cases[i], study)) {
        made[i] = CaseParameters{&study, {}, {}, 0, 0};
        calibrationGroup[study.calibrationGroup].push_back(i);
      }
  for (const auto &[name, indices] : calibrationGroup) {
    std::vector<Case> members;
    for (size_t i : indices)
      members.push_back(cases[i]);
    auto whole = fit(members);
    const Fit *all = whole.get();
    for (size_t k = 0; k < members.size(); ++k) {
      Factors factors = all ? all->factors : unitFactors();
      made[indices[k]]->seen = parametersOf(members[k].prior, factors);
      made[indices[k]]->closedFormSeen = predict(members[k], factors).total;
    }
    std::vector<bool> half = calibrationHalf(members, 0, true);
    for (bool side : {false, true}) {
      std::vector<Case> seen;
      for (size_t k = 0; k < members.size(); ++k)
        if (half[k] != side)
          seen.push_back(members[k]);
      auto fitted = seen.empty() ? Result<Fit>(Error{}) : fit(seen);
      if (auto *good = fitted.get())
        for (size_t k = 0; k < members.size(); ++k)
          if (half[k] == side) {
            made[indices[k]]->unseen = parametersOf(members[k].prior, good->factors);
            made[indices[k]]->closedFormUnseen = predict(members[k], good->factors).total;
          }
    }
  }
  return made;
}

std::vector<HeldOutSize> crossValidateSizes(const std::vector<Case> &cases, const std::string &calibrationGroup) {
  std::vector<Case> members = casesOf(cases, calibrationGroup);
  std::map<std::string, size_t> models;
  for (const Case &one : members)
    ++models[one.columns.at("model")];
  std::vector<HeldOutSize> out;
  for (auto &[model, count] : models) {
    if (count < kMinOfSize)
      continue;
    std::vector<Case> seen, unseen;
    for (const Case &one : members)
      (one.columns.at("model") == model ? unseen : seen).push_back(one);
    auto fitted = fit(seen);
    if (auto *good = fitted.get()) {
      Score score = scoreOf(residualsOf(unseen, good->factors));
      out.push_back({model, count, 100 * score.mape, 100 * score.worst});
    }
  }
  return out;
}

RankingScore rankingScore(const std::vector<Case> &cases, const std::string &calibrationGroup, size_t min) {
  std::vector<Case> members = casesOf(cases, calibrationGroup);
  std::map<std::string, std::string> jobs;
  for (const Case &one : members) {
    auto of = [&](const char *column) { return one.columns.at(column); };
    jobs[one.id] = fmt::format("{} layers of {}, {} heads, {} words, {} devices, batch {}", of("layers"), of("hidden"),
                               of("heads"), of("seq_len"), of("n_devices"), of("global_batch"));
  }
  std::map<std::string, std::vector<Residual>> groups;
  for (bool swapped : {false, true})
    if (auto residuals = reserved(members, 0, true, swapped))
      for (const Residual &r : *residuals)
        groups[jobs[r.id]].push_back(r);
  RankingScore score;
  size_t right = 0;
  for (auto &[job, group] : groups) {
    if (group.size() < min)
      continue;
    Ranking ranking = rankingOf(group);
    auto [fastest, slowest] = std::minmax_element(
        group.begin(), group.end(), [](const Residual &a, const Residual &b) { return a.measured < b.measured; });
    score.each.push_back(
        {job, group.size(), 100 * (slowest->measured / fastest->measured - 1), ranking.spearman, 100 * ranking.regret});
    ++score.groups;
    score.spearman += ranking.spearman;
    score.regret += 100 * ranking.regret;
    score.worstRegret = std::max(score.worstRegret, 100 * ranking.regret);
    for (const Residual &a : group)
      for (const Residual &b : group)
        if (a.measured > kNoise * b.measured)
          ++score.pairs, right += a.computed > b.computed;
  }
  score.ordered = 100.0 * right / std::max<size_t>(1, score.pairs);
  double n = std::max<size_t>(1, score.groups);
  score.spearman /= n;
  score.regret /= n;
  return score;
}

} // namespace accord::calibrate
