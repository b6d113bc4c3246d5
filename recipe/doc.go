// Package recipe is the declarative form of a pipeline: a tree of named operations that
// is checked step by step before anything runs.
//
// A [Recipe] is what Python's method calls build, what a file holds, and what Go programs
// write as structs; all three mean the same. There is one notation, which programs send
// to each other as JSON and people write as YAML:
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
// [Parse] reads what a program sent and [ReadFile] what is in a file, where variables and
// the section loader are understood, too. Both refuse what they do not know.
// [Recipe.Check] follows the schema of the samples from step to step and returns what
// comes out of the last one. Nothing here does any work on samples: the operations are
// descriptions ([Op]), and package headrace runs them.
//
// Each step reads the one before it. Two operations hold chains of steps: merge puts
// together the samples of several, each of which begins with a source; route gives each
// sample to one of several. Beside its operation, a step may say what becomes of samples
// that fail in it ([Failures]).
//
// A step has a name, by default its operation's, numbered where that occurs again,
// anywhere in the tree ("random_flip_2"). Names are what statistics, messages and random
// draws refer to: changing one changes the draws of its step.
//
// # Reading
//
// Three files are what all others are about: recipe.go has the types, op.go the
// operations that there are, nesting.go what holds steps. Operations are in the rooms
// below package op; traits.go is what they say of themselves, transform.go what those on
// images share, python.go those that call a function. size.go, columns.go, gives.go and
// others are arguments with a form of their own.
//
// check.go has the rules of the whole tree. parse.go and file.go are the way in,
// locate.go gives mistakes their places, hints.go says what was probably meant, write.go
// is the way out, text.go what people are shown, fingerprint.go what states are compared
// by, schema.go what editors are reported.
//
// Below are packages that know nothing of recipes: internal/document makes one JSON value
// of YAML or JSON, internal/rawjson looks into it, internal/variables replaces variables
// in it, internal/decode fills structs from it, internal/argument and internal/jsonschema
// say what the fields of a struct accept, internal/format writes files. Package fuse is
// above.
//
// # Concurrency
//
// A recipe is a value; no method changes it. The registry may be used by any number of
// goroutines.
//
// # Testing
//
// The parsers are fuzzed, by round trip, against encoding/json, and YAML against JSON;
// the schema is compared with what is read, by a validator from elsewhere, and Python's
// tests read what is written with PyYAML. Paths go through Python's surrogateescape and
// back. Messages are compared whole: they are a part of what users see.
package recipe
