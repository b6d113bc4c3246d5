package recipe

import (
	"cmp"

	"github.com/headrace/headrace/recipe/internal/argument"
)

// Replace is what Errors says where text that is not UTF-8 gets U+FFFD. Otherwise such
// text is an error.
const Replace = "replace"

// strict is the word for the default, which recipes leave out: those that were written
// before there was a choice stay as they are.
const strict = "strict"

func notStrict(errors string) string {
	if errors == strict {
		return ""
	}
	return errors
}

func checkErrors(errors string) error {
	return argument.OneOf("errors", cmp.Or(errors, strict), []string{strict, Replace})
}
