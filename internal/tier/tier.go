// Package tier says what tests need, so that `make check` can leave out the slow ones.
package tier

import (
	"os"
	"testing"
)

// StartsProcesses skips a test under -short. Call it before the test opens anything.
// `make test` runs everything.
func StartsProcesses(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts processes")
	}
}

// GivesFilesAway skips a test unless it runs as root, who alone can make other users the
// owners of files. `make test` in CI does.
func GivesFilesAway(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: it gives files to other users")
	}
}

// Whole reports whether all of many like cases are to be tried, as `make test-all` does.
func Whole() bool { return os.Getenv("HEADRACE_TESTS") == "whole" }

// Cases returns how many of many like cases to try: all of them in `make test-all`, a few
// otherwise.
func Cases(few, all int) int {
	if Whole() {
		return all
	}
	return few
}
