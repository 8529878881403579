# SPDX-License-Identifier: MIT
#
# Two commands do everything, each with its own set-up:
#   make demo    install what is missing, build, run scripts/report.lua
#   make test    install what is missing, build, run every test
#
# Knobs:
#   SANITIZE=address,undefined   build with sanitizers, into build/asan
#   CC=clang  CFLAGS=…  V=1  PREFIX=/usr/local  DESTDIR=…
#   FILTER=pattern               run only the tests whose file matches

CC         ?= cc
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DESTDIR    ?=
CFLAGS     ?= -O2 -g
SANITIZE   ?=
FILTER     ?=

# No need to change anything below this line.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
Q = $(if $(V),,@)

VERSION := $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || \
             echo 0.1.0-g$$(git rev-parse --short HEAD 2>/dev/null))
B := build$(if $(SANITIZE),/$(if $(findstring address,$(SANITIZE)),asan,$(SANITIZE)))

PKGS := lua5.4 libcurl libuv zlib yajl libprotobuf-c libmicrohttpd \
        libcrypto sqlite3
WARN := -Werror -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 \
        -Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes \
        -Wpointer-arith -Wcast-qual -Wimplicit-fallthrough
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
        -fno-omit-frame-pointer,-D_FORTIFY_SOURCE=2)
EBB_CFLAGS := -std=c17 -D_DEFAULT_SOURCE $(WARN) -fno-common -fPIC \
        -fvisibility=hidden -fstack-protector-strong \
        -Iruntime -Ibindings -isystem $(B)/gen \
        $(SAN) \
        $(shell $(PKG_CONFIG) --cflags-only-I $(PKGS) libseccomp libedit \
          2>/dev/null | sed 's/-I/-isystem /g')
LIBS     = $(shell $(PKG_CONFIG) --libs $(filter-out lua5.4,$(PKGS))) \
           -pthread -ldl -lm
LUA_LIBS = $(shell $(PKG_CONFIG) --libs lua5.4)

# --- what is made of what -------------------------------------------------

PROTOS   := $(wildcard runtime/wire/*.proto)
GEN_C    := $(PROTOS:runtime/%.proto=$(B)/gen/%.pb-c.c)
GEN_H    := $(GEN_C:.c=.h) $(B)/gen/ebb_version.h
LUA_MODS := $(filter-out %/embed.lua,$(wildcard bindings/lua/*.lua))
GEN_LUA  := $(LUA_MODS:bindings/%.lua=$(B)/gen/%.lua.c)

CORE_C    := $(wildcard runtime/*.c $(foreach d,base wire task net journal \
               e2b e2b/tasks workflow,runtime/$d/*.c))
SERVICE_C := $(wildcard runtime/sandbox/service/*.c \
               runtime/sandbox/service/*/*.c)
AGENT_C   := $(wildcard runtime/sandbox/agent/*.c) \
             runtime/base/err.c runtime/base/buf.c runtime/base/utf8.c \
             runtime/base/mem.c
LUA_C     := $(wildcard bindings/lua/*.c)
CLI_C     := $(wildcard bindings/cli/*.c)
TEST_C    := $(wildcard spec/c/test_*.c)
DRIVERS   := $(wildcard runtime/sandbox/drivers/*)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
CORE_O    := $(call obj,$(CORE_C)) $(GEN_C:.c=.o)
SERVICE_O := $(call obj,$(SERVICE_C))
LUA_O     := $(call obj,$(LUA_C)) $(GEN_LUA:.c=.o)
CLI_O     := $(call obj,$(CLI_C))
AGENT_O   := $(patsubst %.c,$(B)/agent/%.o,$(AGENT_C))
BENCHES   := $(patsubst bench/%.c,$(B)/bench/%,$(filter-out %/answers.c, \
               $(wildcard bench/*.c bench/client/*.c bench/durable/*.c)))
TESTS     := $(patsubst spec/c/%.c,$(B)/spec/%,$(TEST_C))
SIM_C     := $(wildcard spec/sim/*.c)
FUZZ_C    := $(filter-out %/main.c,$(wildcard spec/fuzz/*.c))
SIM       := $(B)/spec/sim
FUZZERS   := $(patsubst spec/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_C))

PROGRAMS := $(B)/ebb $(B)/libexec/ebb-sandboxd $(B)/libexec/ebb-agent
.PHONY: all setup demo test check unit spec peers bench soak sim fuzz fuzzers \
        oom lint format install uninstall clean help

## all: build everything into build/
all: $(PROGRAMS) $(B)/libebb.a $(B)/libebb.so $(B)/libebb_lua.a \
     $(DRIVERS:runtime/sandbox/drivers/%=$(B)/libexec/%)

# Written only when it changes, so that its includers alone are built anew.
VERSION_H := \#define EBB_VERSION "$(VERSION)"\n\#define EBB_PREFIX "$(PREFIX)"\n
$(shell mkdir -p $(B)/gen; printf '$(VERSION_H)' | \
  cmp -s - $(B)/gen/ebb_version.h || \
  printf '$(VERSION_H)' > $(B)/gen/ebb_version.h)
# build/gen is a system folder to the compiler, which -MMD leaves out.
$(call obj,$(shell grep -rl --include='*.c' ebb_version.h runtime bindings)): \
    $(B)/gen/ebb_version.h

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h &: runtime/%.proto
	@mkdir -p $(@D)
	@echo "PROTO $<"
	$(Q)protoc-c --c_out=$(B)/gen -Iruntime $<

$(B)/gen/%.lua.c: bindings/%.lua bindings/lua/embed.lua
	@mkdir -p $(@D)
	$(Q)lua5.4 bindings/lua/embed.lua $< > $@

# One .proto may import another, so every header comes first. Kept, or make
# would delete them as steps on the way and run protoc-c again.
.SECONDARY: $(GEN_C) $(GEN_H) $(GEN_LUA)
$(B)/gen/%.o: $(B)/gen/%.c | $(GEN_H)
	$(Q)$(CC) -std=c17 -fPIC $(CFLAGS) $(SAN) -isystem $(B)/gen -c -o $@ $<

$(B)/obj/%.o: %.c Makefile | $(GEN_H)
	@mkdir -p $(@D)
	@echo "CC    $<"
	$(Q)$(CC) $(EBB_CFLAGS) $(CFLAGS) -MD -MP -c -o $@ $<

# The agent is static, for libc alone; static ASan does not exist.
AGENT_SAN := $(if $(findstring undefined,$(SANITIZE)),-fsanitize=undefined \
             -fno-sanitize-recover=all)
$(B)/agent/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "CC    $< (agent)"
	$(Q)$(CC) $(filter-out -fPIC $(SAN),$(EBB_CFLAGS)) $(CFLAGS) \
	  $(AGENT_SAN) -MD -MP -c -o $@ $<

$(B)/libexec/ebb-agent: $(AGENT_O)
	@mkdir -p $(@D)
	@echo "LINK  $@"
	$(Q)$(CC) -static $(CFLAGS) $(AGENT_SAN) -o $@ $^

$(B)/libebb.a: $(CORE_O)
	@rm -f $@ && ar qcs $@ $^

$(B)/libebb.so: $(CORE_O)
	@echo "LINK  $@"
	$(Q)$(CC) -shared -Wl,-soname,libebb.so.0 $(CFLAGS) $(SAN) -o $@ $^ \
	  $(LIBS)

$(B)/libebb_lua.a: $(LUA_O)
	@rm -f $@ && ar qcs $@ $^

$(B)/libservice.a: $(filter-out %/main.o,$(SERVICE_O))
	@rm -f $@ && ar qcs $@ $^

$(B)/libexec/ebb-sandboxd: $(B)/obj/runtime/sandbox/service/main.o \
    $(B)/libservice.a $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LIBS) -lseccomp

# The program exports Lua's API, which C modules such as cjson need.
$(B)/ebb: $(CLI_O) $(B)/libebb_lua.a $(B)/libebb.a
	@echo "LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) -rdynamic -o $@ $^ $(LUA_LIBS) \
	  $(LIBS) -ledit

$(B)/libexec/%: runtime/sandbox/drivers/%
	@mkdir -p $(@D)
	@install -m 755 $< $@

$(B)/spec/%: spec/c/%.c $(B)/libservice.a $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "CC    $<"
	$(Q)$(CC) $(EBB_CFLAGS) -Ispec $(CFLAGS) -MD -MP -o $@ $< \
	  $(filter %.o,$^) $(B)/libservice.a $(B)/libebb.a -lcmocka $(LIBS) \
	  -lseccomp
$(B)/spec/test_fuzz_corpus: $(call obj,$(FUZZ_C))

# A test of the binding needs Lua besides, exported for C modules.
$(B)/spec/test_lua_%: spec/c/test_lua_%.c $(B)/libebb_lua.a $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "CC    $<"
	$(Q)$(CC) $(EBB_CFLAGS) -Ispec $(CFLAGS) -rdynamic -MD -MP -o $@ $< \
	  $(B)/libebb_lua.a $(B)/libebb.a -lcmocka $(LUA_LIBS) $(LIBS)

# The simulator stands between the core and its clock, its disk, its network.
SIM_WRAP := ebb_loop_run ebb_journal_post ebb_journal_wait \
        ebb_journal_close ebb_http_client_new ebb_http_client_free \
        ebb_http_start ebb_http_cancel ebb_http_status \
        ebb_e2b_new ebb_e2b_free ebb_e2b_register ebb_sandbox_list
$(call obj,$(SIM_C)): EBB_CFLAGS += -I. -Ispec
$(SIM): $(call obj,$(SIM_C)) $(B)/libebb_lua.a $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) -rdynamic -Wl,-z,now,--as-needed \
	  $(SIM_WRAP:%=-Wl,--wrap=%) -o $@ $^ $(LUA_LIBS) $(LIBS)

$(B)/bench/%: bench/%.c $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "CC    $<"
	$(Q)$(CC) $(EBB_CFLAGS) $(CFLAGS) -o $@ $(filter-out %.a,$^) \
	  $(B)/libebb.a $(LIBS)
$(B)/bench/client/server: bench/client/answers.c

$(B)/fuzz/%: $(B)/obj/spec/fuzz/%.o spec/fuzz/main.c $(B)/libservice.a \
    $(B)/libebb.a
	@mkdir -p $(@D)
	@echo "LINK  $@"
	$(Q)$(CC) $(EBB_CFLAGS) $(CFLAGS) -fsanitize=fuzzer \
	  -DEBB_FUZZ_TARGET=ebb_fuzz_$* -o $@ $^ $(LIBS) -lseccomp

# --- what people type -----------------------------------------------------

## setup: install the Debian packages that are missing (root or sudo)
setup:
	$(Q)sh .ci/setup

## demo: set up, build, run scripts/report.lua on the local service
demo: setup
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)sh scripts/demo.sh $(B)

## test: set up, then everything there is to test; the last line counts
test: setup
	$(Q)$(MAKE) --no-print-directory -j2 all $(TESTS) $(SIM)
	$(Q)bash spec/run.sh $(B) lint unit spec peers

## check: lint, unit and spec, without installing anything
check: all $(TESTS) $(SIM)
	$(Q)bash spec/run.sh $(B) lint unit spec

## unit, spec, peers: one part of the tests; FILTER=pattern narrows it
unit: all $(TESTS)
	$(Q)FILTER='$(FILTER)' bash spec/run.sh $(B) unit
spec: all $(SIM)
	$(Q)FILTER='$(FILTER)' bash spec/run.sh $(B) spec
peers: all
	$(Q)FILTER='$(FILTER)' bash spec/run.sh $(B) peers

## soak: what is too long for test; FILTER=pattern narrows it
soak: all $(TESTS)
	$(Q)FILTER='$(FILTER)' bash spec/run.sh $(B) soak

## sim: durable runs under a virtual clock, faults from SEED=, until STEPS=
sim: $(SIM)
	$(Q)$(SIM) '$(SEED)' '$(STEPS)'

## fuzz: every reader of foreign bytes under libFuzzer, SECONDS=60 each
fuzz: SECONDS ?= 60
fuzz:
	$(Q)sh .ci/setup clang libclang-rt-14-dev
	$(Q)$(MAKE) --no-print-directory -j2 B=build/fuzz CC=clang \
	  CFLAGS='-O1 -g -w' \
	  SANITIZE=fuzzer-no-link,address,undefined fuzzers
	$(Q)FILTER='$(FILTER)' bash spec/fuzz/run.sh build/fuzz '$(SECONDS)'
fuzzers: $(FUZZERS)
	@:

## oom: fail each allocation in turn, of every task, the journal, a run
OOM := $(addprefix build/asan/spec/test_,oom e2b_memory journal_memory \
       run_memory)
oom:
	$(Q)$(MAKE) --no-print-directory SANITIZE=address,undefined $(OOM)
	$(Q)for test in $(OOM); do $$test || exit 1; done

## lint: layers, header owners, sizes, luacheck, clang-tidy
lint: $(GEN_H)
	$(Q)bash spec/run.sh $(B) lint

## bench: each figure as a ratio to a baseline in the same run
bench: all $(BENCHES)
	$(Q)bash bench/run.sh $(B)

## format: clang-format in place
format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

## install, uninstall: under $(PREFIX), honouring DESTDIR
install: all
	$(Q)sh .ci/install $(B) '$(DESTDIR)' '$(PREFIX)' '$(VERSION)'
uninstall:
	$(Q)sh .ci/install --remove '$(DESTDIR)' '$(PREFIX)'

## clean: remove build/
clean:
	$(Q)rm -rf build

## help: this list
help:
	@sed -n 's/^## //p' Makefile

-include $(shell find $(B)/obj $(B)/agent $(B)/spec -name '*.d' 2>/dev/null)
