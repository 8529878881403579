// SPDX-License-Identifier: MIT
// The Java kernel of a sandbox, started as
//   java --source 11 <this file> <its path> NONCE
// with the requests on descriptor 3 and /dev/null as 0; the protocol is that
// of service/kernel.h. Evaluation is JShell's, inside this process, so that
// what the code writes goes to descriptors 1 and 2 untouched.

import java.io.*;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import jdk.jshell.*;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;

class Kernel {
    static final int PIECE_BYTES = 4096 - 21; // with its head one PIPE_BUF
    static final int TEXT_CHARS_MAX = 1_000_000;
    static final String[] IMPORTS = {
        "java.io.*", "java.math.*", "java.nio.file.*", "java.util.*",
        "java.util.concurrent.*", "java.util.function.*",
        "java.util.regex.*", "java.util.stream.*"
    };

    static String nonce;
    static FileOutputStream out, err; // descriptions of our own
    static JShell shell;
    static Map<String, String> environment;
    static volatile boolean running, interrupted;

    // ---- what the kernel says ----

    static void send(FileOutputStream to, String message) throws IOException {
        byte[] line = (message + "\n").getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < line.length; at += PIECE_BYTES) {
            int n = Math.min(PIECE_BYTES, line.length - at);
            byte[] frame = Arrays.copyOf(
                String.format("\u001e%s%04x", nonce, n).getBytes("US-ASCII"),
                21 + n);
            System.arraycopy(line, at, frame, 21, n);
            to.write(frame); // at most PIPE_BUF: at once
        }
    }

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        int n = Math.min(text.length(), TEXT_CHARS_MAX);
        for (int i = 0; i < n; i++) {
            char c = text.charAt(i);
            boolean pair = Character.isHighSurrogate(c) && i + 1 < n
                && Character.isLowSurrogate(text.charAt(i + 1));
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else if (pair) {
                out.append(c).append(text.charAt(++i));
            } else {
                out.append(Character.isSurrogate(c) ? '\ufffd' : c);
            }
        }
        if (n < text.length()) {
            out.append(" (cut: ").append(text.length()).append(" characters)");
        }
        return out.append('"').toString();
    }

    static void sendResult(String value) throws IOException {
        send(out, "{\"type\":\"result\",\"main\":true,\"data\":"
            + "{\"text/plain\":" + quote(value) + "}}");
    }

    static void sendError(String name, String value, String trace)
            throws IOException {
        send(out, "{\"type\":\"error\",\"name\":" + quote(name) + ",\"value\":"
            + quote(value) + ",\"traceback\":" + quote(trace) + "}");
    }

    // ---- requests: one line of JSON each, from the service ----

    static String json;
    static int at;

    static char skipBlanks() {
        while (json.charAt(at) == ' ') at++;
        return json.charAt(at);
    }

    static Object parse() {
        char c = skipBlanks();
        if (c == '{') return parseObject();
        if (c == '"') return parseString();
        int from = at;
        while (at < json.length() && ",}".indexOf(json.charAt(at)) < 0) at++;
        return json.substring(from, at).trim();
    }

    static Map<String, Object> parseObject() {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        while (skipBlanks() != '}') {
            String key = parseString();
            skipBlanks();
            at++; // the colon
            object.put(key, parse());
            if (skipBlanks() == ',') at++;
        }
        at++;
        return object;
    }

    static String parseString() {
        StringBuilder text = new StringBuilder();
        for (at++; json.charAt(at) != '"'; at++) {
            char c = json.charAt(at);
            if (c == '\\') {
                c = json.charAt(++at);
                int known = "bfnrt".indexOf(c);
                if (c == 'u') {
                    c = (char) Integer.parseInt(
                        json.substring(at + 1, at + 5), 16);
                    at += 4;
                } else if (known >= 0) {
                    c = "\b\f\n\r\t".charAt(known);
                }
            }
            text.append(c);
        }
        at++;
        return text.toString();
    }

    // ---- the environment ----

    // The map behind System.getenv, which Java gives no way to change.
    @SuppressWarnings("unchecked")
    static Map<String, String> openEnvironment() {
        Map<String, String> map = System.getenv();
        try {
            Field inner = map.getClass().getDeclaredField("m");
            inner.setAccessible(true);
            return (Map<String, String>) inner.get(map);
        } catch (ReflectiveOperationException | RuntimeException closed) {
            return new HashMap<>(map);
        }
    }

    static Map<String, String> setEnvironment(Map<String, ?> values) {
        Map<String, String> before = new HashMap<>();
        for (Map.Entry<String, ?> entry : values.entrySet()) {
            before.put(entry.getKey(), environment.get(entry.getKey()));
            if (entry.getValue() == null) {
                environment.remove(entry.getKey());
            } else {
                environment.put(entry.getKey(), (String) entry.getValue());
            }
        }
        return before;
    }

    // ---- runs ----

    /* Whether the snippet went well, so that the next one may follow. */
    static boolean report(SnippetEvent event) throws IOException {
        if (event.causeSnippet() != null) {
            return true; // told by the snippet that caused it
        }
        JShellException failed = event.exception();
        if (failed instanceof EvalException) {
            EvalException thrown = (EvalException) failed;
            StringBuilder trace = new StringBuilder(
                thrown.getExceptionClassName() + ": " + thrown.getMessage());
            for (StackTraceElement frame : thrown.getStackTrace()) {
                trace.append("\n    at ").append(frame);
            }
            sendError(thrown.getExceptionClassName(),
                String.valueOf(thrown.getMessage()), trace.toString());
        } else if (failed != null) {
            sendError("UnresolvedReference", failed.getMessage(),
                event.snippet().source());
        } else if (event.status() == Snippet.Status.REJECTED) {
            StringJoiner texts = new StringJoiner("\n");
            shell.diagnostics(event.snippet())
                .forEach(d -> texts.add(d.getMessage(null)));
            sendError("CompilationError", texts.toString(),
                event.snippet().source() + "\n" + texts);
        } else {
            return true;
        }
        return false;
    }

    static boolean isExpression(Snippet snippet) {
        Snippet.SubKind kind = snippet.subKind();
        return snippet.kind() == Snippet.Kind.EXPRESSION
            || kind == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
    }

    static void run(String code) throws IOException {
        SourceCodeAnalysis analysis = shell.sourceCodeAnalysis();
        String value = null;
        while (!code.isBlank() && !interrupted) {
            CompletionInfo next = analysis.analyzeCompletion(code);
            boolean whole = next.completeness().isComplete();
            value = null;
            for (SnippetEvent event
                    : shell.eval(whole ? next.source() : code)) {
                if (!report(event)) return;
                if (event.value() != null && isExpression(event.snippet())) {
                    value = event.value();
                }
            }
            code = whole ? next.remaining() : "";
        }
        System.out.flush();
        if (interrupted) {
            sendError("Interrupted", "the run was interrupted by SIGINT", "");
        } else if (value != null) {
            sendResult(value);
        }
    }

    static void interrupt() {
        if (running) {
            interrupted = true;
            shell.stop();
        }
    }

    @SuppressWarnings("unchecked")
    static void serve(Map<String, Object> request) throws IOException {
        Map<String, Object> env = (Map<String, Object>) request.get("env");
        Map<String, String> before =
            setEnvironment(env == null ? Map.of() : env);
        if (!request.containsKey("code")) {
            return;
        }
        String end = "{\"type\":\"end\",\"id\":" + request.get("id") + "}";
        interrupted = false;
        running = true;
        try {
            run((String) request.get("code"));
        } catch (RuntimeException failed) {
            sendError(failed.getClass().getName(),
                String.valueOf(failed.getMessage()), "");
        }
        running = false;
        System.out.flush();
        System.err.flush();
        setEnvironment(before);
        send(out, end);
        send(err, end);
    }

    public static void main(String[] args) throws Exception {
        Files.delete(Path.of(args[0]));
        nonce = args[1];
        out = new FileOutputStream("/proc/self/fd/1");
        err = new FileOutputStream("/proc/self/fd/2");
        environment = openEnvironment();
        shell = JShell.builder().executionEngine("local").build();
        for (String name : IMPORTS) {
            shell.eval("import " + name + ";");
        }
        sun.misc.Signal.handle(new sun.misc.Signal("INT"),
            signal -> new Thread(Kernel::interrupt).start());
        send(out, "{\"type\":\"ready\"}");
        BufferedReader requests = new BufferedReader(new InputStreamReader(
            new FileInputStream("/proc/self/fd/3"), StandardCharsets.UTF_8));
        for (String line; (line = requests.readLine()) != null;) {
            json = line;
            at = 0;
            serve(parseObject());
        }
        System.exit(0);
    }
}
