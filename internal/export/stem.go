package export

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestKey is how many bytes of a key go into a name: with a number before it and an
// extension after, it stays a name that every file system can hold.
const longestKey = 150

// stem is the name that the files of a sample have in common. The number makes it one
// of its kind, and keeps samples in their order where they are unpacked; the key is
// there for people. WebDataset takes everything after the first point for the
// extension, and a name that begins with "__" for a note.
func stem(key string, number int64, epoch int, epochs bool) string {
	name := fmt.Sprintf("%09d", number)
	if epochs {
		name = fmt.Sprintf("e%d-%s", epoch, name)
	}
	folder, file := path.Split(key)
	if file = strings.TrimSuffix(file, path.Ext(file)); file == "" {
		return name
	}
	key = path.Join(path.Base(folder), file) // the folder is often the class
	key = strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '-'
		case strings.ContainsRune(".\\:\uFFFD", c), !unicode.IsPrint(c), unicode.IsSpace(c):
			return '_'
		default:
			return c
		}
	}, strings.TrimLeft(key, "/."))
	for len(key) > longestKey {
		_, n := utf8.DecodeRuneInString(key)
		key = key[n:] // the end tells more than the folders before it
	}
	return name + "-" + key
}
