package main

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store/storetest"
)

func TestFilesAreAStore(t *testing.T) {
	root := t.TempDir()
	storetest.Contract(t, files{os.DirFS(root)}, storetest.Files(t, root))
}

func TestStore(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	folder := t.TempDir()
	f, err := os.Create(filepath.Join(folder, "train-0.tar"))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for _, name := range []string{"0001.txt", "0002.txt"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 4, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name[:4])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()

	var out strings.Builder
	if err := run(t.Context(), folder, &out); err != nil || out.String() != "0001\n0002\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
