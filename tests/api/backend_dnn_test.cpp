// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuDNN's graph API as PyTorch 2.3 uses it: the same calls in the same order, with descriptors that die before the plan
// is built; and what it refuses.
#include <memory>
#include <thread>

#include "tests/api/dnn_support.hpp"

namespace dnn_test {
namespace {

using Descriptor = cudnnBackendDescriptor_t;

Descriptor create(cudnnBackendDescriptorType_t type) {
  Descriptor descriptor = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(type, &descriptor), CUDNN_STATUS_SUCCESS);
  return descriptor;
}
void set(Descriptor descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
         const void* values) {
  ASSERT_EQ(cudnnBackendSetAttribute(descriptor, name, type, count, values), CUDNN_STATUS_SUCCESS)
      << "attribute " << name;
}
void set_int(Descriptor descriptor, cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  set(descriptor, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
void set_descriptor(Descriptor descriptor, cudnnBackendAttributeName_t name, Descriptor value) {
  set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}
void finalize(Descriptor descriptor) {
  ASSERT_EQ(cudnnBackendFinalize(descriptor), CUDNN_STATUS_SUCCESS);
}
void destroy(Descriptor descriptor) {
  ASSERT_EQ(cudnnBackendDestroyDescriptor(descriptor), CUDNN_STATUS_SUCCESS);
}

std::vector<std::int64_t> wide(const Dims& dims) {
  return {dims.begin(), dims.end()};
}

Descriptor make_tensor(const HostTensor& tensor, std::int64_t id, std::int64_t alignment = 4) {
  Descriptor out = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor.type);
  set_int(out, CUDNN_ATTR_TENSOR_DIMENSIONS, wide(tensor.dims));
  set_int(out, CUDNN_ATTR_TENSOR_STRIDES, wide(tensor.strides));
  set_int(out, CUDNN_ATTR_TENSOR_UNIQUE_ID, {id});
  set_int(out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {alignment});
  finalize(out);
  return out;
}

Descriptor make_convolution(const Shape& shape, cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION,
                            cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
  Descriptor out = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  set(out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set_int(out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  set_int(out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {shape.pad_h, shape.pad_w});
  set_int(out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {shape.pad_h, shape.pad_w});
  set_int(out, CUDNN_ATTR_CONVOLUTION_DILATIONS, {shape.dilation_h, shape.dilation_w});
  set_int(out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {shape.stride_h, shape.stride_w});
  finalize(out);
  return out;
}

struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, conv, alpha, beta;
};
OperationNames names_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Direction::data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

Descriptor make_operation(Direction direction, Descriptor x, Descriptor w, Descriptor y, Descriptor conv,
                          float alpha = 1, float beta = 0) {
  const OperationNames names = names_of(direction);
  Descriptor out = create(names.type);
  set_descriptor(out, names.x, x);
  set_descriptor(out, names.w, w);
  set_descriptor(out, names.y, y);
  set_descriptor(out, names.conv, conv);
  set(out, names.alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  set(out, names.beta, CUDNN_TYPE_FLOAT, 1, &beta);
  finalize(out);
  return out;
}

struct GraphSettings {
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  float alpha = 1, beta = 0;
  std::int64_t alignment = 4;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
};

/// Steps 1 to 4 of PyTorch's path: the operation graph, while everything below it is destroyed again.
Descriptor make_graph(cudnnHandle_t handle, Direction direction, const Layer& layer,
                      const GraphSettings& settings = {}) {
  Descriptor x = make_tensor(layer.x, 'x', settings.alignment);
  Descriptor y = make_tensor(layer.y, 'y', settings.alignment);
  Descriptor w = make_tensor(layer.w, 'w', settings.alignment);
  Descriptor conv = make_convolution(layer.shape, settings.mode, settings.compute);
  Descriptor operation = make_operation(direction, x, w, y, conv, settings.alpha, settings.beta);
  Descriptor graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set_descriptor(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  finalize(graph);
  for (Descriptor descriptor : {conv, w, y, x, operation}) destroy(descriptor);
  return graph;
}

/// Step 5: the configurations that a heuristic gives.
std::vector<Descriptor> ask_heuristics(Descriptor graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  finalize(heuristics);
  std::int64_t count = -1;
  EXPECT_EQ(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                     &count, nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_GE(count, 0);
  std::vector<Descriptor> configs;
  for (std::int64_t i = 0; i < count; ++i) configs.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  std::int64_t given = -1;
  EXPECT_EQ(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                     &given, configs.data()),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(given, count);
  destroy(heuristics);
  return configs;
}

/// Step 7: a plan and its workspace, read as cudnn-frontend does.
Descriptor make_plan(cudnnHandle_t handle, Descriptor config, std::int64_t* workspace) {
  Descriptor plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set_descriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  finalize(plan);

  Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = -1;
  EXPECT_EQ(
      cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);
  std::vector<Descriptor> knobs;
  for (int i = 0; i < 33; ++i) knobs.push_back(create(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
  std::int64_t index = -1;
  EXPECT_EQ(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index),
            CUDNN_STATUS_SUCCESS);
  EXPECT_GE(index, 0);
  EXPECT_EQ(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 33,
                                     &count, knobs.data()),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 0);
  for (Descriptor knob : knobs) destroy(knob);
  EXPECT_EQ(
      cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 9, &count, nullptr),
      CUDNN_STATUS_SUCCESS);
  EXPECT_GE(count, 0);
  EXPECT_EQ(
      cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 3, &count, nullptr),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(
      cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, nullptr, workspace),
      CUDNN_STATUS_SUCCESS);
  destroy(engine);
  return plan;
}

Descriptor make_pack(void* x, void* w, void* y, void* workspace) {
  Descriptor pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* pointers[3] = {x, y, w};
  const std::int64_t ids[3] = {'x', 'y', 'w'};
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  finalize(pack);
  return pack;
}

/// The whole path; every configuration is executed and its values compared.
void check_path(const Layer& layer, Direction direction, const GraphSettings& settings = {}) {
  const std::string what = std::string("graph ") + name_of(direction);
  Descriptor graph = make_graph(layer.handle, direction, layer, settings);
  std::vector<Descriptor> configs = ask_heuristics(graph, CUDNN_HEUR_MODE_INSTANT);
  ASSERT_GE(configs.size(), 1u) << what;
  destroy(graph);
  const bool flip = settings.mode == CUDNN_CONVOLUTION;
  const Reference reference = reference_of(direction, layer.shape, flip, layer.x, layer.w, layer.y);
  for (Descriptor config : configs) {
    std::int64_t bytes = -1;
    Descriptor plan = make_plan(layer.handle, config, &bytes);
    ASSERT_GE(bytes, 0);
    destroy(config);  // the plan needs nothing else
    Device x(layer.x), w(layer.w), y(layer.y), work(static_cast<std::size_t>(bytes));
    Descriptor pack = make_pack(x.get(), w.get(), y.get(), work.get());
    ASSERT_EQ(cudnnBackendExecute(layer.handle, plan, pack), CUDNN_STATUS_SUCCESS) << what;
    destroy(pack);
    destroy(plan);
    CUDA_OK(cudaDeviceSynchronize());
    HostTensor got = layer.output(direction);
    (direction == Direction::forward ? y : direction == Direction::data ? x : w).download(&got);
    expect_close(got, reference, settings.alpha, settings.beta, layer.output(direction), what);
  }
}

constexpr Direction kDirections[] = {Direction::forward, Direction::data, Direction::filter};

TEST(DnnBackend, maps_pytorch_path_in_every_direction_type_and_layout) {
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16})
    for (const cudnnTensorFormat_t format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC})
      for (const Direction direction : kDirections) check_path(Layer(Shape{}, type, format), direction);
}

TEST(DnnBackend, maps_groups_dilation_and_one_dimension) {
  Shape grouped;
  grouped.c = 8;
  grouped.k = 12;
  grouped.groups = 4;
  grouped.dilation_h = 2;
  grouped.stride_w = 2;
  Shape line;
  line.h = line.r = 1;
  line.pad_h = 0;
  line.pad_w = 2;
  line.w = 40;
  line.s = 5;
  for (const Shape& shape : {grouped, line})
    for (const Direction direction : kDirections) check_path(Layer(shape, CUDNN_DATA_FLOAT), direction);
}

TEST(DnnBackend, maps_alpha_beta_and_real_convolution) {
  GraphSettings settings;
  settings.alpha = 2;
  settings.beta = -0.5f;
  for (const Direction direction : kDirections) check_path(Layer(Shape{}, CUDNN_DATA_FLOAT), direction, settings);
  settings.mode = CUDNN_CONVOLUTION;
  for (const Direction direction : kDirections)
    check_path(Layer(Shape{}, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC), direction, settings);
}

TEST(DnnBackend, maps_every_heuristic_mode) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor graph = make_graph(layer.handle, Direction::forward, layer);
  std::int64_t engines = 0;
  DNN_OK(cudnnBackendGetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, nullptr,
                                  &engines));
  EXPECT_GE(engines, 1);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_A}) {
    const std::vector<Descriptor> configs = ask_heuristics(graph, mode);
    EXPECT_EQ(static_cast<std::int64_t>(configs.size()), engines);
    for (Descriptor config : configs) destroy(config);
  }
  const std::vector<Descriptor> fallback = ask_heuristics(graph, CUDNN_HEUR_MODE_FALLBACK);
  ASSERT_EQ(fallback.size(), 1u);
  destroy(fallback[0]);
  destroy(graph);
}

// A program may name an engine by its index instead of asking a heuristic.
TEST(DnnBackend, maps_engines_made_by_hand) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor graph = make_graph(layer.handle, Direction::forward, layer);
  Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  set_descriptor(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  set_int(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0});
  finalize(engine);
  Descriptor config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  set_descriptor(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  finalize(config);
  std::int64_t bytes = -1;
  Descriptor plan = make_plan(layer.handle, config, &bytes);
  EXPECT_GE(bytes, 0);
  Descriptor bad = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  set_descriptor(bad, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  set_int(bad, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {1000});
  EXPECT_EQ(cudnnBackendFinalize(bad), CUDNN_STATUS_NOT_SUPPORTED);
  for (Descriptor descriptor : {bad, plan, config, engine, graph}) destroy(descriptor);
}

// One convolution that AMD's library cannot run: the graph is fine, there are no engines.
TEST(DnnBackend, rejects_what_amd_cannot_run_with_no_engines) {
  const Layer layer(Shape{}, CUDNN_DATA_DOUBLE);
  GraphSettings settings;
  settings.compute = CUDNN_DATA_DOUBLE;
  settings.alignment = 8;
  Descriptor graph = make_graph(layer.handle, Direction::forward, layer, settings);
  EXPECT_TRUE(ask_heuristics(graph, CUDNN_HEUR_MODE_INSTANT).empty());
  EXPECT_TRUE(ask_heuristics(graph, CUDNN_HEUR_MODE_FALLBACK).empty());
  destroy(graph);
}

TEST(DnnBackend, rejects_uneven_padding_with_no_engines) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor x = make_tensor(layer.x, 'x'), w = make_tensor(layer.w, 'w'), y = make_tensor(layer.y, 'y');
  Descriptor conv = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  set(conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  set(conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set_int(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  set_int(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {2, 1});
  set_int(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {0, 1});
  set_int(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  set_int(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1});
  finalize(conv);
  Descriptor operation = make_operation(Direction::forward, x, w, y, conv);
  Descriptor graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set_descriptor(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &layer.handle);
  finalize(graph);
  EXPECT_TRUE(ask_heuristics(graph, CUDNN_HEUR_MODE_INSTANT).empty());
  for (Descriptor descriptor : {graph, operation, conv, x, w, y}) destroy(descriptor);
}

TEST(DnnBackend, rejects_other_graphs_at_finalize) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor pointwise = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_RELU_FWD;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  set(pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  finalize(pointwise);
  Descriptor x = make_tensor(layer.x, 'x'), w = make_tensor(layer.w, 'w'), y = make_tensor(layer.y, 'y');
  Descriptor relu = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_descriptor(relu, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  set_descriptor(relu, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, y);
  set_descriptor(relu, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  finalize(relu);
  Descriptor conv = make_convolution(layer.shape);
  Descriptor operation = make_operation(Direction::forward, x, w, y, conv);
  for (const std::vector<Descriptor>& operations :
       {std::vector<Descriptor>{relu}, std::vector<Descriptor>{operation, relu}}) {
    Descriptor graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<std::int64_t>(operations.size()), operations.data());
    set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &layer.handle);
    EXPECT_EQ(cudnnBackendFinalize(graph), CUDNN_STATUS_NOT_SUPPORTED);
    destroy(graph);
  }
  for (Descriptor descriptor : {operation, conv, relu, pointwise, x, w, y}) destroy(descriptor);
}

TEST(DnnBackend, rejects_bad_attributes) {
  Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::int64_t dims[9] = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  const cudnnDataType_t type = CUDNN_DATA_FLOAT, unknown = static_cast<cudnnDataType_t>(99);
  const auto try_set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type, std::int64_t count,
                           const void* values) {
    return cudnnBackendSetAttribute(tensor, name, value_type, count, values);
  };
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, 1, &type), CUDNN_STATUS_BAD_PARAM) << "wrong type";
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 2, &type), CUDNN_STATUS_BAD_PARAM)
      << "wrong count";
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &unknown), CUDNN_STATUS_BAD_PARAM)
      << "unknown value";
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 9, dims), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, dims), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, dims), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, nullptr), CUDNN_STATUS_BAD_PARAM);
  const std::int64_t zero[4] = {1, 0, 1, 1}, odd = 3;
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, zero), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(try_set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &odd), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(try_set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type), CUDNN_STATUS_BAD_PARAM)
      << "another descriptor's";
  EXPECT_EQ(try_set(static_cast<cudnnBackendAttributeName_t>(99999), CUDNN_TYPE_INT64, 1, dims),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendFinalize(tensor), CUDNN_STATUS_BAD_PARAM) << "nothing was set";
  std::int64_t value = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr, &value),
            CUDNN_STATUS_NOT_INITIALIZED);
  // A descriptor as its own attribute must not hang.
  Descriptor config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendSetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config),
            CUDNN_STATUS_BAD_PARAM);
  destroy(config);
  destroy(tensor);
}

TEST(DnnBackend, maps_reading_back) {
  const Layer layer(Shape{}, CUDNN_DATA_HALF);
  Descriptor tensor = make_tensor(layer.x, 120);
  std::int64_t count = -1, values[5] = {-1, -1, -1, -1, -1};
  DNN_OK(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, &count, values));
  EXPECT_EQ(count, 4) << "what there is";
  EXPECT_EQ(values[1], layer.shape.c);
  EXPECT_EQ(values[2], -1) << "never more than asked";
  DNN_OK(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 5, nullptr, values));
  EXPECT_EQ(values[3], 1);
  EXPECT_EQ(values[4], -1);
  cudnnDataType_t type{};
  DNN_OK(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &count, &type));
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &count, values),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_FLOAT, 4, &count, values),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, -1, &count, values),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count),
            CUDNN_STATUS_NOT_INITIALIZED)
      << "finalised: fixed";
  destroy(tensor);
}

TEST(DnnBackend, rejects_bad_descriptors) {
  Descriptor out = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(999), &out),
            CUDNN_STATUS_ALLOC_FAILED)
      << "measured";
  EXPECT_EQ(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(-1), &out),
            CUDNN_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr), CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnBackendDestroyDescriptor(nullptr));
  Descriptor freed = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  destroy(freed);
  long foreign[8] = {};
  cudnnHandle_t handle = nullptr;
  DNN_OK(cudnnCreate(&handle));
  std::int64_t value = 0;
  for (Descriptor bad : {static_cast<Descriptor>(nullptr), freed, static_cast<Descriptor>(foreign),
                         reinterpret_cast<Descriptor>(handle)}) {
    EXPECT_EQ(cudnnBackendSetAttribute(bad, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &value),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnBackendGetAttribute(bad, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr, &value),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnBackendFinalize(bad), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnBackendExecute(handle, bad, bad), CUDNN_STATUS_BAD_PARAM);
    if (bad == nullptr) continue;
    EXPECT_EQ(cudnnBackendDestroyDescriptor(bad), CUDNN_STATUS_BAD_PARAM);
  }
  DNN_OK(cudnnDestroy(handle));
}

TEST(DnnBackend, rejects_bad_packs) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  GraphSettings settings;
  settings.alignment = 32;
  settings.alpha = 2;  // needs a workspace in every case
  Descriptor graph = make_graph(layer.handle, Direction::forward, layer, settings);
  const std::vector<Descriptor> configs = ask_heuristics(graph, CUDNN_HEUR_MODE_INSTANT);
  ASSERT_FALSE(configs.empty());
  std::int64_t bytes = 0;
  Descriptor plan = make_plan(layer.handle, configs[0], &bytes);
  ASSERT_GT(bytes, 0);
  Device x(layer.x), w(layer.w), y(layer.y), work(static_cast<std::size_t>(bytes)),
      shorter(static_cast<std::size_t>(bytes) / 2);
  std::vector<char> host(1u << 16);
  const auto execute = [&](void* xp, void* wp, void* yp, void* workspace) {
    Descriptor pack = make_pack(xp, wp, yp, workspace);
    const cudnnStatus_t status = cudnnBackendExecute(layer.handle, plan, pack);
    destroy(pack);
    return status;
  };
  EXPECT_EQ(execute(nullptr, w.get(), y.get(), work.get()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(execute(host.data(), w.get(), y.get(), work.get()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(execute(static_cast<char*>(x.get()) + 4, w.get(), y.get(), work.get()), CUDNN_STATUS_BAD_PARAM)
      << "less aligned than promised";
  EXPECT_EQ(execute(x.get(), w.get(), x.get(), work.get()), CUDNN_STATUS_BAD_PARAM) << "output over input";
  EXPECT_EQ(execute(x.get(), w.get(), y.get(), nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(execute(x.get(), w.get(), y.get(), shorter.get()), CUDNN_STATUS_BAD_PARAM) << "workspace too short";
  EXPECT_EQ(execute(x.get(), w.get(), y.get(), work.get()), CUDNN_STATUS_SUCCESS);
  CUDA_OK(cudaDeviceSynchronize());
  // A pack without one of the tensors, one with uneven counts, one that was not finalised.
  Descriptor pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* pointers[2] = {x.get(), w.get()};
  const std::int64_t ids[3] = {'x', 'w', 'y'};
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 2, pointers);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
  EXPECT_EQ(cudnnBackendFinalize(pack), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendExecute(layer.handle, plan, pack), CUDNN_STATUS_BAD_PARAM);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 2, ids);
  finalize(pack);
  EXPECT_EQ(cudnnBackendExecute(layer.handle, plan, pack), CUDNN_STATUS_BAD_PARAM) << "y is missing";
  EXPECT_EQ(cudnnBackendExecute(nullptr, plan, pack), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendExecute(layer.handle, pack, pack), CUDNN_STATUS_BAD_PARAM);
  destroy(pack);
  destroy(plan);
  for (Descriptor config : configs) destroy(config);
  destroy(graph);
}

TEST(DnnBackend, rejects_operations_that_do_not_fit) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor x = make_tensor(layer.x, 'x'), w = make_tensor(layer.w, 'w'), y = make_tensor(layer.y, 'y'),
             conv = make_convolution(layer.shape);
  const OperationNames names = names_of(Direction::forward);
  Descriptor operation = create(names.type);
  EXPECT_EQ(cudnnBackendSetAttribute(operation, names.x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv),
            CUDNN_STATUS_BAD_PARAM)
      << "no tensor";
  Descriptor unfinished = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendSetAttribute(operation, names.x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &unfinished),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendFinalize(operation), CUDNN_STATUS_BAD_PARAM) << "nothing was set";
  const float one = 1, zero = 0;
  set_descriptor(operation, names.x, y);  // x and y swapped: the sizes do not fit
  set_descriptor(operation, names.w, w);
  set_descriptor(operation, names.y, x);
  set_descriptor(operation, names.conv, conv);
  set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  set(operation, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
  EXPECT_EQ(cudnnBackendFinalize(operation), CUDNN_STATUS_BAD_PARAM);
  for (Descriptor descriptor : {operation, unfinished, x, w, y, conv}) destroy(descriptor);
}

TEST(DnnBackend, maps_many_threads_on_one_plan) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Descriptor graph = make_graph(layer.handle, Direction::forward, layer);
  const std::vector<Descriptor> configs = ask_heuristics(graph, CUDNN_HEUR_MODE_INSTANT);
  ASSERT_FALSE(configs.empty());
  std::int64_t bytes = 0;
  Descriptor plan = make_plan(layer.handle, configs[0], &bytes);
  const Reference reference = reference_of(Direction::forward, layer.shape, false, layer.x, layer.w, layer.y);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      cudnnHandle_t handle = nullptr;
      ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
      Device x(layer.x), w(layer.w), y(layer.y), work(static_cast<std::size_t>(bytes));
      for (int round = 0; round < 10; ++round) {
        Descriptor pack = make_pack(x.get(), w.get(), y.get(), work.get());
        ASSERT_EQ(cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_SUCCESS);
        destroy(pack);
      }
      ASSERT_EQ(static_cast<int>(cudaDeviceSynchronize()), 0);
      HostTensor got = layer.y;
      y.download(&got);
      expect_close(got, reference, 1, 0, layer.y, "thread");
      ASSERT_EQ(cudnnDestroy(handle), CUDNN_STATUS_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  for (Descriptor config : configs) destroy(config);
  destroy(plan);
  destroy(graph);
}

}  // namespace
}  // namespace dnn_test
