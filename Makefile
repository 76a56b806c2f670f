# What people type most. Every build is a CMake preset: make build PRESET=debug goes to build/debug.
PRESET ?= release
CLANG_FORMAT ?= $(shell command -v clang-format-14 || echo clang-format)
SOURCES = $(shell find $(wildcard src include tests fuzz bench examples) -name '*.[ch]' -o -name '*.cpp')
MODEL = build/demo/smolvla.gguf

.PHONY: build check demo deps format format-check install clean

build: deps
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET)

check: build
	ctest --test-dir build/$(PRESET) --output-on-failure --parallel $(shell nproc)

# A full-size SmolVLA with made-up weights, then one action chunk from it.
demo: build
	mkdir -p build/demo
	test -e $(MODEL) || build/$(PRESET)/vact synth smolvla --size full --seed 0 -o $(MODEL)
	build/$(PRESET)/vact run $(MODEL) --request examples/request.json

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
