// LSTM and GRU over time, with PyTorch's equations, states that start at zero.
#include "lib/training/interpret/Kernels.h"
#include <cmath>

namespace accord::interpret {
namespace {

/// Where the weights of one direction of a layer lie, and its tensors sample by sample.
struct Layer {
  const Array &x, &wIh, &wHh;
  int64_t directions, direction, hidden, gates, kept;
  bool batched;

  int64_t samples() const { return batched ? x.shape[0] : 1; }
  int64_t steps() const { return x.shape[batched]; }
  int64_t inputs() const { return x.shape.back(); }
  /// The time of the k-th step of this direction.
  int64_t time(int64_t k) const { return direction ? steps() - 1 - k : k; }

  Index at(int64_t sample, int64_t time, int64_t column) const {
    return batched ? Index{sample, time, column} : Index{time, column};
  }
  Index state(int64_t sample, int64_t time, int64_t j) const { return at(sample, time, direction * hidden + j); }
  Index keptAt(int64_t sample, int64_t time, int64_t which, int64_t j) const {
    return at(sample, time, (direction * kept + which) * hidden + j);
  }
  Index weight(int64_t row, int64_t column) const {
    return directions == 2 ? Index{direction, row, column} : Index{row, column};
  }
  /// `side`: 0 the bias of the input, 1 that of the state.
  Index bias(int64_t side, int64_t row) const { return weight(side, row); }
};

using Row = std::vector<double>;

Row product(const Layer &l, const Array &w, const Row &of, const Array *bias, int64_t side) {
  Row result(l.gates * l.hidden);
  for (int64_t row = 0; row < l.gates * l.hidden; ++row) {
    result[row] = bias ? (*bias)(l.bias(side, row)) : 0;
    for (size_t i = 0; i < of.size(); ++i)
      result[row] += w(l.weight(row, i)) * of[i];
  }
  return result;
}

Row inputAt(const Layer &l, int64_t sample, int64_t time) {
  Row x;
  for (int64_t i = 0; i < l.inputs(); ++i)
    x.push_back(l.x(l.at(sample, time, i)));
  return x;
}

/// What a cell keeps of a step, from the products of its input and of its state.
struct Cell {
  int64_t gates, kept;
  /// Fills kept[which][j] and returns the new state.
  std::function<double(const Row &, const Row &, int64_t hidden, int64_t j, double state, double carried,
                       double *keptValues)>
      forward;
  /// From the gradient of the new state: those of the gates' sums on the side of the input and of the state, and what
  /// passes on to the state and the carried value before.
  std::function<void(const double *kept, double state, double carried, double dState, double dCarried, double *dInput,
                     double *dHidden, double &dStateBefore, double &dCarriedBefore)>
      backward;
  bool carries; ///< the last kept value is carried on (the LSTM's cell)
};

/// i, f, g, o, c.
const Cell &lstmCell() {
  static const Cell cell = {4, 5,
                            [](const Row &x, const Row &h, int64_t hidden, int64_t j, double, double c, double *kept) {
                              auto sum = [&](int64_t gate) { return x[gate * hidden + j] + h[gate * hidden + j]; };
                              kept[0] = sigmoid(sum(0)), kept[1] = sigmoid(sum(1));
                              kept[2] = std::tanh(sum(2)), kept[3] = sigmoid(sum(3));
                              kept[4] = kept[1] * c + kept[0] * kept[2];
                              return kept[3] * std::tanh(kept[4]);
                            },
                            [](const double *k, double, double c, double dh, double dc, double *dx, double *dHidden,
                               double &dhBefore, double &dcBefore) {
                              double t = std::tanh(k[4]);
                              dc += dh * k[3] * (1 - t * t);
                              dx[0] = dc * k[2] * k[0] * (1 - k[0]);
                              dx[1] = dc * c * k[1] * (1 - k[1]);
                              dx[2] = dc * k[0] * (1 - k[2] * k[2]);
                              dx[3] = dh * t * k[3] * (1 - k[3]);
                              std::copy(dx, dx + 4, dHidden);
                              dhBefore = 0;
                              dcBefore = dc * k[1];
                            },
                            true};
  return cell;
}

/// r, z, n, and the state's part of the candidate.
const Cell &gruCell() {
  static const Cell cell = {
      3, 4,
      [](const Row &x, const Row &h, int64_t hidden, int64_t j, double state, double, double *kept) {
        kept[0] = sigmoid(x[j] + h[j]);
        kept[1] = sigmoid(x[hidden + j] + h[hidden + j]);
        kept[3] = h[2 * hidden + j];
        kept[2] = std::tanh(x[2 * hidden + j] + kept[0] * kept[3]);
        return (1 - kept[1]) * kept[2] + kept[1] * state;
      },
      [](const double *k, double state, double, double dh, double, double *dx, double *dHidden, double &dhBefore,
         double &dcBefore) {
        dx[2] = dh * (1 - k[1]) * (1 - k[2] * k[2]);
        dx[1] = dh * (state - k[2]) * k[1] * (1 - k[1]);
        dx[0] = dx[2] * k[3] * k[0] * (1 - k[0]);
        dHidden[0] = dx[0], dHidden[1] = dx[1], dHidden[2] = dx[2] * k[0];
        dhBefore = dh * k[1];
        dcBefore = 0;
      },
      false};
  return cell;
}

template <typename OpTy>
Layer layerOf(OpTy op, const Cell &cell, const Array &x, const Array &wIh, const Array &wHh, int64_t direction) {
  return {x,
          wIh,
          wHh,
          op.getBidirectional() ? 2 : 1,
          direction,
          wHh.shape.back(),
          cell.gates,
          cell.kept,
          batchRankOf(op.getX()) != 0};
}

template <typename OpTy> void forward(OpTy op, const Cell &cell, Inputs in, Outputs out) {
  const Array *bias = in.size() > 3 ? in[3] : nullptr;
  for (int64_t direction = 0; direction < (op.getBidirectional() ? 2 : 1); ++direction) {
    Layer l = layerOf(op, cell, *in[0], *in[1], *in[2], direction);
    for (int64_t n = 0; n < l.samples(); ++n) {
      Row state(l.hidden), carried(state), next(state);
      for (int64_t k = 0; k < l.steps(); ++k) {
        int64_t time = l.time(k);
        Row x = product(l, l.wIh, inputAt(l, n, time), bias, 0);
        Row h = product(l, l.wHh, state, bias, 1);
        for (int64_t j = 0; j < l.hidden; ++j) {
          std::array<double, 5> kept{};
          next[j] = cell.forward(x, h, l.hidden, j, state[j], carried[j], kept.data());
          for (int64_t which = 0; which < l.kept; ++which)
            out[1](l.keptAt(n, time, which, j)) = kept[which];
          if (cell.carries)
            carried[j] = kept[l.kept - 1];
          out[0](l.state(n, time, j)) = next[j];
        }
        state = next;
      }
    }
  }
}

/// dy, x, w_ih, w_hh, y, kept -> dx, dw_ih, dw_hh, dbias.
template <typename GradOp> void backward(GradOp op, const Cell &cell, Inputs in, Outputs out) {
  const Array &dy = *in[0], &y = *in[4], &kept = *in[5];
  for (int64_t direction = 0; direction < (op.getBidirectional() ? 2 : 1); ++direction) {
    Layer l = layerOf(op, cell, *in[1], *in[2], *in[3], direction);
    for (int64_t n = 0; n < l.samples(); ++n) {
      Row dState(l.hidden), dCarried(dState);
      for (int64_t k = l.steps() - 1; k >= 0; --k) {
        int64_t time = l.time(k);
        Row dx(l.gates * l.hidden), dHidden(dx), before(dState.size());
        for (int64_t j = 0; j < l.hidden; ++j) {
          std::array<double, 5> values{};
          std::array<double, 4> dInputs{}, dStates{};
          for (int64_t which = 0; which < l.kept; ++which)
            values[which] = kept(l.keptAt(n, time, which, j));
          double state = k ? y(l.state(n, l.time(k - 1), j)) : 0;
          double carried = k && cell.carries ? kept(l.keptAt(n, l.time(k - 1), l.kept - 1, j)) : 0;
          double dStateBefore = 0, dCarriedBefore = 0;
          cell.backward(values.data(), state, carried, dState[j] + dy(l.state(n, time, j)), dCarried[j], dInputs.data(),
                        dStates.data(), dStateBefore, dCarriedBefore);
          for (int64_t gate = 0; gate < l.gates; ++gate) {
            dx[gate * l.hidden + j] = dInputs[gate];
            dHidden[gate * l.hidden + j] = dStates[gate];
          }
          before[j] = dStateBefore;
          dCarried[j] = dCarriedBefore;
        }
        Row x = inputAt(l, n, time);
        for (int64_t row = 0; row < l.gates * l.hidden; ++row) {
          for (int64_t i = 0; i < l.inputs(); ++i) {
            out[0](l.at(n, time, i)) += l.wIh(l.weight(row, i)) * dx[row];
            out[1](l.weight(row, i)) += dx[row] * x[i];
          }
          for (int64_t i = 0; i < l.hidden; ++i) {
            before[i] += l.wHh(l.weight(row, i)) * dHidden[row];
            if (k)
              out[2](l.weight(row, i)) += dHidden[row] * y(l.state(n, l.time(k - 1), i));
          }
          if (out.size() > 3) {
            out[3](l.bias(0, row)) += dx[row];
            out[3](l.bias(1, row)) += dHidden[row];
          }
        }
        dState = before;
      }
    }
  }
}

template <typename OpTy, typename GradOp> void recurrent(Kernels &kernels, const Cell &cell) {
  kernels.add<OpTy>([&cell](OpTy op, Inputs in, Outputs out) { forward(op, cell, in, out); });
  kernels.add<GradOp>([&cell](GradOp op, Inputs in, Outputs out) { backward(op, cell, in, out); });
}

} // namespace

void addRecurrent(Kernels &kernels) {
  recurrent<dnn::LstmOp, dnn::LstmGradOp>(kernels, lstmCell());
  recurrent<dnn::GruOp, dnn::GruGradOp>(kernels, gruCell());
}

} // namespace accord::interpret
