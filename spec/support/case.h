/* SPDX-License-Identifier: MIT */
#pragma once

/* A cmocka test that shows named cases: CASE(function, "B07, B12"). */
#define CASE(function, names)                                                  \
    (struct CMUnitTest)                                                        \
    {                                                                          \
        .name = #function " (" names ")", .test_func = (function)              \
    }
