// Package phototest makes small images for tests of everything but pixels.
package phototest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"
)

// Folder makes n JPEGs in the folders class0 and class1 of a new folder: 000.jpg,
// 001.jpg, …, in turn. No two are alike, in size or content.
func Folder(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("class%d", i%2))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)), photograph(t, i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func photograph(t testing.TB, i int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 40+i%7, 33+i%5))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			m.Set(x, y, color.RGBA{uint8(x*5 + i), uint8(y * 7), uint8(i * 11), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Spoil cuts the image of that name short.
func Spoil(t testing.TB, root, name string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(root, "*", name))
	if len(paths) != 1 {
		t.Fatalf("%d files are called %s", len(paths), name)
	}
	if err := os.Truncate(paths[0], 300); err != nil {
		t.Fatal(err)
	}
}
