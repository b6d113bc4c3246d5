package recipe

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
)

// operationOf finds the key of a step that names its operation, or is likely to be meant
// so; "" where there is none.
func operationOf(v rawjson.Value) string {
	var candidates []string
	for quoted := range v.Members() {
		if key, err := rawjson.Unquote(quoted); err == nil && !slices.Contains(besides, key) {
			candidates = append(candidates, key)
		}
	}
	isOperation := func(key string) bool { _, ok := Find(key); return ok }
	isNoTypo := func(key string) bool { return words.Nearest(key, besides) == "" }
	for _, likely := range []func(string) bool{isOperation, isNoTypo} {
		if i := slices.IndexFunc(candidates, likely); i >= 0 {
			return candidates[i]
		}
	}
	return ""
}

// unknownKey says what is wrong with another key of a step.
func unknownKey(op, key string) error {
	if _, ok := Find(key); ok {
		return fmt.Errorf("has the operations %q and %q: each is a step of its own", op, key)
	}
	known, ok := Find(op)
	if ok && slices.ContainsFunc(known.Arguments(), func(a Argument) bool { return a.Name == key }) {
		return fmt.Errorf("has the key %q beside %s, but it is an argument of %s: write {%q: "+
			"{%q: …}}, in YAML two spaces further in", key, op, op, op, key)
	}
	if near := words.Nearest(key, besides); near != "" {
		return fmt.Errorf("unknown key %q: did you mean %q?", key, near)
	}
	if isFailure(key) {
		return fmt.Errorf("has the key %q beside the operation: it belongs to failures: write {\"failures\": {%q: …}}", key, key)
	}
	return fmt.Errorf("unknown key %q: a step has an operation, name and failures", key)
}

// isFailure tells whether a key is one of those in the key failures of a step.
func isFailure(key string) bool { return argument.Has(reflect.TypeFor[Failures](), key) }

// Refuser is implemented by arguments that have none of some names that people look for.
type Refuser interface {
	// Refused returns the names, with what there is to say about each.
	Refused() map[string]string
}

// unknownArgument says what is wrong with a name that is not among the arguments of an
// operation.
func unknownArgument(args any, key string, known []string) error {
	if r, ok := args.(Refuser); ok && r.Refused()[key] != "" {
		return fmt.Errorf("%s is not an argument: %s", key, r.Refused()[key])
	}
	if slices.Contains(besides, key) {
		return fmt.Errorf("has the key %q as an argument: write it beside the operation, in YAML two spaces further out", key)
	}
	if isFailure(key) {
		return fmt.Errorf("has the key %q as an argument: it belongs to failures, beside the operation: "+
			"write {\"failures\": {%q: …}}", key, key)
	}
	return words.Unknown("argument", key, known)
}
