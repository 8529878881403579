# SPDX-License-Identifier: MIT
# The R kernel of a sandbox, started as
#   Rscript --vanilla <this file> <its path> NONCE
# with the requests on descriptor 3 and /dev/null as 0; the protocol is that
# of service/kernel.h. Plots become images where R can draw PNG.
local({
  args <- commandArgs(TRUE)
  file.remove(args[1])
  nonce <- args[2]
  piece_bytes <- 4096 - 21 # with its head not above PIPE_BUF
  text_chars_max <- 1000000

  own <- function(fd) {
    file(sprintf("/proc/self/fd/%d", fd), "wb", raw = TRUE)
  }
  out <- own(1)
  err <- own(2)
  requests <- file("/proc/self/fd/3", "r", raw = TRUE, encoding = "UTF-8")

  send <- function(con, message) {
    line <- charToRaw(enc2utf8(paste0(message, "\n")))
    for (from in seq(1, length(line), by = piece_bytes)) {
      part <- line[from:min(length(line), from + piece_bytes - 1)]
      head <- charToRaw(sprintf("\x1e%s%04x", nonce, length(part)))
      writeBin(c(head, part), con)
      flush(con)
    }
  }

  quote_json <- function(text) {
    text <- iconv(enc2utf8(text), "UTF-8", "UTF-8", sub = "?")
    if (nchar(text) > text_chars_max) {
      text <- sprintf("%s (cut: %d characters)",
                      substr(text, 1, text_chars_max), nchar(text))
    }
    text <- gsub("\\", "\\\\", text, fixed = TRUE)
    text <- gsub("\"", "\\\"", text, fixed = TRUE)
    for (code in 1:31) {
      text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text,
                   fixed = TRUE)
    }
    paste0("\"", text, "\"")
  }

  send_error <- function(name, value, trace) {
    send(out, sprintf(
      "{\"type\":\"error\",\"name\":%s,\"value\":%s,\"traceback\":%s}",
      quote_json(name), quote_json(value), quote_json(trace)))
  }

  # data: quoted JSON by MIME type.
  send_result <- function(data, main) {
    members <- sprintf("\"%s\":%s", names(data), data)
    send(out, sprintf(
      "{\"type\":\"result\",\"main\":%s,\"data\":{%s}}",
      if (main) "true" else "false", paste(members, collapse = ",")))
  }

  base64 <- function(bytes) {
    alphabet <- c(LETTERS, letters, 0:9, "+", "/")
    n <- length(bytes)
    padded <- as.integer(c(bytes, raw((3 - n %% 3) %% 3)))
    group <- matrix(padded, nrow = 3)
    digits <- rbind(group[1, ] %/% 4,
                    group[1, ] %% 4 * 16 + group[2, ] %/% 16,
                    group[2, ] %% 16 * 4 + group[3, ] %/% 64,
                    group[3, ] %% 64)
    text <- paste(alphabet[digits + 1], collapse = "")
    pad <- (3 - n %% 3) %% 3
    paste0(substr(text, 1, nchar(text) - pad), strrep("=", pad))
  }

  # ---- plots: each page is a file of a directory of its own ----

  pages <- tempfile("plots")
  dir.create(pages)
  can_draw <- isTRUE(capabilities("cairo")) || isTRUE(capabilities("png"))
  if (can_draw) {
    kind <- if (capabilities("cairo")) "cairo" else "Xlib"
    options(device = function(...) {
      png(file.path(pages, "%05d.png"), width = 800, height = 600,
          type = kind)
    })
  }

  send_plots <- function() {
    graphics.off()
    for (path in sort(list.files(pages, full.names = TRUE))) {
      bytes <- readBin(path, "raw", file.size(path))
      file.remove(path)
      send_result(c("text/plain" = "\"plot\"",
                    "image/png" = paste0("\"", base64(bytes), "\"")), FALSE)
    }
  }

  # ---- runs ----

  # A string of JSON is one of R, as the service writes it.
  strings_of <- function(text) {
    pattern <- "\"(\\\\.|[^\"\\\\])*\""
    found <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
    vapply(found, function(s) eval(parse(text = s, keep.source = FALSE)), "",
           USE.NAMES = FALSE)
  }

  set_env <- function(pairs) {
    if (length(pairs) == 0) return(NULL)
    names <- pairs[c(TRUE, FALSE)]
    before <- Sys.getenv(names, unset = NA, names = TRUE)
    do.call(Sys.setenv, as.list(setNames(pairs[c(FALSE, TRUE)], names)))
    before
  }

  reset_env <- function(before) {
    for (name in names(before)) {
      if (is.na(before[[name]])) {
        Sys.unsetenv(name)
      } else {
        do.call(Sys.setenv, as.list(before[name]))
      }
    }
  }

  evaluate <- function(code) {
    expressions <- parse(text = code, keep.source = FALSE)
    last <- NULL
    for (expression in expressions) {
      last <- withVisible(eval(expression, globalenv()))
    }
    if (!is.null(last) && last$visible) {
      text <- paste(capture.output(print(last$value)), collapse = "\n")
      send_result(c("text/plain" = quote_json(text)), TRUE)
    }
  }

  # The calls of the user's code: between evaluate's eval and the handlers.
  user_calls <- function(calls) {
    labels <- limitedLabels(calls)
    from <- max(0, grep("eval(expression, globalenv())", labels,
                        fixed = TRUE))
    handlers <- grep("^(\\.handleSimpleError|h\\(simpleError)", labels)
    to <- min(length(labels), handlers - 1)
    if (from > 0 && from < to) labels[(from + 1):to]
  }

  run <- function(code) {
    calls <- NULL
    tryCatch(
      withCallingHandlers(
        evaluate(code),
        warning = function(w) {
          message("Warning: ", conditionMessage(w))
          invokeRestart("muffleWarning")
        },
        error = function(e) calls <<- user_calls(sys.calls())),
      error = function(e) {
        send_error(class(e)[1], conditionMessage(e), paste(c(
          paste("Error:", conditionMessage(e)), calls), collapse = "\n"))
      },
      interrupt = function(i) {
        send_error("Interrupted", "the run was interrupted by SIGINT", "")
      })
    send_plots()
  }

  serve <- function(line) {
    env <- regexpr("\"env\":{", line, fixed = TRUE)
    strings <- strings_of(line)
    if (startsWith(line, "{\"env\"")) {
      set_env(strings[-1])
      return()
    }
    # {"id":N,"code":"…","env":{…}}: keys are strings like the others.
    id <- sub("^\\{\"id\":([0-9]+).*$", "\\1", line)
    before <- if (env > 0) set_env(strings[-(1:4)])
    run(strings[3])
    reset_env(before)
    flush(stdout())
    end <- sprintf("{\"type\":\"end\",\"id\":%s}", id)
    send(out, end)
    send(err, end)
  }

  send(out, "{\"type\":\"ready\"}")
  repeat {
    line <- tryCatch(readLines(requests, 1, warn = FALSE),
                     interrupt = function(i) NULL)
    if (is.null(line)) next
    if (length(line) == 0) quit("no")
    serve(line)
  }
})
