// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a software device pretends to be: one profile per gfx target, as data in api/devices/*.toml. apigen turns every
// file into one element of kProfiles (generated/soft/profiles.cpp); keys and members have the same names and order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soft::wire {

/// Figures of one card as HIP's device properties report them (hipDeviceProp_tR0600, hipDeviceAttribute_t).
struct Profile {
  const char* gfx;            ///< target ("gfx1200"), also the value of ROCBRIDGE_ARCH
  const char* arch_name;      ///< gcnArchName, with its feature suffixes
  const char* name;           ///< marketing name
  bool is_default;            ///< taken when ROCBRIDGE_ARCH is not set; exactly one profile has it
  std::int64_t memory_bytes;  ///< device memory
  int major;
  int minor;
  int gcn_arch;         ///< R0000's number
  int compute_units;    ///< physical compute units
  int multiprocessors;  ///< what HIP counts: work-group processors on RDNA, compute units on CDNA
  int wave_sizes[2];    ///< allowed wavefront sizes, the default first; 0 where there is only one
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
  int registers_per_block;
  int registers_per_multiprocessor;
  int lds_per_block;           ///< bytes
  int lds_per_multiprocessor;  ///< bytes
  int l2_bytes;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int wall_clock_khz;
  int pci_device_id;  ///< PCI device identity, for display; the slot is pci_bus/pci_slot
  int pci_domain;
  int pci_bus;
  int pci_slot;
  int asic_revision;
  int async_engines;
  bool large_bar;
  bool ecc;
  bool images;      ///< textures and image instructions
  bool fine_grain;  ///< fine-grained device memory
  int max_texture_1d;
  int max_texture_1d_linear;
  int max_texture_2d[2];
  int max_texture_3d[3];
};

extern const Profile kProfiles[];
extern const unsigned kProfileCount;

}  // namespace soft::wire
