package recipe

import (
	"cmp"

	"github.com/headrace/headrace/internal/argument"
)

// Replace is what Errors says where text that is not UTF-8 gets U+FFFD. Otherwise such
// text is an error.
const Replace = "replace"

// strict is the word for the default, which recipes leave out: those that were written
// before there was a choice stay as they are.
const strict = "strict"

// NotStrict returns the word, and "" for the default.
func NotStrict(errors string) string {
	if errors == strict {
		return ""
	}
	return errors
}

// CheckTextErrors returns an error unless the argument errors has one of its words.
func CheckTextErrors(errors string) error {
	return argument.OneOf("errors", cmp.Or(errors, strict), []string{strict, Replace})
}
