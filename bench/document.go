package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// echoSchema describes both shapes of a document. The gate checks arguments and results against it, and so does the
// MCP server, from the Go type below.
const echoSchema = `{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string"},"items":{"type":"array","items":{
	"type":"object","additionalProperties":false,"required":["id","title"],"properties":{"id":{"type":"string"},"title":{"type":"string"},
	"score":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}}}}}}}`

// echoed is a document as a Go type.
type echoed struct {
	Text  string `json:"text,omitempty"`
	Items []item `json:"items,omitempty"`
}

type item struct {
	ID    string   `json:"id"`
	Score float64  `json:"score"`
	Tags  []string `json:"tags"`
	Title string   `json:"title"`
}

// document is one JSON object of at most size bytes, and nearly as many: one long text, or many small records.
func document(shape string, size int) []byte {
	if shape == "text" {
		const line = "The gateway reads its rules once, at start. A rule that can never decide is an error; see rules in the manual. "
		empty := len(`{"text":""}`)
		return []byte(`{"text":"` + strings.Repeat(line, size/len(line)+1)[:size-empty] + `"}`)
	}
	doc := []byte(`{"items":[`)
	for i := 0; len(doc) < size-130; i++ {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = fmt.Appendf(doc, `{"id":"itm_%08d","score":%d.5,"tags":["gateway","rules"],"title":"Result %d: how to configure the gateway"}`, i, i%100, i)
	}
	return append(doc, `]}`...)
}

// same reports that two documents hold the same values: a peer may write them in its own way.
func same(a, b []byte) bool {
	var x, y echoed
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, errX := json.Marshal(x)
	q, errY := json.Marshal(y)
	return errX == nil && errY == nil && string(p) == string(q)
}
