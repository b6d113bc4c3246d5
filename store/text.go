package store

import "strings"

// Matcher tells whether texts fit a pattern. [ParseMatcher] makes it.
type Matcher struct {
	names []name
}

// ParseMatcher reads a pattern for texts such as the keys of samples. It means what
// patterns for [List] mean, name by name: * means any characters but the slash, **
// as a name of its own for any number of names. A pattern without a slash is held
// against the last name of a text alone: *.png takes cats/1.png. Names that begin with
// a dot are as others are.
func ParseMatcher(pattern string) Matcher {
	var m Matcher
	if !strings.Contains(pattern, "/") {
		m.names = append(m.names, name{deep: true})
	}
	for _, part := range strings.Split(pattern, "/") {
		if n := len(m.names); part != "**" || n == 0 || !m.names[n-1].deep { // twice is once
			m.names = append(m.names, name{deep: part == "**", glob: parseGlob(part)})
		}
	}
	return m
}

// Matches reports whether the pattern takes the text.
func (m Matcher) Matches(text string) bool {
	// The names after the last ** are tried again a name further on, when they do not
	// fit.
	names, again := m.names, []name(nil)
	retry := ""

	for {
		if len(names) > 0 && names[0].deep {
			if names = names[1:]; len(names) == 0 {
				return true
			}
			again, retry = names, text
			continue
		}

		first, rest, more := strings.Cut(text, "/")
		switch {
		case len(names) > 0 && names[0].glob.match([]byte(first)) && more == (len(names) > 1):
			if !more {
				return true
			}
			names, text = names[1:], rest
		case len(names) == 2 && names[1].deep && !more && names[0].glob.match([]byte(first)):
			return true // ** means no name
		default:
			_, after, ok := strings.Cut(retry, "/")
			if again == nil || !ok {
				return false
			}
			names, text, retry = again, after, after
		}
	}
}
