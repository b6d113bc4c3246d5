package preview

import (
	"testing"

	"headrace/internal/sheet"
)

func TestCommonFolder(t *testing.T) {
	for want, keys := range map[string][]string{
		"":                {"data/train/cat/1.jpg"},
		"data/train/":     {"data/train/cat/1.jpg", "data/train/car/2.jpg"},
		"data/train/cat/": {"data/train/cat/1.jpg", "data/train/cat/11.jpg", "data/train/cat/1.jpg"},
	} {
		var tiles []sheet.Tile
		for _, k := range keys {
			tiles = append(tiles, sheet.Tile{Key: k})
		}
		if got := commonFolder(tiles); got != want {
			t.Errorf("%q: %q", keys, got)
		}
	}
	for _, keys := range [][]string{nil, {"", ""}, {"/a", "/b"}, {"a/b.jpg", "a/c.jpg"}, {"longer/than/that", "other"}} {
		var tiles []sheet.Tile
		for _, k := range keys {
			tiles = append(tiles, sheet.Tile{Key: k})
		}
		if got := commonFolder(tiles); got != "" {
			t.Errorf("%q: %q", keys, got)
		}
	}
}
