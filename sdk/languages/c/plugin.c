// A plugin in C with one tool. What is to be changed first is its id, hello, which its tools' names begin with.
#include "portcullis.h"

static const char description[] =
	"{\"abi\":\"portcullis/v1\",\"kind\":\"tool\",\"id\":\"hello\",\"version\":\"1.0.0\",\"summary\":\"Greets.\","
	"\"license\":\"Apache-2.0\",\"limits\":{},\"tools\":[{"
	"\"name\":\"hello.greet\",\"description\":\"Greet somebody by name.\","
	"\"input_schema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":100}},"
	"\"required\":[\"name\"],\"additionalProperties\":false},"
	"\"output_schema\":{\"type\":\"object\",\"properties\":{\"greeting\":{\"type\":\"string\"}},"
	"\"required\":[\"greeting\"],\"additionalProperties\":false},"
	"\"risk\":\"low\",\"approval\":\"auto\",\"recovery\":\"read\"}]}";

PC_EXPORT("portcullis_describe") int32_t describe(void) { return pc_answer(pc_string(description)); }

PC_EXPORT("portcullis_invoke") int32_t invoke(void) {
	pc_text call = pc_input(), name = pc_read(pc_member(pc_member(call, "args"), "name"));
	pc_out greeting = {0}, reply = {0};
	pc_raw(&greeting, "Hello, ");
	pc_put(&greeting, name);
	pc_raw(&greeting, "!");
	pc_raw(&reply, "{\"result\":{\"greeting\":");
	pc_quote(&reply, pc_done(&greeting));
	pc_raw(&reply, "}}");
	return pc_answer(pc_done(&reply));
}
