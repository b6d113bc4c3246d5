package words

import (
	"strconv"
	"strings"
)

// Plural writes a number of things: "1 batch", "1,234 batches".
func Plural(n int64, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		return Thousands(n) + " " + thing + "es"
	default:
		return Thousands(n) + " " + thing + "s"
	}
}

// Thousands writes a whole number as people read it: 1,234,567.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}
