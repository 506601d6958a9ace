// portcullis.h: a plugin in C or C++ (portcullis/v1), in one header. Copy it beside your source.
//
// It has the imports that every plugin needs, the way from a call to its answer, and as much JSON as a tool with simple
// arguments wants. What comes in was read strictly by the host and fits the tool's schema, so the reader here only has to
// find things; it stays within the bytes that it is given all the same. Nothing is freed: the host gives every call a
// memory of its own and takes it back whole.
#ifndef PORTCULLIS_H
#define PORTCULLIS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define PC_C extern "C"
#else
#define PC_C extern
#endif

#define PC_IMPORT(module, name) PC_C __attribute__((import_module(module), import_name(name)))
// PC_EXPORT makes a function an entry point: int32_t f(void), 0 meaning that there is an answer.
#define PC_EXPORT(name) PC_C __attribute__((export_name(name)))
// PC_HOST declares a host function by its name, such as PC_HOST(portcullis_log). Declare what you use: a plugin is
// refused when it imports more than it asks for.
#define PC_HOST(name) PC_IMPORT("extism:host/user", #name) int64_t name(int64_t block)

PC_IMPORT("extism:host/env", "alloc") int64_t pc_block_new(int64_t n);
PC_IMPORT("extism:host/env", "length") int64_t pc_block_length(int64_t block);
PC_IMPORT("extism:host/env", "input_offset") int64_t pc_block_input(void);
PC_IMPORT("extism:host/env", "output_set") void pc_output_set(int64_t block, int64_t n);
PC_IMPORT("extism:host/env", "error_set") void pc_error_set(int64_t block);
PC_IMPORT("extism:host/user", "portcullis_load") void pc_load(int64_t block, void *to, int32_t n);
PC_IMPORT("extism:host/user", "portcullis_store") void pc_store(int64_t block, const void *from, int32_t n);

// pc_text is some bytes of UTF-8, which may hold zeros.
typedef struct {
	const char *at;
	size_t n;
} pc_text;

static inline pc_text pc_string(const char *s) {
	pc_text t = {s, strlen(s)};
	return t;
}

static inline void *pc_memory(void *old, size_t n) {
	void *p = realloc(old, n);
	if (!p)
		__builtin_trap(); // the host knows that memory was refused, and says so
	return p;
}

// pc_taken copies a block of the host into memory.
static inline pc_text pc_taken(int64_t block) {
	pc_text t = {0, block ? (size_t)pc_block_length(block) : 0};
	char *to = (char *)pc_memory(0, t.n + 1);
	if (t.n)
		pc_load(block, to, (int32_t)t.n);
	to[t.n] = 0;
	t.at = to;
	return t;
}

// pc_given copies bytes into a new block of the host.
static inline int64_t pc_given(pc_text t) {
	int64_t block = pc_block_new((int64_t)t.n);
	if (t.n)
		pc_store(block, t.at, (int32_t)t.n);
	return block;
}

// pc_input is the call: {"id":…,"tool":…,"args":{…}}.
static inline pc_text pc_input(void) { return pc_taken(pc_block_input()); }

// pc_answer ends an entry point with an answer: return pc_answer(…).
static inline int32_t pc_answer(pc_text json) {
	pc_output_set(pc_given(json), (int64_t)json.n);
	return 0;
}

// pc_failed ends an entry point without one. The words are for the operator.
static inline int32_t pc_failed(pc_text why) {
	pc_error_set(pc_given(why));
	return 1;
}

// pc_ask calls a host function: pc_ask(portcullis_now, pc_string("")).
static inline pc_text pc_ask(int64_t (*function)(int64_t), pc_text argument) {
	return pc_taken(function(argument.n ? pc_given(argument) : 0));
}

// --- Reading JSON. A value is its bytes; one that is not there has at == 0. ---

static inline void pc_spaces(pc_text *in) {
	while (in->n && (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t'))
		in->at++, in->n--;
}

static inline int pc_byte(pc_text *in) { return in->n ? (in->n--, (unsigned char)*in->at++) : -1; }

// pc_skip takes one value off the front.
static inline pc_text pc_skip(pc_text *in) {
	pc_spaces(in);
	pc_text v = {in->at, in->n};
	int depth = 0, quoted = 0;
	while (in->n) {
		char c = *in->at;
		if (!quoted && depth == 0 && in->at != v.at && (c == ',' || c == ':' || c == ']' || c == '}'))
			break;
		pc_byte(in);
		if (quoted && c == '\\')
			pc_byte(in);
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']'))
			depth--;
	}
	v.n -= in->n;
	while (v.n && (v.at[v.n - 1] == ' ' || v.at[v.n - 1] == '\n' || v.at[v.n - 1] == '\r' || v.at[v.n - 1] == '\t'))
		v.n--;
	return v;
}

static inline uint32_t pc_hex4(pc_text *in) {
	uint32_t u = 0;
	for (int i = 0; i < 4; i++) {
		int c = pc_byte(in);
		u = u << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return u;
}

// pc_read is the text of a JSON string.
static inline pc_text pc_read(pc_text value) {
	char *out = (char *)pc_memory(0, value.n + 1), *p = out; // an escape is never shorter than what it stands for
	pc_byte(&value);
	for (int c; (c = pc_byte(&value)) >= 0 && c != '"';) {
		if (c != '\\') {
			*p++ = (char)c;
			continue;
		}
		c = pc_byte(&value);
		const char *from = "bfnrt", *to = "\b\f\n\r\t", *known = c > 0 ? strchr(from, c) : 0;
		if (c != 'u') {
			*p++ = known ? to[known - from] : (char)c;
			continue;
		}
		uint32_t u = pc_hex4(&value);
		if (u >> 10 == 0x36) { // the first half of a pair: the host lets no other come
			pc_byte(&value), pc_byte(&value);
			u = 0x10000 + ((u & 0x3ff) << 10 | (pc_hex4(&value) & 0x3ff));
		}
		if (u < 0x80)
			*p++ = (char)u;
		else {
			int more = u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
			*p++ = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | u >> (6 * more));
			while (more--)
				*p++ = (char)(0x80 | (u >> (6 * more) & 0x3f));
		}
	}
	*p = 0;
	pc_text t = {out, (size_t)(p - out)};
	return t;
}

static inline int pc_equal(pc_text t, const char *s) { return t.at && t.n == strlen(s) && !memcmp(t.at, s, t.n); }

// pc_member is the value of an object's member.
static inline pc_text pc_member(pc_text object, const char *name) {
	pc_text none = {0, 0};
	if (!object.at || pc_byte(&object) != '{')
		return none;
	while (object.n) {
		pc_spaces(&object);
		if (!object.n || *object.at != '"')
			return none;
		pc_text key = pc_read(pc_skip(&object));
		pc_byte(&object); // the colon
		pc_text value = pc_skip(&object);
		if (pc_equal(key, name))
			return value;
		pc_byte(&object); // the comma, or the end
	}
	return none;
}

// --- Writing JSON. ---

// pc_out grows as it is written to; begin with pc_out o = {0}.
typedef struct {
	char *at;
	size_t n, room;
} pc_out;

static inline void pc_put(pc_out *o, pc_text t) {
	if (o->n + t.n > o->room)
		o->at = (char *)pc_memory(o->at, o->room = (o->n + t.n) * 2 + 64);
	memcpy(o->at + o->n, t.at, t.n);
	o->n += t.n;
}

// pc_raw writes JSON as it stands.
static inline void pc_raw(pc_out *o, const char *json) { pc_put(o, pc_string(json)); }

// pc_quote writes text as a JSON string.
static inline void pc_quote(pc_out *o, pc_text t) {
	pc_raw(o, "\"");
	for (size_t i = 0; i < t.n; i++) {
		unsigned char c = (unsigned char)t.at[i];
		char code[] = {'\\', 'u', '0', '0', "01"[c >> 4 & 1], "0123456789abcdef"[c & 15], 0};
		pc_text one = {t.at + i, 1};
		if (c < 0x20)
			pc_raw(o, code);
		else if (c == '"' || c == '\\')
			pc_raw(o, c == '"' ? "\\\"" : "\\\\");
		else
			pc_put(o, one);
	}
	pc_raw(o, "\"");
}

// pc_number writes a whole number.
static inline void pc_number(pc_out *o, int64_t v) {
	char digits[24], *p = digits + sizeof digits;
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	pc_text t = {p, (size_t)(digits + sizeof digits - p)};
	pc_put(o, t);
}

static inline pc_text pc_done(pc_out *o) {
	pc_text t = {o->at, o->n};
	return t;
}

#endif
