package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
)

// The program runs as it is typed, and is short enough to be read at once.
func TestImageFolder(t *testing.T) {
	tier.StartsProcesses(t)
	root := phototest.Folder(t, 70)
	out, err := exec.Command("go", "run", ".", root).CombinedOutput()
	want := strings.Repeat("32 pictures of uint8 [224, 224, 3]\n", 2) + "6 pictures of uint8 [224, 224, 3]\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	phototest.Spoil(t, root, "007.jpg")
	phototest.Spoil(t, root, "008.jpg")
	out, err = exec.Command("go", "run", ".", root).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "truncated") {
		t.Errorf("two bad files of 70 were tolerated: %v\n%s", err, out)
	}
	source, err := os.ReadFile("main.go")
	if n := strings.Count(string(source), "\n"); err != nil || n > 60 {
		t.Errorf("%d lines, %v", n, err)
	}
}
