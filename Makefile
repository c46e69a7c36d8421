# The commands of this project. Everything else is CMake (CMakePresets.json) and tools/.
SHELL := /bin/bash
JOBS ?= $(shell nproc)

.PHONY: help setup build inspect check bench clients sanitize clean

help:
	@echo "make inspect   set up, build, run conv2d on the software AMD device, show headline and table"
	@echo "make check     set up, build, run every check and test; last line: N passed, N failed"
	@echo "make build     set up and build into build/"
	@echo "make bench     build and run the benchmarks"
	@echo "make clients   put the client programs' packages (stock PyTorch) into build/clients/"
	@echo "make sanitize  build and run the unit tests with AddressSanitizer and UBSan, and with ThreadSanitizer"
	@echo "make clean     remove the build folders"

setup:
	@tools/setup.sh

build: setup
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

inspect: build
	build/bin/rocbridge inspect conv2d

clients: setup
	tools/clients.py

check: build clients
	tools/check/run_tests.py

bench: build clients
	tools/bench.sh

sanitize: setup
	for preset in asan tsan; do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) --target unit_tests && \
	  tools/check/run_tests.py --build build-$$preset --part unit || exit 1; done

clean:
	rm -rf build build-debug build-asan build-tsan
