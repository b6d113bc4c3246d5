package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the guide shows of Go is in a program that is tested.
func TestTheGuideShowsProgramsThatRun(t *testing.T) {
	var guide []byte
	for _, page := range []string{"guide/go.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		guide = append(guide, text...)
	}
	var sources []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			text, err := os.ReadFile(path)
			sources = append(sources, string(text))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 5 {
		t.Errorf("%d blocks were found", len(blocks))
	}
	for _, b := range blocks {
		found := false
		for _, s := range sources {
			found = found || strings.Contains(s, b[1])
		}
		if !found {
			t.Errorf("no example has these lines:\n%s", b[1])
		}
	}
}
