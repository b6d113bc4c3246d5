package recipe

// orElse returns what p points to, or the default where nothing is given.
func orElse[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

// unless is word, or "" where that is what was always meant before there was a choice:
// what recipes had no word for then is left out of their fingerprints, so that states
// saved with them still fit.
func unless(word, usual string) string {
	if word == usual {
		return ""
	}
	return word
}
