// Package tier says what tests need, so that `make check` can leave out the slow ones.
package tier

import "testing"

// StartsProcesses skips a test under -short. Call it before the test opens anything. `make test` runs everything.
func StartsProcesses(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts processes")
	}
}
