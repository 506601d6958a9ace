// A plugin in C++ with one tool. What is to be changed first is its id, hello, which its tools' names begin with.
#include "portcullis.h"

#include <string>

static const char description[] = R"({"abi":"portcullis/v1","kind":"tool","id":"hello","version":"1.0.0","summary":"Greets.",
"license":"Apache-2.0","limits":{},"tools":[{"name":"hello.greet","description":"Greet somebody by name.",
"input_schema":{"type":"object","properties":{"name":{"type":"string","maxLength":100}},"required":["name"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"greeting":{"type":"string"}},"required":["greeting"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"}]})";

PC_EXPORT("portcullis_describe") int32_t describe() { return pc_answer(pc_string(description)); }

PC_EXPORT("portcullis_invoke") int32_t invoke() {
	pc_text name = pc_read(pc_member(pc_member(pc_input(), "args"), "name"));
	std::string greeting = "Hello, " + std::string(name.at, name.n) + "!";
	pc_out reply = {};
	pc_raw(&reply, "{\"result\":{\"greeting\":");
	pc_quote(&reply, {greeting.data(), greeting.size()});
	pc_raw(&reply, "}}");
	return pc_answer(pc_done(&reply));
}
