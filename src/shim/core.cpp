// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The core is made of the static parts; this file gives it its one own symbol, by which a second copy is noticed.
extern "C" __attribute__((visibility("default"))) const char rb_core_version[] = "rocbridge core " ROCBRIDGE_VERSION;
