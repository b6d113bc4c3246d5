//go:build cgo

package turbo

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The kernel's list of what this CPU has is another opinion.
func TestLevelsAreThoseOfTheProcessor(t *testing.T) {
	want := []string{"plain"}
	switch runtime.GOARCH {
	case "arm64": // all have it
		want = append(want, "neon")
	case "amd64":
		has := processorFlags(t)
		for _, set := range []struct {
			name string
			need []string
		}{
			{"sse4.1", []string{"sse4_1"}},
			{"avx2", []string{"avx2"}},
			{"avx512", []string{"avx512f", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vnni"}},
		} {
			if !slices.ContainsFunc(set.need, func(flag string) bool { return !slices.Contains(has, flag) }) {
				want = append(want, set.name)
			}
		}
	}
	if got := levels(); !slices.Equal(got, want) {
		t.Errorf("%v, the kernel's list says %v", got, want)
	}
	if got := (Decoder{}).Kernels(); os.Getenv("HEADRACE_SIMD") == "" && got != want[len(want)-1] {
		t.Errorf("%s is in use, not the best of %v", got, want)
	}
}

func processorFlags(t *testing.T) []string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, flags, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			return strings.Fields(flags)
		}
	}
	t.Fatal("/proc/cpuinfo lists no flags")
	return nil
}
