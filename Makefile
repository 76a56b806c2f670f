# What people type most. Every build is a CMake preset: make build PRESET=debug goes to build/debug.
PRESET ?= release
CLANG_FORMAT ?= $(shell command -v clang-format-14 || echo clang-format)
SOURCES = $(shell find $(wildcard src include tests fuzz bench examples) -name '*.[ch]' -o -name '*.cpp')

.PHONY: build check demo deps format format-check install clean

build: deps
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET)

check: build
	ctest --test-dir build/$(PRESET) --no-tests=error --output-on-failure --parallel $(shell nproc)

# A trained policy solves 20 tables; then build/demo/demo.png shows how, and demo.gif moves.
demo: build
	build/$(PRESET)/vact demo --episodes 20 --render build/demo

deps:
	@sh tools/install-deps.sh

format:
	$(CLANG_FORMAT) -i $(SOURCES)

format-check:
	$(CLANG_FORMAT) --dry-run --Werror $(SOURCES)

install: build
	cmake --install build/$(PRESET)

clean:
	rm -rf build
