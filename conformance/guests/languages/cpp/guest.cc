// The guest of all languages, in C++ with its standard library and without exceptions: it counts words, shows what it
// still knows of other calls, and goes wrong on request.
#include "portcullis.h"

#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr char description[] = R"({"abi":"portcullis/v1","kind":"tool","id":"cpp","version":"1.0.0","summary":"Counts words.",
"license":"Apache-2.0","limits":{"memory_bytes":16777216,"deadline_ms":5000},"tools":[
{"name":"cpp.count","description":"Count the words of a text and find its longest.",
"input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"words":{"type":"integer"},"longest":{"type":"string"},
"calls":{"type":"integer"},"kept":{"type":"integer"}},"required":["words","longest","calls","kept"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"},
{"name":"cpp.fault","description":"Go wrong in one way.","input_schema":{"type":"object",
"properties":{"how":{"enum":["fault","fail","break","spin","hoard","recurse"]},"text":{"type":"string"}},
"required":["how","text"],"additionalProperties":false},
"output_schema":{"type":"object","maxProperties":0},"risk":"low","approval":"auto","recovery":"read"}]})";

// What would show if one call could see another: a variable, and an object with a constructor, made in initialisation.
int calls;
std::vector<std::string> notes = {};

std::string read(pc_text value) {
	pc_text t = pc_read(value);
	return {t.at, t.n};
}

pc_text view(std::string_view s) { return {s.data(), s.size()}; }

int32_t count(const std::string &text) {
	std::vector<std::string_view> words;
	std::string_view longest, rest = text;
	std::size_t most = 0;
	while (!rest.empty()) {
		std::string_view word = rest.substr(0, rest.find_first_of(" \n\t"));
		rest.remove_prefix(word.size() + (word.size() < rest.size()));
		if (word.empty())
			continue;
		words.push_back(word);
		std::size_t characters = 0;
		for (char c : word)
			characters += (c & 0xc0) != 0x80;
		if (characters > most)
			most = characters, longest = word;
	}
	notes.push_back(text);
	pc_out o = {};
	pc_raw(&o, ("{\"result\":{\"words\":" + std::to_string(words.size()) + ",\"longest\":").c_str());
	pc_quote(&o, view(longest));
	pc_raw(&o, (",\"calls\":" + std::to_string(calls) + ",\"kept\":" + std::to_string(notes.size()) + "}}").c_str());
	return pc_answer(pc_done(&o));
}

volatile int deep;
int recurse(int n) {
	volatile char frame[64] = {static_cast<char>(n)};
	deep = n;
	if (n < 0)
		return 0;
	return recurse(n + 1) + frame[deep & 63];
}

int32_t fault(const std::string &how, const std::string &text) {
	if (how == "fault") {
		pc_out o = {};
		pc_raw(&o, "{\"fault\":{\"code\":\"invalid\",\"message\":");
		pc_quote(&o, view(text));
		pc_raw(&o, "}}");
		return pc_answer(pc_done(&o));
	}
	if (how == "break") {
		pc_failed(view(text));
		abort(); // what a failed assertion, or a throw without exceptions, comes to
	}
	if (how == "spin")
		for (;;)
			deep = deep + 1;
	if (how == "hoard")
		for (;;)
			notes.emplace_back(1 << 20, 'x');
	if (how == "recurse")
		return recurse(0);
	return pc_failed(view(text));
}

} // namespace

PC_EXPORT("portcullis_describe") int32_t describe() { return pc_answer(pc_string(description)); }

PC_EXPORT("portcullis_invoke") int32_t invoke() {
	pc_text call = pc_input(), args = pc_member(call, "args");
	std::string text = read(pc_member(args, "text"));
	calls++;
	if (read(pc_member(call, "tool")) == "cpp.count")
		return count(text);
	return fault(read(pc_member(args, "how")), text);
}
