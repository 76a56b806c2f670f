# What people type most. Every build is a CMake preset: make build PRESET=debug goes to build/debug.
PRESET ?= release
CLANG_FORMAT ?= $(shell command -v clang-format-14 || echo clang-format)
SOURCES = $(shell find $(wildcard src include tests fuzz bench examples) -name '*.[ch]' -o -name '*.cpp')
MODEL = build/demo/smolvla.gguf
TOKENIZER = tests/data/tokenizers/smollm2.tokenizer.json

.PHONY: build check demo deps format format-check install clean

build: deps
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET)

check: build
	ctest --test-dir build/$(PRESET) --no-tests=error --output-on-failure --parallel $(shell nproc)

# A full-size SmolVLA with made-up weights, then one action chunk from it. The tokenizer is the part of SmolLM2's that
# the tests' sentences use.
demo: build
	mkdir -p build/demo
	test -e $(MODEL) || build/$(PRESET)/vact synth smolvla --size full --seed 0 -o $(MODEL)
	build/$(PRESET)/vact run $(MODEL) --tokenizer $(TOKENIZER) --image examples/front.png --image examples/wrist.jpg \
	    --text "pick up the black bowl and place it on the plate" --state 0.1,-0.2,0.3,0,0,0,0.04,-0.04 --seed 0

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
