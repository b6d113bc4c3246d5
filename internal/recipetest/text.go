package recipetest

import (
	"strings"

	"pgregory.net/rapid"
)

// Text draws text that notations find hard, and bytes that are no text.
func Text(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[-?:,\[\]{}#&*!|>'"%@ \t\n$\\~=<0-9a-z.]{0,8}`),
		rapid.SampledFrom([]string{
			"", "null", "~", "yes", "No", "on", "y", "true", "1", "0x1f", "0o7", "010", "1e3",
			".5", ".inf", "1:30", "2001-01-01", "1_000", "<<", "=", "- a", "a: b", "a #b", "${x}",
			"$$", "$", "${", "data/*/\xff.jpg", "\x80\xed\xa0\x80", " a ", "a\u0085b\u2028c",
			"\ufeff", "😀", "\ufffd", "\ufffd\xff", "a\nb", "\x00", "'", `"`, `\`, "é", strings.Repeat("long ", 40),
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	).Draw(t, "text")
}
