// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// All three directions are one contraction over a plane that holds an operand with its padding (and, for backward data,
// the zeros between the elements of dy), addressed by offsets.
#include <algorithm>

#include "integrity/contraction.hpp"
#include "integrity/parallel.hpp"
#include "integrity/reference.hpp"

namespace rb::integrity {

namespace {

using Dims = std::vector<std::int64_t>;

/// Sizes with three spatial axes; missing ones are 1 and come first.
struct Shape {
  std::int64_t images = 0, channels = 0, filters = 0, groups = 1;
  std::int64_t input[3] = {1, 1, 1}, output[3] = {1, 1, 1}, filter[3] = {1, 1, 1};
  std::int64_t padding[3] = {0, 0, 0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  bool flip = false;

  std::int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  std::int64_t inputs() const { return input[0] * input[1] * input[2]; }
  std::int64_t outputs() const { return output[0] * output[1] * output[2]; }
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
  std::int64_t stored_tap(std::int64_t tap) const { return flip ? taps() - 1 - tap : tap; }
};

/// Most places of a padded operand: 8 GiB of doubles.
constexpr double kMostPlaces = 0x1p30;

Dims dims_of(const TensorView& view) {
  return {view.dims.begin(), view.dims.begin() + view.rank};
}

std::string shown(const Dims& dims) {
  std::string out;
  for (const std::int64_t dim : dims) {
    if (!out.empty()) out += 'x';
    out += std::to_string(dim);
  }
  return out;
}

Result<Shape> shape_of(const Convolution& problem, const Dims& x, const Dims& w, const Dims& y) {
  RB_ASSIGN(const Dims expected, convolution_output(problem, x, w));
  if (y != expected)
    return fail(Errc::invalid_value, "bad-shape", "output is %s, must be %s for input %s and filter %s",
                shown(y).c_str(), shown(expected).c_str(), shown(x).c_str(), shown(w).c_str());
  Shape shape;
  shape.images = x[0];
  shape.channels = x[1];
  shape.filters = w[0];
  shape.groups = problem.groups;
  shape.flip = problem.flip;
  for (int axis = 0; axis < problem.spatial; ++axis) {
    const auto at = static_cast<std::size_t>(2 + axis);
    const int to = 3 - problem.spatial + axis;
    shape.input[to] = x[at];
    shape.filter[to] = w[at];
    shape.output[to] = y[at];
    shape.padding[to] = problem.padding[axis];
    shape.stride[to] = problem.stride[axis];
    shape.dilation[to] = problem.dilation[axis];
  }
  double places = static_cast<double>(x[0]) * static_cast<double>(std::max(x[1], w[0]));
  for (int axis = 0; axis < 3; ++axis)
    places *= static_cast<double>(
        std::max(shape.input[axis] + (shape.filter[axis] - 1) * shape.dilation[axis],
                 (shape.output[axis] - 1) * shape.stride[axis] + (shape.filter[axis] - 1) * shape.dilation[axis] + 1));
  if (places > kMostPlaces)
    return fail(Errc::alloc_failed, "check-too-large", "the reference of input %s with filter %s needs %.3g places",
                shown(x).c_str(), shown(w).c_str(), places);
  return shape;
}

/// Places of one axis of a plane: place p holds operand index source[p], or -1 for none.
using AxisSources = std::vector<std::int64_t>;

/// (image, channel) planes of an operand with padding places in between. Zero where there is no operand.
struct Plane {
  std::int64_t size[3] = {1, 1, 1};
  std::vector<double> data;
  std::vector<std::uint8_t> valid;  // filled only when the check must leave padding out
  OperandFacts facts;
  std::int64_t places() const { return size[0] * size[1] * size[2]; }
  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k) const { return (i * size[1] + j) * size[2] + k; }
};

/// Spreads a tensor (images, channels, spatial...) over its planes.
Plane make_plane(const TensorView& view, const AxisSources (&sources)[3], const std::int64_t (&spatial)[3]) {
  Plane plane;
  for (int axis = 0; axis < 3; ++axis) plane.size[axis] = static_cast<std::int64_t>(sources[axis].size());
  const std::int64_t planes = view.dims[0] * view.dims[1];
  plane.data.assign(static_cast<std::size_t>(planes * plane.places()), 0.0);
  const std::vector<double> values = load_all(view);
  FactsBuilder facts(static_cast<std::int64_t>(values.size()));
  facts.add(values.data(), static_cast<std::int64_t>(values.size()));
  plane.facts = facts.finish();
  const double* from = values.data();
  double* to = plane.data.data();
  for (std::int64_t p = 0; p < planes; ++p, from += spatial[0] * spatial[1] * spatial[2]) {
    for (const std::int64_t i : sources[0]) {
      for (const std::int64_t j : sources[1]) {
        for (const std::int64_t k : sources[2]) {
          if (i >= 0 && j >= 0 && k >= 0) *to = from[(i * spatial[1] + j) * spatial[2] + k];
          ++to;
        }
      }
    }
  }
  return plane;
}

void mark_valid(Plane& plane, const AxisSources (&sources)[3]) {
  plane.valid.resize(plane.data.size());
  std::vector<std::uint8_t> one;
  for (const std::int64_t i : sources[0])
    for (const std::int64_t j : sources[1])
      for (const std::int64_t k : sources[2]) one.push_back(i >= 0 && j >= 0 && k >= 0);
  for (std::size_t at = 0; at < plane.valid.size(); at += one.size())
    std::copy(one.begin(), one.end(), plane.valid.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Places of x that the taps can reach: place p is input index p - padding.
AxisSources input_places(const Shape& shape, int axis) {
  AxisSources sources;
  const std::int64_t last =
      (shape.output[axis] - 1) * shape.stride[axis] + (shape.filter[axis] - 1) * shape.dilation[axis];
  for (std::int64_t p = 0; p <= last; ++p) {
    const std::int64_t index = p - shape.padding[axis];
    sources.push_back(index >= 0 && index < shape.input[axis] ? index : -1);
  }
  return sources;
}

/// Places of dy seen from dx: place p is t = p + padding - (filter - 1) * dilation, which is an output index times the
/// stride or nothing.
AxisSources gradient_places(const Shape& shape, int axis) {
  AxisSources sources;
  const std::int64_t reach = (shape.filter[axis] - 1) * shape.dilation[axis];
  for (std::int64_t p = 0; p < shape.input[axis] + reach; ++p) {
    const std::int64_t t = p + shape.padding[axis] - reach;
    const bool hit = t >= 0 && t % shape.stride[axis] == 0 && t / shape.stride[axis] < shape.output[axis];
    sources.push_back(hit ? t / shape.stride[axis] : -1);
  }
  return sources;
}

/// Offsets of a grid with `counts` points, `steps` places apart, in a plane.
Dims grid(const Plane& plane, const std::int64_t (&counts)[3], const std::int64_t (&steps)[3]) {
  Dims offsets;
  offsets.reserve(static_cast<std::size_t>(counts[0] * counts[1] * counts[2]));
  for (std::int64_t i = 0; i < counts[0]; ++i)
    for (std::int64_t j = 0; j < counts[1]; ++j)
      for (std::int64_t k = 0; k < counts[2]; ++k)
        offsets.push_back(plane.at(i * steps[0], j * steps[1], k * steps[2]));
  return offsets;
}

/// Every sum of an outer and an inner offset, outer first.
Dims cross(std::int64_t outer, std::int64_t step, const Dims& inner) {
  Dims offsets;
  offsets.reserve(static_cast<std::size_t>(outer) * inner.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t i : inner) offsets.push_back(o * step + i);
  return offsets;
}

Dims range(std::int64_t count, std::int64_t step = 1) {
  return cross(count, step, {0});
}

/// Taps in the order of the cross-correlation, as indices of the stored filter.
Dims stored_taps(const Shape& shape) {
  Dims taps;
  for (std::int64_t tap = 0; tap < shape.taps(); ++tap) taps.push_back(shape.stored_tap(tap));
  return taps;
}

/// For each point of grid `points`: how many points of grid `moves` lead to a place that holds an operand, times
/// `factor`. Separable: the count is the product over the axes.
std::vector<double> term_counts(const AxisSources (&sources)[3], const std::int64_t (&points)[3],
                                const std::int64_t (&point_step)[3], const std::int64_t (&moves)[3],
                                const std::int64_t (&move_step)[3], double factor) {
  std::vector<double> per_axis[3];
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t p = 0; p < points[axis]; ++p) {
      double count = 0;
      for (std::int64_t m = 0; m < moves[axis]; ++m)
        count += sources[axis][static_cast<std::size_t>(p * point_step[axis] + m * move_step[axis])] >= 0;
      per_axis[axis].push_back(count);
    }
  }
  std::vector<double> counts;
  for (const double i : per_axis[0])
    for (const double j : per_axis[1])
      for (const double k : per_axis[2]) counts.push_back(i * j * k * factor);
  return counts;
}

constexpr std::int64_t kUnit[3] = {1, 1, 1};

Sums sums_of(Reference& reference) {
  return {
      reference.value.data(), reference.peaks.data(), reference.squares.data(), reference.magnitudes.data(), {}, 0, 1};
}

/// Runs the contraction unless alpha is 0, then applies alpha and beta. `first` and `second` are the facts of the
/// operands in the API's order.
Status finish(Reference& reference, Operand& rows, Operand& columns, const Sums& sums, Plane& plane,
              const AxisSources (&sources)[3], const OperandFacts& first, const OperandFacts& second,
              const Scaling& scaling, int threads) {
  if (scaling.alpha != 0) {
    reference.a = first;
    reference.b = second;
    reference.granularity = first.granularity + second.granularity;
    const bool masked = !first.finite() || !second.finite();
    if (masked) {
      mark_valid(plane, sources);
      columns.valid = plane.valid.data();
    }
    columns.data = plane.data.data();
    contract(rows, columns, sums, masked, threads);
  }
  return apply_scaling(reference, scaling);
}

OperandFacts facts_of(const std::vector<double>& values) {
  FactsBuilder facts(static_cast<std::int64_t>(values.size()));
  facts.add(values.data(), static_cast<std::int64_t>(values.size()));
  return facts.finish();
}

}  // namespace

std::int64_t convolved_size(const Convolution& problem, int axis, std::int64_t input, std::int64_t filter) {
  const std::int64_t span = (filter - 1) * problem.dilation[axis] + 1;
  const std::int64_t room = input + 2 * problem.padding[axis] - span;
  return room < 0 ? 0 : room / problem.stride[axis] + 1;
}

Result<Dims> convolution_output(const Convolution& problem, const Dims& x, const Dims& w) {
  const auto bad = [&](const char* why) {
    return fail(Errc::invalid_value, "bad-shape", "input %s, filter %s, %lld groups: %s", shown(x).c_str(),
                shown(w).c_str(), static_cast<long long>(problem.groups), why);
  };
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;  // keeps every product of two sizes inside 64 bits
  if (problem.spatial < 1 || problem.spatial > 3) return bad("the spatial rank must be 1, 2 or 3");
  const auto rank = static_cast<std::size_t>(problem.spatial + 2);
  if (x.size() != rank || w.size() != rank) return bad("tensor and filter must have the rank of the convolution");
  for (std::size_t i = 0; i < rank; ++i)
    if (x[i] < 1 || w[i] < 1 || x[i] > kLimit || w[i] > kLimit) return bad("dimensions must be 1 to 2^31");
  if (problem.groups < 1 || x[1] % problem.groups || w[0] % problem.groups)
    return bad("channels and filters must be multiples of the groups");
  if (w[1] != x[1] / problem.groups) return bad("the filter's channels must be those of one group");
  Dims y = {x[0], w[0]};
  for (int axis = 0; axis < problem.spatial; ++axis) {
    if (problem.stride[axis] < 1 || problem.dilation[axis] < 1 || problem.padding[axis] < 0 ||
        problem.stride[axis] > kLimit || problem.dilation[axis] > kLimit || problem.padding[axis] > kLimit)
      return bad("stride and dilation must be 1 to 2^31, padding 0 to 2^31");
    const auto at = static_cast<std::size_t>(2 + axis);
    y.push_back(convolved_size(problem, axis, x[at], w[at]));
    if (y.back() < 1) return bad("the filter is larger than the padded input");
  }
  return y;
}

Result<Reference> convolution_forward(const Convolution& problem, const TensorView& x, const TensorView& w,
                                      const Dims& y_dims, const Scaling& scaling, int threads) {
  const DefaultFloat settings;
  RB_TRY(check_view(x, "x"));
  RB_TRY(check_view(w, "w"));
  RB_ASSIGN(const Shape shape, shape_of(problem, dims_of(x), dims_of(w), y_dims));
  const AxisSources sources[3] = {input_places(shape, 0), input_places(shape, 1), input_places(shape, 2)};
  Plane plane = make_plane(x, sources, shape.input);
  const std::vector<double> filter = load_all(w);
  const std::int64_t filter_size = shape.group_channels() * shape.taps();

  Reference reference = empty_reference(y_dims, 1, shape.outputs());
  reference.terms = term_counts(sources, shape.output, shape.stride, shape.filter, shape.dilation,
                                static_cast<double>(shape.group_channels()));
  reference.full_terms = static_cast<double>(filter_size);
  Operand rows, columns;
  rows.data = filter.data();
  rows.lanes = range(shape.group_filters(), filter_size);
  rows.steps = cross(shape.group_channels(), shape.taps(), stored_taps(shape));
  columns.lanes = grid(plane, shape.output, shape.stride);
  columns.steps = cross(shape.group_channels(), plane.places(), grid(plane, shape.filter, shape.dilation));
  Sums sums = sums_of(reference);
  sums.row = shape.outputs();
  for (std::int64_t n = 0; n < shape.images; ++n) {
    for (std::int64_t g = 0; g < shape.groups; ++g) {
      rows.batches.push_back(g * shape.group_filters() * filter_size);
      columns.batches.push_back((n * shape.channels + g * shape.group_channels()) * plane.places());
      sums.batches.push_back((n * shape.filters + g * shape.group_filters()) * shape.outputs());
    }
  }
  RB_TRY(finish(reference, rows, columns, sums, plane, sources, plane.facts, facts_of(filter), scaling, threads));
  return reference;
}

Result<Reference> convolution_backward_data(const Convolution& problem, const TensorView& w, const TensorView& dy,
                                            const Dims& dx_dims, const Scaling& scaling, int threads) {
  const DefaultFloat settings;
  RB_TRY(check_view(w, "w"));
  RB_TRY(check_view(dy, "dy"));
  RB_ASSIGN(const Shape shape, shape_of(problem, dx_dims, dims_of(w), dims_of(dy)));
  const AxisSources sources[3] = {gradient_places(shape, 0), gradient_places(shape, 1), gradient_places(shape, 2)};
  Plane plane = make_plane(dy, sources, shape.output);
  const std::vector<double> filter = load_all(w);
  const std::int64_t filter_size = shape.group_channels() * shape.taps();

  // Moving to the next tap moves backwards in dy, so the taps are walked from the last to the first.
  Dims taps = stored_taps(shape);
  std::reverse(taps.begin(), taps.end());
  Reference reference = empty_reference(dx_dims, 1, shape.inputs());
  reference.terms = term_counts(sources, shape.input, kUnit, shape.filter, shape.dilation,
                                static_cast<double>(shape.group_filters()));
  reference.full_terms = static_cast<double>(shape.group_filters() * shape.taps());
  Operand rows, columns;
  rows.data = filter.data();
  rows.lanes = range(shape.group_channels(), shape.taps());
  rows.steps = cross(shape.group_filters(), filter_size, taps);
  columns.lanes = grid(plane, shape.input, kUnit);
  columns.steps = cross(shape.group_filters(), plane.places(), grid(plane, shape.filter, shape.dilation));
  Sums sums = sums_of(reference);
  sums.row = shape.inputs();
  for (std::int64_t n = 0; n < shape.images; ++n) {
    for (std::int64_t g = 0; g < shape.groups; ++g) {
      rows.batches.push_back(g * shape.group_filters() * filter_size);
      columns.batches.push_back((n * shape.filters + g * shape.group_filters()) * plane.places());
      sums.batches.push_back((n * shape.channels + g * shape.group_channels()) * shape.inputs());
    }
  }
  RB_TRY(finish(reference, rows, columns, sums, plane, sources, facts_of(filter), plane.facts, scaling, threads));
  return reference;
}

Result<Reference> convolution_backward_filter(const Convolution& problem, const TensorView& x, const TensorView& dy,
                                              const Dims& dw_dims, const Scaling& scaling, int threads) {
  const DefaultFloat settings;
  RB_TRY(check_view(x, "x"));
  RB_TRY(check_view(dy, "dy"));
  RB_ASSIGN(const Shape shape, shape_of(problem, dims_of(x), dw_dims, dims_of(dy)));
  const AxisSources sources[3] = {input_places(shape, 0), input_places(shape, 1), input_places(shape, 2)};
  Plane plane = make_plane(x, sources, shape.input);
  const std::vector<double> gradient = load_all(dy);
  const std::int64_t filter_size = shape.group_channels() * shape.taps();

  Reference reference = empty_reference(dw_dims, 1, filter_size);
  std::vector<double> counts =
      term_counts(sources, shape.filter, shape.dilation, shape.output, shape.stride, static_cast<double>(shape.images));
  if (shape.flip) std::reverse(counts.begin(), counts.end());
  reference.terms = std::move(counts);
  reference.full_terms = static_cast<double>(shape.images * shape.outputs());
  Operand rows, columns;
  rows.data = gradient.data();
  rows.lanes = range(shape.group_filters(), shape.outputs());
  rows.steps = cross(shape.images, shape.filters * shape.outputs(), range(shape.outputs()));
  Dims taps = grid(plane, shape.filter, shape.dilation);
  if (shape.flip) std::reverse(taps.begin(), taps.end());
  columns.lanes = cross(shape.group_channels(), plane.places(), taps);
  columns.steps = cross(shape.images, shape.channels * plane.places(), grid(plane, shape.output, shape.stride));
  Sums sums = sums_of(reference);
  sums.row = filter_size;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    rows.batches.push_back(g * shape.group_filters() * shape.outputs());
    columns.batches.push_back(g * shape.group_channels() * plane.places());
    sums.batches.push_back(g * shape.group_filters() * filter_size);
  }
  RB_TRY(finish(reference, rows, columns, sums, plane, sources, plane.facts, facts_of(gradient), scaling, threads));
  return reference;
}

double convolution_products(const Dims& w_dims, const Dims& y_dims) {
  double products = 1;
  for (const std::int64_t dim : y_dims) products *= static_cast<double>(dim);
  for (std::size_t i = 1; i < w_dims.size(); ++i) products *= static_cast<double>(w_dims[i]);
  return products;
}

}  // namespace rb::integrity
