package sheet

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The fonts that the program brings along have Latin, Greek, Cyrillic, and arrows.
var (
	regular = sync.OnceValue(func() *sfnt.Font { return parsed(goregular.TTF) })
	bold    = sync.OnceValue(func() *sfnt.Font { return parsed(gobold.TTF) })
)

func parsed(file []byte) *sfnt.Font {
	f, err := opentype.Parse(file)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return f
}

// fontFolders are where machines keep their fonts.
var fontFolders = []string{"/usr/share/fonts", "/usr/local/share/fonts", os.ExpandEnv("$HOME/.local/share/fonts"),
	os.ExpandEnv("$HOME/.fonts")}

// What is looked at of the machine's fonts: some have thousands, and a large one has 20
// MB.
const mostFonts, mostFontBytes = 300, 64 << 20

// fallback is one of the machine's fonts that has a character, nil if there is none.
// Each file is opened once, and none where nobody asks.
func (l *library) fallback(r rune) *sfnt.Font {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, known := l.found[r]; known {
		return f
	}

	var b sfnt.Buffer
	has := func(f *sfnt.Font) bool {
		i, err := f.GlyphIndex(&b, r)
		if err == nil && i != 0 {
			_, err = f.LoadGlyph(&b, i, fixed.I(16), nil) // coloured ones, and those of variable fonts, cannot be drawn here
		}
		return err == nil && i != 0
	}

	var found *sfnt.Font
	if i := slices.IndexFunc(l.open, has); i >= 0 {
		found = l.open[i]
	}
	for found == nil && l.more() {
		found = l.open[len(l.open)-1]
		if !has(found) {
			found = nil
		}
	}

	if l.found == nil {
		l.found = map[rune]*sfnt.Font{}
	}
	l.found[r] = found
	return found
}

// library are the fonts of the machine, opened one after the other.
type library struct {
	folders []string

	mu     sync.Mutex
	listed bool     // guarded by mu
	files  []string // guarded by mu: not yet opened
	open   []*sfnt.Font
	found  map[rune]*sfnt.Font
}

var machineFonts = &library{folders: fontFolders}

// more opens the next font; false when there is none left.
func (l *library) more() bool {
	if !l.listed {
		l.listed, l.files = true, fontFiles(l.folders)
	}
	for len(l.files) > 0 {
		name := l.files[0]
		l.files = l.files[1:]
		if f := readFont(name); f != nil {
			l.open = append(l.open, f)
			return true
		}
	}
	return false
}

func fontFiles(folders []string) []string {
	var files []string
	for _, folder := range folders {
		filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			switch strings.ToLower(filepath.Ext(name)) {
			case ".ttf", ".otf", ".ttc", ".otc":
				if err == nil && d.Type().IsRegular() {
					files = append(files, name)
				}
			}
			return nil
		})
	}
	slices.SortStableFunc(files, func(a, b string) int { return plainness(a) - plainness(b) })
	return files[:min(len(files), mostFonts)]
}

// plainness orders fonts: upright ones without serifs first, as the program's own is.
func plainness(name string) (n int) {
	for _, odd := range []string{"Serif", "Mono", "Bold", "Oblique", "Italic", "Light", "Condensed", "Black", "Thin"} {
		if strings.Contains(filepath.Base(name), odd) {
			n++
		}
	}
	return n
}

// readFont is nil for what is no font that can be drawn.
func readFont(name string) *sfnt.Font {
	if info, err := os.Stat(name); err != nil || info.Size() > mostFontBytes {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	c, err := opentype.ParseCollection(data)
	if err != nil {
		return nil
	}
	f, err := c.Font(0)
	if err != nil {
		return nil
	}
	return f
}
