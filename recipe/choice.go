package recipe

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// checkChoice says what is wrong with an argument that takes one of the words in its tag `choices`.
func checkChoice(args Args, name, got string) error {
	return oneOf(name, got, choices(args, name))
}

func oneOf(name, got string, known []string) error {
	for _, k := range known {
		if got == k {
			return nil
		}
	}
	if near := nearest(got, known); near != "" {
		return arg(name, "is %q: did you mean %q? takes %s", got, near, either(known))
	}
	return arg(name, "is %q: takes %s", got, either(known))
}

// choices returns the words that an argument takes.
func choices(args any, name string) []string {
	for _, f := range argumentFields(reflect.TypeOf(fieldsOf(args)).Elem()) {
		if argumentName(f) == name {
			return strings.Split(f.Tag.Get("choices"), ",")
		}
	}
	return nil
}

// either is like `"a", "b" or "c"`.
func either(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(quoted[:last], ", "), quoted[last])
}

// unless is word, or "" where that is what was always meant before there was a choice: what recipes had no word for then is left out of their
// fingerprints, so that states saved with them still fit.
func unless(word, usual string) string {
	if word == usual {
		return ""
	}
	return word
}
