/* SPDX-License-Identifier: MIT */
#pragma once

/* A cmocka test that shows named cases: CASE(function, "B07, B12"). */
#define CASE(function, names)                                                  \
    (struct CMUnitTest)                                                        \
    {                                                                          \
        .name = #function " (" names ")", .test_func = (function)              \
    }

/* The same with a set-up and a teardown of its own. */
#define CASE_WITH(function, names, setup, teardown)                            \
    (struct CMUnitTest)                                                        \
    {                                                                          \
        .name = #function " (" names ")", .test_func = (function),             \
        .setup_func = (setup), .teardown_func = (teardown)                     \
    }
