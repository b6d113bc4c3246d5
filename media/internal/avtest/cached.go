package avtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// Cached is [Make], with a file that stays for later runs of tests. It must not be
// changed.
func Cached(t testing.TB, name string, args ...string) string {
	t.Helper()
	tier.StartsProcesses(t)
	key := sha256.Sum256([]byte(strings.Join(args, "\x00")))
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("headrace-sound-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, fmt.Sprintf("%x-%s", key[:6], name))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	made := Make(t, name, args...)
	b, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	// Another process may be making the same: the last one stays.
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(part, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, path); err != nil {
		t.Fatal(err)
	}
	return path
}
