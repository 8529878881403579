/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/filesystem.h"
#include "sandbox/service/envd/process.h"

#include "wire/filesystem.pb-c.h"

#include <string.h>

/*
 * Every method that envd has. Watching has its names here, so that it is
 * refused as what it is and not as a mistyped path.
 */
static const ebb_envd_method methods[] = {
    { "/process.Process/Start", &process__start_request__descriptor,
      EBB_ENVD_SERVER_STREAM, ebb_envd_start },
    { "/process.Process/Connect", &process__connect_request__descriptor,
      EBB_ENVD_SERVER_STREAM, ebb_envd_connect },
    { "/process.Process/List", &process__list_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_list },
    { "/process.Process/SendInput", &process__send_input_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_send_input },
    { "/process.Process/StreamInput",
      &process__stream_input_request__descriptor, EBB_ENVD_CLIENT_STREAM,
      ebb_envd_stream_input },
    { "/process.Process/SendSignal", &process__send_signal_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_signal },
    { "/process.Process/CloseStdin", &process__close_stdin_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_close_stdin },
    { "/process.Process/Update", &process__update_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_update },
    { "/filesystem.Filesystem/Stat", &filesystem__stat_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_stat },
    { "/filesystem.Filesystem/ListDir",
      &filesystem__list_dir_request__descriptor, EBB_ENVD_UNARY,
      ebb_envd_list_dir },
    { "/filesystem.Filesystem/MakeDir",
      &filesystem__make_dir_request__descriptor, EBB_ENVD_UNARY,
      ebb_envd_make_dir },
    { "/filesystem.Filesystem/Move", &filesystem__move_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_move },
    { "/filesystem.Filesystem/Remove", &filesystem__remove_request__descriptor,
      EBB_ENVD_UNARY, ebb_envd_remove },
    { "/filesystem.Filesystem/WatchDir", NULL, EBB_ENVD_SERVER_STREAM, NULL },
    { "/filesystem.Filesystem/CreateWatcher", NULL, EBB_ENVD_UNARY, NULL },
    { "/filesystem.Filesystem/GetWatcherEvents", NULL, EBB_ENVD_UNARY, NULL },
    { "/filesystem.Filesystem/RemoveWatcher", NULL, EBB_ENVD_UNARY, NULL },
};

const ebb_envd_method *ebb_envd_method_find(const char *path)
{
    size_t i;

    for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(path, methods[i].path) == 0)
            return &methods[i];
    }
    return NULL;
}
