package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// limited runs the command where files may have so many blocks of 512 bytes. Shared
// memory counts as a file, so there has to be room for some.
func limited(t *testing.T, folder, blocks string, args ...string) (code int, words string) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", `ulimit -f "$1" && shift && exec "$@"`, "sh", blocks, program(t)}, args...)...)
	c.Dir = folder
	text, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(text)
}

const tooLarge = ": file too large; files may not become larger than this: raise the limit (ulimit -f), or write elsewhere"

func TestPreviewOnAFullDisk(t *testing.T) {
	folder := photographs(t, "")
	if err := os.Symlink("/dev/full", filepath.Join(folder, "sheet.png")); err != nil {
		t.Fatal(err)
	}
	const want = "headrace: write sheet.png: no space left on device; the file system is full: free some space, or write elsewhere\n"
	if got := invoke(t, folder, "preview", "r.yaml", "-o", "sheet.png"); got.code != exitFailed || got.stderr != want || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

// A run whose files could not grow has kept what came before, and ends as any other
// once there is room.
func TestARunWithoutRoomGoesOn(t *testing.T) {
	folder := photographs(t, "")
	for _, target := range []string{"npy:OUT", "tar:OUT/t-%06d.tar"} {
		run := func(out, blocks string) (code int, words string) {
			return limited(t, folder, blocks, "run", "r.yaml", "-q", "--epochs", "20", "--checkpoint", "0s", "--out", strings.Replace(target, "OUT", out, 1))
		}
		if code, words := run("whole", "unlimited"); code != exitDone {
			t.Fatalf("exit code %d: %s", code, words)
		}
		if code, words := run("cut", "100"); code != exitFailed || !strings.Contains(words, "headrace: --out: write cut/") || !strings.Contains(words, tooLarge) || !strings.Contains(words, "the same command goes on from there") {
			t.Errorf("exit code %d: %s", code, words)
		}
		if code, words := run("cut", "unlimited"); code != exitDone {
			t.Errorf("exit code %d: %s", code, words)
		}
		if out, err := exec.Command("diff", "-r", filepath.Join(folder, "whole"), filepath.Join(folder, "cut")).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
		for _, name := range []string{"whole", "cut"} {
			os.RemoveAll(filepath.Join(folder, name))
		}
	}
}
