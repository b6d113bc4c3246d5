// Package recipe is the declarative form of a pipeline: a graph of named operations that is checked edge by edge before anything runs.
//
// A [Recipe] is what Python's method calls build, what a file holds, and what Go programs write as structs; all three mean the same.
// Its JSON form:
//
//	{"headrace": 1, "seed": 0, "steps": [
//	  {"files": {"pattern": "data/train/*/*.JPEG", "root": "/home/me", "label": "parent"}},
//	  "shuffle",
//	  "decode_image",
//	  {"resize": {"size": 256}},
//	  {"center_crop": {"size": 224}},
//	  {"batch": {"size": 32}}]}
//
// [Parse] reads it and refuses what it does not know. [Recipe.Check] follows the schema of the samples along the edges and returns
// what comes out of the last step. Nothing here does any work on samples: the operations are descriptions ([Op]), and package headrace runs
// them.
//
// A step has a name, by default its operation's, numbered where that occurs again ("random_flip_2"). Names are what statistics, messages
// and random draws refer to: changing one changes the draws of its step.
//
// # Reading
//
// recipe.go has the types, parse.go and decode.go the way in, check.go the rules, op.go the registry, op_*.go the operations; transform.go what those on images share.
//
// # Concurrency
//
// A recipe is a value; no method changes it. The registry may be used by any number of goroutines.
//
// # Testing
//
// The parser is fuzzed, by round trip and against encoding/json; paths go through Python's surrogateescape and back. Messages are compared
// whole: they are a part of what users see.
package recipe
