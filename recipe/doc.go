// Package recipe is the declarative form of a pipeline: a tree of named operations that is checked step by step before anything runs.
//
// A [Recipe] is what Python's method calls build, what a file holds, and what Go programs write as structs; all three mean the same. There is one
// notation, which programs send to each other as JSON and people write as YAML:
//
//	headrace: 1
//	vars: {root: data/train, size: 224}
//	seed: 0
//	steps:
//	  - files: {pattern: "${root}/*/*.JPEG", label: parent}
//	  - shuffle
//	  - decode_image
//	  - resize: {size: 256}
//	  - center_crop: {size: "${size}"}
//	  - batch: {size: 32}
//	loader: {epochs: 1}
//
// [Parse] reads what a program sent and [ReadFile] what is in a file, where variables and the section loader are understood, too. Both refuse
// what they do not know. [Recipe.Check] follows the schema of the samples from step to step and returns what comes out of the last one. Nothing here
// does any work on samples: the operations are descriptions ([Op]), and package headrace runs them.
//
// Each step reads the one before it. Two operations hold chains of steps: [Merge] puts together what several give, each of which begins with a source;
// [Route] gives each sample to one of several. Beside its operation, a step may say what becomes of samples that fail in it ([Failures]).
//
// A step has a name, by default its operation's, numbered where that occurs again, anywhere in the tree ("random_flip_2"). Names are what statistics, messages
// and random draws refer to: changing one changes the draws of its step.
//
// # Reading
//
// recipe.go has the types. parse.go and decode.go are the way in, from JSON; json.go looks into it without making a tree. file.go is the way in from files:
// source.go and yaml.go make JSON of YAML and remember where each part stood, vars.go has the variables, locate.go gives mistakes their places.
// text.go and write.go are the way out. check.go has the rules, nesting.go what holds steps, failures.go what a step says of them, op.go the registry, op_*.go the operations, transform.go what those on images share, schema.go what editors
// are told of it all.
//
// # Concurrency
//
// A recipe is a value; no method changes it. The registry may be used by any number of goroutines.
//
// # Testing
//
// The parsers are fuzzed, by round trip, against encoding/json, and YAML against JSON; the schema is compared with what is read, by a validator from
// elsewhere, and Python's tests read what is written with PyYAML. Paths go through Python's surrogateescape and back. Messages are compared
// whole: they are a part of what users see.
package recipe
