/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What lrun.c adds to ebb_lua_attach for a state of ebb's own: the modules in
 * package.preload, os.exit as an end that cleans up.
 */

#include "lua/ebb_lua.h"

/* A C function, called with the runtime as a light userdata; the standard
 * libraries are open. */
int lebb_open_state(lua_State *L);
