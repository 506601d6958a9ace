package effect

import "github.com/b3abf3ee/portcullis/policy/document"

// kinds is a set of the types of JSON Schema.
type kinds uint8

const (
	anObject kinds = 1 << iota
	anArray
	aString
	aNull
	aBoolean
	anInteger
	aNumber
)

// kindsNamed is the type of that name; of one that is none, what no value is.
func kindsNamed(name string) kinds {
	switch name {
	case "object":
		return anObject
	case "array":
		return anArray
	case "string":
		return aString
	case "null":
		return aNull
	case "boolean":
		return aBoolean
	case "integer":
		return anInteger
	case "number":
		return aNumber
	}
	return 1 << 7
}

// kindsOf are the types that a value certainly has. 1.0 and 1e2 are integers too: that is for the library to say.
func kindsOf(t *document.Token) kinds {
	switch t.Kind {
	case document.Object:
		return anObject
	case document.Array:
		return anArray
	case document.String:
		return aString
	}
	switch t.Class {
	case document.Null:
		return aNull
	case document.Boolean:
		return aBoolean
	case document.Integer:
		return anInteger | aNumber
	}
	return aNumber
}
