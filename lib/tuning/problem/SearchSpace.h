// What a tuning may choose: hyper-parameters with their ranges, as plain data.
#pragma once
#include "lib/support/SplitMix.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord::tuning {

/// One hyper-parameter.
struct HyperParameter {
  enum class Kind : uint8_t { Real, Integer, Choice };
  std::string name;
  Kind kind = Kind::Real;
  double min = 0, max = 1; ///< of a number, both included
  bool isLog = false;      ///< equal ratios are equally far: min is above 0
  std::vector<std::string> choices = {};
  int64_t from = 0; ///< it acts behind so many units of a training; programs do not get it before

  size_t size() const { return choices.size(); }
};

/// A value of each hyper-parameter, in their order: a number, or the index of a choice.
using Configuration = std::vector<double>;
/// The same in the unit cube: numbers from 0 to 1, linear or logarithmic; the index of a choice stays as it is.
using CubePoint = std::vector<double>;

using SearchSpace = std::vector<HyperParameter>;

/// Values beyond their range are taken as its ends; whole numbers are rounded, each with the same share of the cube.
Configuration fromCube(const SearchSpace &space, const CubePoint &point);
CubePoint toCube(const SearchSpace &space, const Configuration &configuration);
/// Evenly from the cube, each choice alike.
CubePoint drawPoint(const SearchSpace &space, SplitMix &random);
/// Squared distance: that of the numbers in the cube, and 1 for each choice that differs.
double distance(const SearchSpace &space, const CubePoint &a, const CubePoint &b);

/// Units above 0 behind which hyper-parameters begin to act, ascending.
std::vector<int64_t> branchUnits(const SearchSpace &space);
/// Whether trainings with these values are the same up to a unit: what acts before it is equal.
bool haveSamePrefix(const SearchSpace &space, const Configuration &a, const Configuration &b, int64_t unit);

/// A value as a program gets it: "0.001", "64", "adam". Numbers have as many digits as tell them apart.
std::string valueText(const HyperParameter &parameter, double value);
/// "learning_rate 0.001, batch 64", to be read: numbers have four digits.
std::string configurationText(const SearchSpace &space, const Configuration &configuration);

} // namespace accord::tuning
