//go:build cgo && headrace_debug

package turbo

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCrashEndsTheProcess(t *testing.T) {
	if os.Getenv("HEADRACE_TEST_CRASH") != "" {
		Crash()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashEndsTheProcess$")
	cmd.Env = append(os.Environ(), "HEADRACE_TEST_CRASH=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "SIGSEGV") {
		t.Errorf("%v: %s", err, out)
	}
}
