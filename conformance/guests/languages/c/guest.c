// The guest of all languages, in C: it counts words, shows what it still knows of other calls, and goes wrong on request.
#include "portcullis.h"

#define DESCRIPTION                                                                                                    \
	"{\"abi\":\"portcullis/v1\",\"kind\":\"tool\",\"id\":\"c\",\"version\":\"1.0.0\",\"summary\":\"Counts words.\","       \
	"\"license\":\"Apache-2.0\",\"limits\":{\"memory_bytes\":16777216,\"deadline_ms\":5000},\"tools\":["                   \
	"{\"name\":\"c.count\",\"description\":\"Count the words of a text and find its longest.\","                           \
	"\"input_schema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],"       \
	"\"additionalProperties\":false},\"output_schema\":{\"type\":\"object\",\"properties\":{"                              \
	"\"words\":{\"type\":\"integer\"},\"longest\":{\"type\":\"string\"},\"calls\":{\"type\":\"integer\"},"                 \
	"\"kept\":{\"type\":\"integer\"}},\"required\":[\"words\",\"longest\",\"calls\",\"kept\"],"                            \
	"\"additionalProperties\":false},\"risk\":\"low\",\"approval\":\"auto\",\"recovery\":\"read\"},"                       \
	"{\"name\":\"c.fault\",\"description\":\"Go wrong in one way.\",\"input_schema\":{\"type\":\"object\","                \
	"\"properties\":{\"how\":{\"enum\":[\"fault\",\"fail\",\"break\",\"spin\",\"hoard\",\"recurse\"]},"                    \
	"\"text\":{\"type\":\"string\"}},\"required\":[\"how\",\"text\"],\"additionalProperties\":false},"                     \
	"\"output_schema\":{\"type\":\"object\",\"maxProperties\":0},\"risk\":\"low\",\"approval\":\"auto\",\"recovery\":\"read\"}]}"

// What would show if one call could see another: a variable, and memory that is never given back.
static int calls;
static struct note {
	struct note *next;
	char text[40];
} *notes;

static int keep(pc_text text) {
	struct note *note = pc_memory(0, sizeof *note);
	note->next = notes;
	memcpy(note->text, text.at, text.n < sizeof note->text ? text.n : sizeof note->text);
	notes = note;
	int n = 0;
	for (note = notes; note; note = note->next)
		n++;
	return n;
}

static int space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

static int32_t count(pc_text text) {
	int words = 0, most = 0;
	pc_text longest = {text.at, 0};
	for (size_t i = 0; i < text.n;) {
		size_t start = i;
		int characters = 0;
		for (; i < text.n && !space(text.at[i]); i++)
			characters += (text.at[i] & 0xc0) != 0x80;
		words += i > start;
		if (characters > most) {
			most = characters;
			longest.at = text.at + start, longest.n = i - start;
		}
		i += i < text.n;
	}
	pc_out o = {0};
	pc_raw(&o, "{\"result\":{\"words\":");
	pc_number(&o, words);
	pc_raw(&o, ",\"longest\":");
	pc_quote(&o, longest);
	pc_raw(&o, ",\"calls\":");
	pc_number(&o, calls);
	pc_raw(&o, ",\"kept\":");
	pc_number(&o, keep(text));
	pc_raw(&o, "}}");
	return pc_answer(pc_done(&o));
}

static volatile int deep;
static char *volatile hoard;
static int recurse(int n) {
	volatile char frame[64] = {(char)n};
	deep = n;
	if (n < 0)
		return 0;
	return recurse(n + 1) + frame[deep & 63];
}

static int32_t fault(pc_text how, pc_text text) {
	if (pc_equal(how, "fault")) {
		pc_out o = {0};
		pc_raw(&o, "{\"fault\":{\"code\":\"invalid\",\"message\":");
		pc_quote(&o, text);
		pc_raw(&o, "}}");
		return pc_answer(pc_done(&o));
	}
	if (pc_equal(how, "break")) {
		pc_failed(text);
		abort();
	}
	if (pc_equal(how, "spin"))
		for (;;)
			deep++;
	if (pc_equal(how, "hoard"))
		for (char *p;; hoard = p)
			memset(p = pc_memory(0, 1 << 20), 1, 1 << 20);
	if (pc_equal(how, "recurse"))
		return recurse(0);
	return pc_failed(text);
}

PC_EXPORT("portcullis_describe") int32_t describe(void) { return pc_answer(pc_string(DESCRIPTION)); }

PC_EXPORT("portcullis_invoke") int32_t invoke(void) {
	pc_text call = pc_input();
	pc_text tool = pc_read(pc_member(call, "tool")), args = pc_member(call, "args");
	pc_text text = pc_read(pc_member(args, "text"));
	calls++;
	if (pc_equal(tool, "c.count"))
		return count(text);
	return fault(pc_read(pc_member(args, "how")), text);
}
