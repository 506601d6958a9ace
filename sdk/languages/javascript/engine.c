// engine.c: QuickJS as a guest of portcullis/v1. It is built once with a plugin's script inside; the script's top level
// runs when the plugin is initialised, so that a call finds an engine that has parsed everything and costs a restored
// snapshot. Everything that a plugin's author writes is JavaScript: see portcullis.js and plugin.js.
#include "portcullis.h"
#include "quickjs.h"

#include <stdio.h>

// Made by build.sh: the bytes of portcullis.js and plugin.js, each with a zero after it.
static const char prelude[] = {
#include "prelude.h"
};
static const char script[] = {
#include "script.h"
};

PC_HOST(portcullis_log);
PC_HOST(portcullis_now);
PC_HOST(portcullis_random);

#define MOST_OF_A_STACK 400

static JSContext *js;

// words is what an exception says: its text and where it was thrown.
static pc_text words(void) {
	JSValue e = JS_GetException(js), stack = JS_GetPropertyStr(js, e, "stack");
	pc_out o = {0};
	const char *text = JS_ToCString(js, e), *where = JS_IsString(stack) ? JS_ToCString(js, stack) : 0;
	pc_raw(&o, text ? text : "an exception that cannot be shown");
	if (where && *where) {
		pc_text first = pc_string(where); // of an endless recursion there is no end
		first.n = first.n < MOST_OF_A_STACK ? first.n : MOST_OF_A_STACK;
		pc_raw(&o, "\n");
		pc_put(&o, first);
	}
	return pc_done(&o);
}

// host answers host.call(name, text) in the script.
static JSValue host(JSContext *c, JSValueConst self, int n, JSValueConst *args) {
	(void)self;
	size_t length = 0;
	const char *name = JS_ToCString(c, args[0]), *text = n > 1 ? JS_ToCStringLen(c, &length, args[1]) : "";
	if (!name || !text)
		return JS_EXCEPTION;
	pc_text argument = {text, length}, reply;
	if (!strcmp(name, "portcullis_log"))
		reply = pc_ask(portcullis_log, argument);
	else if (!strcmp(name, "portcullis_now"))
		reply = pc_ask(portcullis_now, argument);
	else if (!strcmp(name, "portcullis_random"))
		return JS_NewArrayBufferCopy(c, (const uint8_t *)(reply = pc_ask(portcullis_random, argument)).at, reply.n);
	else
		return JS_ThrowReferenceError(c, "engine.c does not import %s", name);
	return JS_NewStringLen(c, reply.at, reply.n);
}

static void run(const char *source, size_t n, const char *name) {
	if (!JS_IsException(JS_Eval(js, source, n - 1, name, JS_EVAL_TYPE_GLOBAL)))
		return;
	pc_text why = words();
	fprintf(stderr, "%.*s\n", (int)why.n, why.at); // initialisation answers nobody: the host keeps what it says here
	abort();
}

__attribute__((constructor)) static void start(void) {
	js = JS_NewContext(JS_NewRuntime());
	JSValue global = JS_GetGlobalObject(js), object = JS_NewObject(js);
	JS_SetPropertyStr(js, object, "call", JS_NewCFunction(js, host, "call", 2));
	JS_SetPropertyStr(js, global, "host", object);
	run(prelude, sizeof prelude, "portcullis.js");
	run(script, sizeof script, "plugin.js");
}

// ask calls one function of portcullis.js, which answers with JSON text.
static int32_t ask(const char *function, pc_text input) {
	JSValue global = JS_GetGlobalObject(js), f = JS_GetPropertyStr(js, global, function);
	JSValue argument = JS_NewStringLen(js, input.at, input.n), reply = JS_Call(js, f, global, 1, &argument);
	pc_text answer;
	answer.at = JS_IsException(reply) ? 0 : JS_ToCStringLen(js, &answer.n, reply);
	return answer.at ? pc_answer(answer) : pc_failed(words());
}

PC_EXPORT("portcullis_describe") int32_t portcullis_describe(void) { return ask("__describe", pc_string("")); }
PC_EXPORT("portcullis_invoke") int32_t portcullis_invoke(void) { return ask("__invoke", pc_input()); }
